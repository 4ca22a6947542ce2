//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"openclaw/client"
	"openclaw/protocol"
)

// library is a version of the client library that others have written for the
// reference.
type library struct{ node, entry, script string }

func installLibrary(t *testing.T, version, folder string) (library, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), installTimeout)
	defer cancel()
	dir, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	l := library{}
	if l.node, err = installNode(ctx, filepath.Join(dir, "node22")); err == nil {
		home := filepath.Join(dir, folder)
		root := filepath.Join(home, "node_modules", "openclaw-node")
		if installedVersion(root) != version {
			err = npmInstall(ctx, home, `{"name":"n","private":true,"version":"0.0.0","type":"module","dependencies":{"openclaw-node":"`+version+`"}}`)
		}
		l.entry = filepath.Join(root, "dist", "index.mjs")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ninterop: NOT RUN (%v)\n\n", err)
		return l, false
	}
	if l.script, err = filepath.Abs("testdata/openclaw-node.mjs"); err != nil {
		t.Fatal(err)
	}
	return l, true
}

// run plays a part of the script and returns what the library saw.
func (l library) run(t *testing.T, w *world, token, identity, part string) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.node, l.script, l.entry, fmt.Sprintf("ws://127.0.0.1:%d", w.port), token, identity, part)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(w.state, "gateway.log"))
		t.Fatalf("openclaw-node, %s: %v\n%s%s\n%s", part, err, out, errs.String(), tail(log))
	}
	seen := map[string]any{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var line struct {
			Name  string
			Value any
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("openclaw-node, %s prints %q", part, lines.Text())
		}
		seen[line.Name] = line.Value
	}
	return seen
}

func basics(t *testing.T, got map[string]any, version float64) {
	t.Helper()
	want(t, got, version, "protocol")
	want(t, got, "streamed ${answer}", "stream", "text")
	want(t, got, "whole answer", "sync")
	if text := fmt.Sprint(at(got, "tool", "text")); !strings.Contains(text, "node-42") {
		t.Errorf("after a tool the reply is %q", text)
	}
	want(t, got, true, "health")
	if kinds := fmt.Sprint(at(got, "stream", "kinds")); !strings.Contains(kinds, "done") || strings.Contains(kinds, "error") {
		t.Errorf("kinds of chunks %s", kinds)
	}
}

// GW-163: openclaw-node 0.14.0 speaks protocol 4.
func TestLibraryProtocol4(t *testing.T) {
	l, ok := installLibrary(t, "0.14.0", "node-client-0.14")
	if !ok {
		return
	}
	w := start(t, official{})
	identity := filepath.Join(t.TempDir(), "device-identity.json")
	got := l.run(t, w, token, identity, "all")
	basics(t, got, 4)
	want(t, got, "agent:main:node", "sessions", "0")
	want(t, got, float64(3), "history")
	want(t, got, true, "config")
	want(t, got, true, "patched")
	want(t, got, "#abcdef", "colour")
	want(t, got, "main", "agents", "0")
	want(t, got, "agent:main:node", "described")
	want(t, got, "ok", "waited")
	watched := fmt.Sprint(at(got, "watched"))
	for _, name := range []string{"agent", "session.message"} {
		if !strings.Contains(watched, name) {
			t.Errorf("a watcher of the session sees %s, want %s among it", watched, name)
		}
	}

	// The token it was given lets it in by itself; when that is revoked it pairs again.
	var kept struct{ DeviceID, DeviceToken string }
	data, err := os.ReadFile(identity)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &kept); err != nil || kept.DeviceToken == "" {
		t.Fatalf("the library kept %s (%v), want a token", data, err)
	}
	want(t, l.run(t, w, "-", identity, "again"), "hello again", "again")
	admin, err := client.Dial(t.Context(), client.Options{URL: fmt.Sprintf("ws://127.0.0.1:%d", w.port), Token: token, Scopes: []string{"operator.admin", "operator.pairing"}})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	var devices protocol.DevicePairListResult
	if err := admin.Call(t.Context(), protocol.MethodDevicePairList, nil, &devices); err != nil {
		t.Fatal(err)
	}
	for _, d := range devices.Paired {
		if err := admin.Call(t.Context(), protocol.MethodDeviceTokenRevoke, map[string]any{"deviceId": d.DeviceID, "role": "operator"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	want(t, l.run(t, w, token, identity, "refused"), true, "pairing")
	if err := admin.Call(t.Context(), protocol.MethodDevicePairList, nil, &devices); err != nil {
		t.Fatal(err)
	}
	for _, d := range devices.Pending {
		if err := admin.Call(t.Context(), protocol.MethodDevicePairApprove, map[string]any{"requestId": d.RequestID}, nil); err != nil {
			t.Fatal(err)
		}
	}
	want(t, l.run(t, w, token, identity, "again"), "hello again", "again")
	again, err := os.ReadFile(identity)
	if err != nil || bytes.Contains(again, []byte(kept.DeviceToken)) {
		t.Errorf("after its token was revoked the library keeps %s (%v), want another token", again, err)
	}
}

// openclaw-node 0.1.0 speaks protocol 3.
func TestLibraryProtocol3(t *testing.T) {
	l, ok := installLibrary(t, "0.1.0", "node-client-0.1")
	if !ok {
		return
	}
	w := start(t, official{})
	basics(t, l.run(t, w, token, filepath.Join(t.TempDir(), "id.json"), "basics"), 3)
}

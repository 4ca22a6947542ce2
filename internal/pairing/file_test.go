package pairing

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/testkit"
	"openclaw/protocol"
)

// GW-077: a file of the reference loads, works and is written back unchanged.
func TestReferenceFile(t *testing.T) {
	dir := t.TempDir()
	want := decodeFile(t, "testdata/paired.json")
	data, err := os.ReadFile("testdata/paired.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "paired.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pending.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir, &clock{ms: start})
	if ok, err := d.VerifyToken(t.Context(), "<hex64-2>", "operator", "<token-2>", []string{"operator.admin"}); !ok || err != nil {
		t.Errorf("VerifyToken = %v, %v, want true", ok, err)
	}
	if ok, _ := d.VerifyToken(t.Context(), "<hex64-5>", "operator", "<token-5>", []string{"operator.read"}); ok {
		t.Error("VerifyToken of a revoked token = true, want false")
	}
	r := Request{DeviceID: "<hex64-3>", PublicKey: "<publicKey-3>", Role: protocol.RoleNode}
	if a := admit(t, d, r, nil); a.Reason != "" {
		t.Errorf("Admit of a paired node = %s, want no reason", a.Reason)
	}
	if err := d.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := decodeFile(t, filepath.Join(dir, "paired.json"))
	token := got["<hex64-2>"].(map[string]any)["tokens"].(map[string]any)["operator"].(map[string]any)
	if token["lastUsedAtMs"] != float64(start) {
		t.Errorf("lastUsedAtMs = %v, want %d", token["lastUsedAtMs"], int64(start))
	}
	delete(token, "lastUsedAtMs")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("file after use (-want +got):\n%s", diff)
	}
}

// GW-077: exact shapes and modes.
func TestFiles(t *testing.T) {
	d, c := fresh(t)
	r := phone("operator.read")
	r.RemoteIP = "10.0.0.7"
	a := admit(t, d, r, nil)
	pending, paired := filepath.Join(d.cfg.Dir, "pending.json"), filepath.Join(d.cfg.Dir, "paired.json")
	want := map[string]any{a.RequestID: map[string]any{"requestId": a.RequestID, "deviceId": "phone", "publicKey": "key",
		"displayName": "Phone", "platform": "ios", "clientId": "openclaw-ios", "clientMode": "ui", "role": "operator",
		"roles": []any{"operator"}, "scopes": []any{"operator.read"}, "remoteIp": "10.0.0.7", "silent": false, "isRepair": false,
		"ts": float64(start)}}
	if diff := cmp.Diff(want, decodeFile(t, pending)); diff != "" {
		t.Errorf("pending.json (-want +got):\n%s", diff)
	}
	if _, err := d.Approve(t.Context(), a.RequestID, admin); err != nil {
		t.Fatal(err)
	}
	got := decodeFile(t, paired)
	token := got["phone"].(map[string]any)["tokens"].(map[string]any)["operator"].(map[string]any)
	if text, _ := token["token"].(string); len(text) != 32 || strings.Trim(text, "0123456789abcdef") != "" {
		t.Errorf("token = %q, want 32 hex digits", text)
	}
	delete(token, "token")
	want = map[string]any{"phone": map[string]any{"deviceId": "phone", "publicKey": "key", "displayName": "Phone", "platform": "ios",
		"clientId": "openclaw-ios", "clientMode": "ui", "role": "operator", "roles": []any{"operator"},
		"scopes": []any{"operator.read"}, "remoteIp": "10.0.0.7", "createdAtMs": float64(start), "approvedAtMs": float64(start),
		"tokens": map[string]any{"operator": map[string]any{"role": "operator", "scopes": []any{"operator.read"}, "createdAtMs": float64(start)}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paired.json (-want +got):\n%s", diff)
	}
	if got := decodeFile(t, pending); len(got) != 0 {
		t.Errorf("pending.json after approval = %v, want {}", got)
	}
	data, err := os.ReadFile(paired)
	if err != nil || !strings.HasPrefix(string(data), "{\n  \"phone\": {\n    \"deviceId\"") {
		t.Errorf("paired.json = %s, %v, want two spaces of indentation", data, err)
	}
	for _, p := range []string{pending, paired} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode of %s = %v, %v, want 0600", p, info.Mode(), err)
		}
	}
	again := open(t, d.cfg.Dir, c)
	if diff := cmp.Diff(d.List(), again.List()); diff != "" {
		t.Errorf("List after restart (-before +after):\n%s", diff)
	}
}

func TestFilesKeepWhatTheyDoNotKnow(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "paired.json")
	text := `{"a":{"deviceId":"a","publicKey":"k","role":"operator","scopes":["s"],"createdAtMs":1,"approvedAtMs":2,"color":{"x":[1]},
		"tokens":{"operator":{"token":"t","scopes":["s"],"createdAtMs":1},"node":null}},
		"odd":{"deviceId":5},"none":null,"b":{"deviceId":"zzz","publicKey":"k","createdAtMs":1,"approvedAtMs":1}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir, &clock{ms: start})
	if a := admit(t, d, Request{DeviceID: "a", PublicKey: "k", Role: "operator", Scopes: []string{"s"}}, nil); a.Reason != "" {
		t.Errorf("Admit of a record without roles = %s, want its single role to count", a.Reason)
	}
	if dev, ok := d.Get("b"); !ok || dev.DeviceID != "b" {
		t.Errorf("Get(b) = %+v, %v, want the key to be the id", dev, ok)
	}
	pair(t, d, phone("operator.read"))
	got := decodeFile(t, path)
	if diff := cmp.Diff(map[string]any{"x": []any{float64(1)}}, got["a"].(map[string]any)["color"]); diff != "" {
		t.Errorf("unknown field (-want +got):\n%s", diff)
	}
	if _, ok := got["none"]; !ok || got["odd"] == nil {
		t.Errorf("file = %v, want the odd entries kept", got)
	}
}

func TestFilesEditedByOthers(t *testing.T) {
	d, _ := fresh(t)
	pair(t, d, phone("operator.read"))
	path := filepath.Join(d.cfg.Dir, "paired.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list := d.List(); len(list.Paired) != 0 {
		t.Errorf("List after the file was emptied = %+v, want none", list.Paired)
	}
	if a := admit(t, d, phone("operator.read"), nil); a.Reason != NotPaired {
		t.Errorf("Admit = %q, want not-paired", a.Reason)
	}
	pair(t, d, phone("operator.read"))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Get("phone"); ok {
		t.Error("Get after the file was removed finds the device")
	}
}

func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "paired.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &clock{ms: start}
	cfg := Config{Dir: dir, Now: c.now, Log: testkit.Log(t)}
	if _, err := OpenDevices(cfg); err == nil || !strings.Contains(err.Error(), "paired.json") {
		t.Errorf("OpenDevices = %v, want an error that names the file", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pending.json"), []byte("]"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir, c)
	token := pair(t, d, phone("operator.read"))

	if err := os.WriteFile(path, []byte(`{"phone":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Get("phone"); !ok {
		t.Error("Get while the file is damaged finds nothing, want what was known before")
	}
	if _, err := d.VerifyToken(t.Context(), "phone", "operator", token.Token, nil); err == nil {
		t.Error("VerifyToken while the file is damaged = nil error, want one")
	}
	if err := d.flush(t.Context()); err == nil {
		t.Error("flush over a damaged file = nil error, want one")
	}
	if data, _ := os.ReadFile(path); string(data) != `{"phone":` {
		t.Errorf("the damaged file was overwritten with %s", data)
	}
}

// GW-077: what was acknowledged survives kill -9, and the files are never torn.
func TestKill(t *testing.T) {
	dir := os.Getenv("PAIRING_TEST_DIR")
	if dir != "" {
		approveForever(t, dir)
	}
	dir = t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill$", "-test.timeout=1m")
	cmd.Env = append(os.Environ(), "PAIRING_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var acked []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "paired "); ok {
			acked = append(acked, id)
		}
		if len(acked) == 20 {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("child ended with %v, want it killed", err)
	}
	d := open(t, dir, &clock{ms: start})
	if len(acked) != 20 {
		t.Fatalf("child acknowledged %d devices, want 20", len(acked))
	}
	for _, id := range acked {
		if dev, ok := d.Get(id); !ok || len(dev.Tokens) != 1 {
			t.Errorf("Get(%s) after kill = %+v, %v, want it paired", id, dev, ok)
		}
	}
}

func approveForever(t *testing.T, dir string) {
	d, err := OpenDevices(Config{Dir: dir, Now: time.Now, Log: testkit.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		r := phone("operator.read")
		r.DeviceID = fmt.Sprint("device-", i)
		if _, err := d.Approve(t.Context(), admit(t, d, r, nil).RequestID, admin); err != nil {
			t.Fatal(err)
		}
		fmt.Println("paired", r.DeviceID)
	}
}

func FuzzParseRecords(f *testing.F) {
	data, err := os.ReadFile("testdata/paired.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"a":{"tokens":{"x":null},"x":1},"b":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecords[*device](data)
		if err != nil {
			return
		}
		text, err := r.encode()
		if err != nil {
			t.Fatalf("encode of %q = %v", data, err)
		}
		again, err := parseRecords[*device](text)
		if err != nil || len(again.byID) != len(r.byID) || len(again.odd) != len(r.odd) {
			t.Fatalf("parse of %q = %v, want the records of %q again", text, err, data)
		}
	})
}

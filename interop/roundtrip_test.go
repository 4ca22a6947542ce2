//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"openclaw/client"
	"openclaw/internal/device"
	"openclaw/internal/mockllm"
	"openclaw/protocol"
)

// logs reads our log over the wire with the official client.
func (w *world) logs(t *testing.T) {
	stdout, stderr, code := w.run(t, nil, "logs", "--json", "--limit", "50")
	found := false
	for line := range strings.Lines(stdout) {
		var l struct{ Type, Level, Subsystem, Message string }
		found = found || json.Unmarshal([]byte(line), &l) == nil && l.Type == "log" && l.Level == "info" && l.Subsystem == "gateway" && strings.HasPrefix(l.Message, "gateway ready")
	}
	if code != 0 || !found {
		t.Errorf("exit code %d, want 0 and a line of the gateway's start; stdout:\n%s\nstderr:\n%s", code, tail([]byte(stdout)), stderr)
	}
	if strings.Contains(stdout, token) {
		t.Error("the log shows the gateway's token")
	}
}

// configFile edits our config file with the official client, as on one machine; the
// gateway takes the change while it runs.
func (w *world) configFile(t *testing.T) {
	share := []string{"OPENCLAW_STATE_DIR=" + w.state}
	stdout, stderr, code := w.run(t, share, "config", "get", "gateway.port")
	if code != 0 || !strings.Contains(stdout, strconv.Itoa(w.port)) {
		t.Fatalf("config get: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if _, stderr, code = w.run(t, share, "config", "set", "ui.seamColor", "#112233"); code != 0 {
		t.Fatalf("config set: exit code %d, stderr %q", code, stderr)
	}
	c := dialGateway(t, w.port, nil, token)
	eventually(t, "#112233", func() string { return colour(t, c) })
}

// devices approves a device with the official client.
func (w *world) devices(t *testing.T) {
	id, err := device.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dialGateway(t, w.port, id, token).Close()
	admin := dialGateway(t, w.port, nil, token)
	if err := admin.Call(t.Context(), protocol.MethodDeviceTokenRevoke, map[string]any{"deviceId": id.DeviceID(), "role": "operator"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := tryDial(w.port, id, token); err == nil {
		t.Fatal("a device whose token was revoked is let in without approval")
	}
	list := w.ok(t, nil, "devices", "list", "--json")
	request, _ := at(list, "pending", "0", "requestId").(string)
	want(t, list, id.DeviceID(), "pending", "0", "deviceId")
	if _, stderr, code := w.run(t, nil, "devices", "approve", request); code != 0 {
		t.Fatalf("devices approve: exit code %d, stderr %q", code, stderr)
	}
	dialGateway(t, w.port, id, token).Close()
}

func colour(t *testing.T, c *client.Client) string {
	t.Helper()
	var snap struct {
		Config struct{ UI struct{ SeamColor string } }
	}
	if err := c.Call(t.Context(), protocol.MethodConfigGet, nil, &snap); err != nil {
		t.Fatal(err)
	}
	return snap.Config.UI.SeamColor
}

func tryDial(port int, id *device.Identity, secret string) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	o := client.Options{URL: fmt.Sprintf("ws://127.0.0.1:%d", port), Token: protocol.Secret(secret), MaxProtocol: protocol.Version3,
		Scopes: []string{"operator.admin", "operator.read", "operator.write", "operator.pairing", "operator.approvals"}}
	if id != nil {
		o.Signer = id
	}
	return client.Dial(ctx, o)
}

func dialGateway(t *testing.T, port int, id *device.Identity, secret string) *client.Client {
	t.Helper()
	c, err := tryDial(port, id, secret)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// house is a state folder that the reference and our gateway use in turn.
type house struct {
	t           *testing.T
	client      official
	state, home string
	tmp         string
	port        int
}

// reference and ours are the commands that start a gateway on the folder.
func (h *house) reference() *exec.Cmd { return h.command(h.client.node, h.client.entry, "gateway") }
func (h *house) ours() *exec.Cmd      { return h.command(os.Getenv("OPENCLAW_BIN"), "gateway") }

func (h *house) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = []string{"PATH=" + filepath.Dir(h.client.node) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + h.home, "TMPDIR=" + h.tmp,
		"OPENCLAW_STATE_DIR=" + h.state, "NO_COLOR=1", "OPENCLAW_NO_RESPAWN=1", "OPENCLAW_SKIP_CHANNELS=1", "OPENCLAW_SKIP_CANVAS_HOST=1", "OPENCLAW_SKIP_BROWSER_CONTROL_SERVER=1", "OPENCLAW_DISABLE_BONJOUR=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// run starts a gateway, waits until it answers and returns how to stop it.
func (h *house) run(cmd *exec.Cmd) (stop func(syscall.Signal)) {
	h.t.Helper()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	exited := make(chan error, 1)
	waitGateway(cmd, exited)
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for up := false; !up; {
		select {
		case err := <-exited:
			h.t.Fatalf("%s ended before it answered: %v\n%s", cmd.Path, err, tail(output.Bytes()))
		case <-deadline:
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			h.t.Fatalf("%s does not answer\n%s", cmd.Path, tail(output.Bytes()))
		case <-tick.C:
			if c, err := tryDial(h.port, nil, token); err == nil {
				c.Close()
				up = true
			}
		}
	}
	stopped := false
	stop = func(sig syscall.Signal) {
		if stopped {
			return
		}
		stopped = true
		syscall.Kill(-cmd.Process.Pid, sig)
		select {
		case <-exited:
		case <-time.After(30 * time.Second):
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-exited
			h.t.Errorf("%s does not stop\n%s", cmd.Path, tail(output.Bytes()))
		}
	}
	h.t.Cleanup(func() { stop(syscall.SIGKILL) })
	return stop
}

// refuses starts a gateway that must see that another one runs.
func (h *house) refuses(cmd *exec.Cmd) {
	h.t.Helper()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	exited := make(chan error, 1)
	waitGateway(cmd, exited)
	select {
	case err := <-exited:
		if err == nil || !strings.Contains(output.String(), "lock timeout after 5000ms") {
			h.t.Errorf("beside another gateway %s ends with %v, want an error that says so:\n%s", cmd.Path, err, tail(output.Bytes()))
		}
	case <-time.After(90 * time.Second):
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-exited
		h.t.Errorf("%s runs beside another gateway of the same folder\n%s", cmd.Path, tail(output.Bytes()))
	}
}

// turn has the agent answer in a session.
func (h *house) turn(c *client.Client, session, text string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	err := c.CallFinal(ctx, protocol.MethodAgent, protocol.AgentParams{SessionKey: session, Message: "say " + text, IdempotencyKey: "key " + text}, nil)
	if err != nil {
		h.t.Fatalf("turn %q: %v", text, err)
	}
}

// sessions returns key and label of every session, sorted.
func (h *house) sessions(c *client.Client) string {
	h.t.Helper()
	var got struct {
		Sessions []struct{ Key, Label, SessionID, Model string }
	}
	if err := c.Call(h.t.Context(), protocol.MethodSessionsList, map[string]any{}, &got); err != nil {
		h.t.Fatal(err)
	}
	var list []string
	for _, s := range got.Sessions {
		list = append(list, strings.Join([]string{s.Key, s.Label, s.SessionID, s.Model}, " "))
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// devicesOf returns the paired devices with their roles and scopes, sorted.
func (h *house) devicesOf(c *client.Client) string {
	h.t.Helper()
	var got struct {
		Paired []struct {
			DeviceID, PublicKey string
			Roles, Scopes       []string
			CreatedAtMs         int64
		}
	}
	if err := c.Call(h.t.Context(), protocol.MethodDevicePairList, map[string]any{}, &got); err != nil {
		h.t.Fatal(err)
	}
	var list []string
	for _, d := range got.Paired {
		slices.Sort(d.Scopes)
		list = append(list, fmt.Sprint(d))
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// transcripts returns every line of every transcript, without those that a later
// process may add to.
func (h *house) transcripts() map[string]string {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.state, "agents", "main", "sessions", "*.jsonl"))
	if err != nil || len(files) == 0 {
		h.t.Fatalf("no transcripts (%v)", err)
	}
	all := map[string]string{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			h.t.Fatal(err)
		}
		all[path] = string(data)
	}
	return all
}

// grown checks that every transcript still begins with what it had.
func (h *house) grown(before map[string]string) {
	h.t.Helper()
	now := h.transcripts()
	for path, was := range before {
		if !strings.HasPrefix(now[path], was) {
			h.t.Errorf("%s has lost or changed lines", filepath.Base(path))
		}
	}
}

// said returns who said what in a session.
func (h *house) said(c *client.Client, session string) string {
	h.t.Helper()
	var got protocol.ChatHistoryResult
	if err := c.Call(h.t.Context(), protocol.MethodChatHistory, map[string]any{"sessionKey": session, "limit": 200}, &got); err != nil {
		h.t.Fatal(err)
	}
	var list []string
	for _, raw := range got.Messages {
		var m struct {
			Role    string
			Content json.RawMessage
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			h.t.Fatal(err)
		}
		var parts []struct{ Text string }
		text := string(m.Content)
		if json.Unmarshal(m.Content, &parts) == nil {
			text = ""
			for _, p := range parts {
				text += p.Text
			}
		}
		if i := strings.LastIndex(text, "say "); i >= 0 {
			text = text[i:] // what stands before it is a stamp with the time
		}
		list = append(list, m.Role+" "+text)
	}
	return strings.Join(list, " | ")
}

// The state both ways, GW-036: a folder of the reference opens in ours with everything in
// it, and after our runs the reference opens it again with nothing lost. Neither starts
// beside the other, and a killed one does not keep the other out.
func TestStateRoundTrip(t *testing.T) {
	t.Parallel() // it mostly waits for the other gateway to start
	ref, err := install(t.Context())
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ninterop: NOT RUN (%v)\n\n", err)
		return
	}
	h := &house{t: t, client: ref, state: filepath.Join(t.TempDir(), "state"), home: t.TempDir(), tmp: t.TempDir(), port: freePort(t)}
	api := httptest.NewServer(mockllm.New(mockllm.Config{}))
	t.Cleanup(api.Close)
	writeJSON(t, filepath.Join(h.state, "openclaw.json"), map[string]any{
		"gateway": map[string]any{"mode": "local", "port": h.port, "bind": "loopback", "auth": map[string]any{"mode": "token", "token": token}},
		"models": map[string]any{"providers": map[string]any{"mock": map[string]any{
			"baseUrl": api.URL + "/v1", "apiKey": "mock-key", "api": "openai-completions",
			"models": []any{map[string]any{"id": "mock-1", "name": "Mock", "reasoning": false, "input": []string{"text"},
				"cost": map[string]any{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}, "contextWindow": 200000, "maxTokens": 8192}}}}},
		"agents":  map[string]any{"defaults": map[string]any{"model": map[string]any{"primary": "mock/mock-1"}, "workspace": filepath.Join(h.state, "ws")}},
		"ui":      map[string]any{"seamColor": "#000001"},
		"logging": map[string]any{"file": filepath.Join(h.state, "gateway.log")},
	})
	id, err := device.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}

	stop := h.run(h.reference())
	c := dialGateway(t, h.port, nil, token)
	h.turn(c, "agent:main:main", "one")
	h.turn(c, "agent:main:other", "two")
	if err := c.Call(t.Context(), protocol.MethodSessionsPatch, map[string]any{"key": "agent:main:other", "label": "kept label"}, nil); err != nil {
		t.Fatal(err)
	}
	paired := dialGateway(t, h.port, id, token)
	secret := string(paired.Hello().Auth.DeviceToken)
	before, said, other := h.sessions(c), h.said(c, "agent:main:main"), h.said(c, "agent:main:other")
	devices, lines := h.devicesOf(c), h.transcripts()
	h.refuses(h.ours())
	stop(syscall.SIGKILL) // without a word

	stop = h.run(h.ours())
	c = dialGateway(t, h.port, nil, token)
	if got := h.sessions(c); got != before {
		t.Errorf("ours has the sessions\n%s\nwant\n%s", got, before)
	}
	if got := h.said(c, "agent:main:main"); got != said || !strings.Contains(got, "assistant one") {
		t.Errorf("ours has the conversation %q, want %q", got, said)
	}
	if got := h.said(c, "agent:main:other"); got != other {
		t.Errorf("ours has the conversation %q, want %q", got, other)
	}
	if got := h.devicesOf(c); got != devices {
		t.Errorf("ours has the devices\n%s\nwant\n%s", got, devices)
	}
	dialGateway(t, h.port, id, secret).Close()
	h.turn(c, "agent:main:main", "three")
	h.turn(c, "agent:main:new", "four")
	if got := colour(t, c); got != "#000001" {
		t.Errorf("colour %q", got)
	}
	config, err := os.ReadFile(filepath.Join(h.state, "openclaw.json"))
	if err != nil {
		t.Fatal(err)
	}
	var snap struct{ Hash string }
	if err := c.Call(t.Context(), protocol.MethodConfigGet, nil, &snap); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), protocol.MethodConfigSet, map[string]any{"raw": strings.Replace(string(config), "#000001", "#000002", 1), "baseHash": snap.Hash}, nil); err != nil {
		t.Fatal(err)
	}
	second, err := device.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	secondSecret := string(dialGateway(t, h.port, second, token).Hello().Auth.DeviceToken)
	h.grown(lines)
	after, said, added := h.sessions(c), h.said(c, "agent:main:main"), h.said(c, "agent:main:new")
	devices, lines = h.devicesOf(c), h.transcripts()
	h.refuses(h.reference())
	stop(syscall.SIGKILL)

	h.run(h.reference())
	c = dialGateway(t, h.port, nil, token)
	if got := h.sessions(c); got != after {
		t.Errorf("back in the reference the sessions are\n%s\nwant\n%s", got, after)
	}
	if got := h.said(c, "agent:main:main"); got != said || !strings.Contains(got, "assistant one") || !strings.Contains(got, "assistant three") {
		t.Errorf("back in the reference the conversation is %q, want %q", got, said)
	}
	for session, want := range map[string]string{"agent:main:other": other, "agent:main:new": added} {
		if got := h.said(c, session); got != want {
			t.Errorf("back in the reference %s is %q, want %q", session, got, want)
		}
	}
	if got := h.devicesOf(c); got != devices {
		t.Errorf("back in the reference the devices are\n%s\nwant\n%s", got, devices)
	}
	h.grown(lines)
	if got := colour(t, c); got != "#000002" {
		t.Errorf("back in the reference the colour is %q", got)
	}
	dialGateway(t, h.port, id, secret).Close()
	dialGateway(t, h.port, second, secondSecret).Close()
	h.turn(c, "agent:main:new", "five")
}

//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"openclaw/internal/mockllm"
)

const (
	token          = "interop-token-0123456789abcdef"
	commandTimeout = 5 * time.Minute // the first command of a fresh client compiles for a while
)

// world is a running gateway of ours and the official client beside it.
type world struct {
	client official
	home   string // the client's own
	state  string // the gateway's
	port   int
	model  *mockllm.Server
}

// GW-160: the client of the reference drives our gateway.
func TestOfficialClient(t *testing.T) {
	t.Parallel()
	client, err := install(t.Context())
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ninterop: NOT RUN (%v)\n\n", err)
		return
	}
	w := start(t, client)
	t.Run("health", w.health)
	t.Run("status", w.status)
	t.Run("gateway call", w.gatewayCall)
	t.Run("agent", w.agent)
	t.Run("agent again", w.agentRemembers)
	t.Run("sessions", w.sessions)
	t.Run("logs", w.logs)
	t.Run("config", w.configFile)
	t.Run("devices", w.devices)
	t.Run("wrong token", w.wrongToken)
	t.Run("unknown method", w.unknownMethod)
}

// start brings up the mock model and the gateway.
func start(t *testing.T, client official) *world {
	t.Helper()
	w := &world{client: client, home: t.TempDir(), state: filepath.Join(t.TempDir(), "state"), port: freePort(t)}
	w.model = mockllm.New(mockllm.Config{})
	api := httptest.NewServer(w.model)
	t.Cleanup(api.Close)

	config := map[string]any{
		"gateway": map[string]any{"mode": "local", "port": w.port, "auth": map[string]any{"mode": "token", "token": token}},
		"models": map[string]any{"providers": map[string]any{"mock": map[string]any{
			"baseUrl": api.URL + "/v1", "apiKey": "mock-key", "api": "openai-completions",
			"models": []any{map[string]any{"id": "mock-1", "name": "Mock", "reasoning": false, "input": []string{"text"},
				"cost":          map[string]any{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
				"contextWindow": 200000, "maxTokens": 8192}},
		}}},
		"agents":  map[string]any{"defaults": map[string]any{"model": map[string]any{"primary": "mock/mock-1"}, "workspace": filepath.Join(w.state, "ws")}},
		"logging": map[string]any{"file": filepath.Join(w.state, "gateway.log")},
	}
	writeJSON(t, filepath.Join(w.state, "openclaw.json"), config)
	// The client has a state folder of its own and only knows where to connect.
	writeJSON(t, filepath.Join(w.home, ".openclaw", "openclaw.json"),
		map[string]any{"gateway": map[string]any{"mode": "local", "port": w.port, "auth": map[string]any{"mode": "token", "token": token}}})
	w.runGateway(t)
	return w
}

// runGateway starts the binary and waits until it answers.
func (w *world) runGateway(t *testing.T) {
	t.Helper()
	bin := os.Getenv("OPENCLAW_BIN")
	if bin == "" {
		t.Fatal("OPENCLAW_BIN is not set; run this with make interop")
	}
	var output bytes.Buffer
	cmd := exec.Command(bin, "gateway")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "TMPDIR=" + t.TempDir(), "OPENCLAW_STATE_DIR=" + w.state}
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the gateway: %v", err)
	}
	exited := make(chan error, 1)
	waitGateway(cmd, exited)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-exited:
			if err != nil {
				t.Errorf("gateway ended with %v, want exit code 0; it said:\n%s", err, output.String())
			}
		case <-time.After(15 * time.Second):
			_ = cmd.Process.Kill()
			t.Error("gateway did not stop within 15 s of SIGTERM")
		}
	})
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+strconv.Itoa(w.port), time.Second)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case err := <-exited:
			exited <- err
			t.Fatalf("gateway ended before it listened: %v; it said:\n%s", err, output.String())
		case <-deadline:
			t.Fatalf("gateway does not listen after 10 s; it said:\n%s", output.String())
		case <-tick.C:
		}
	}
}

func waitGateway(cmd *exec.Cmd, exited chan<- error) {
	go func() { exited <- cmd.Wait() }()
}

// run executes one command of the official client. extra are environment entries.
func (w *world) run(t *testing.T, extra []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.client.node, append([]string{w.client.entry}, args...)...)
	cmd.Env = append([]string{
		"PATH=" + filepath.Dir(w.client.node) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + w.home, "NO_COLOR=1", "OPENCLAW_HIDE_BANNER=1", "OPENCLAW_NO_RESPAWN=1",
	}, extra...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err := cmd.Run()
	t.Logf("openclaw %s (%.1fs)", strings.Join(args, " "), time.Since(began).Seconds())
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		t.Fatalf("run the client: %v", err)
	}
	return out.String(), errs.String(), code
}

// ok runs a command that must succeed and decodes the JSON it prints.
func (w *world) ok(t *testing.T, extra []string, args ...string) map[string]any {
	t.Helper()
	stdout, stderr, code := w.run(t, extra, args...)
	if code != 0 {
		t.Fatalf("exit code %d, want 0\nstdout:\n%s\nstderr:\n%s", code, stdout, stderr)
	}
	return decode(t, stdout)
}

func (w *world) health(t *testing.T) {
	got := w.ok(t, nil, "health", "--json")
	want(t, got, true, "ok")
	want(t, got, "main", "defaultAgentId")
	want(t, got, "main", "agents", "0", "agentId")
}

func (w *world) status(t *testing.T) {
	got := w.ok(t, nil, "status", "--json")
	want(t, got, true, "gateway", "reachable")
	want(t, got, nil, "gateway", "error")
	want(t, got, "ws://127.0.0.1:"+strconv.Itoa(w.port), "gateway", "url")
}

func (w *world) gatewayCall(t *testing.T) {
	got := w.ok(t, nil, "gateway", "call", "status", "--json")
	want(t, got, "main", "heartbeat", "defaultAgentId")
	got = w.ok(t, nil, "gateway", "call", "sessions.list", "--json", "--params", `{"limit":5}`)
	want(t, got, float64(0), "count")
	got = w.ok(t, nil, "gateway", "call", "models.list", "--json")
	if rows, _ := at(got, "models").([]any); len(rows) == 0 {
		t.Errorf("models.list has no models, want at least the configured one: %v", got)
	}
	got = w.ok(t, nil, "gateway", "call", "config.get", "--json")
	if text := fmt.Sprint(got); strings.Contains(text, token) || strings.Contains(text, "mock-key") {
		t.Errorf("config.get shows a secret: %s", text)
	}
}

// agent runs a turn with a tool call; the command computes what the prompt does
// not say, so the answer can only come from the tool.
func (w *world) agent(t *testing.T) {
	got := w.ok(t, nil, "agent", "--agent", "main", "--json", "--timeout", "60",
		"--message", `tool exec {"command":"echo interop-$((6*7))"} ;; result`)
	want(t, got, "ok", "status")
	want(t, got, "completed", "summary")
	text, _ := at(got, "result", "payloads", "0", "text").(string)
	if !strings.Contains(text, "interop-42") {
		t.Errorf("reply = %q, want the tool's output interop-42", text)
	}
	want(t, got, "mock", "result", "meta", "agentMeta", "provider")
	if calls := w.model.Stats().Calls; calls < 2 {
		t.Errorf("the model was called %d times, want one call for the tool and one for the answer", calls)
	}
}

// agentRemembers is a second turn in the same session, in the client's human form.
func (w *world) agentRemembers(t *testing.T) {
	stdout, stderr, code := w.run(t, nil, "agent", "--agent", "main", "--timeout", "60", "--message", "say second turn ${ok}")
	if code != 0 || !strings.Contains(stdout, "second turn ${ok}") {
		t.Fatalf("exit code %d, stdout %q, want the reply; stderr:\n%s", code, stdout, stderr)
	}
}

// sessions reads our gateway's files directly, as the reference would.
func (w *world) sessions(t *testing.T) {
	share := []string{"OPENCLAW_STATE_DIR=" + w.state}
	got := w.ok(t, share, "sessions", "--json")
	want(t, got, float64(1), "count")
	want(t, got, "agent:main:main", "sessions", "0", "key")
	want(t, got, "mock-1", "sessions", "0", "model")
	id, _ := at(got, "sessions", "0", "sessionId").(string)
	transcript := filepath.Join(w.state, "agents", "main", "sessions", id+".jsonl")
	data, err := os.ReadFile(transcript)
	if err != nil {
		t.Fatalf("read transcript: %v", err)
	}
	if !bytes.Contains(data, []byte("interop-42")) || !bytes.Contains(data, []byte("second turn")) {
		t.Errorf("transcript %s misses a turn:\n%s", transcript, data)
	}
}

func (w *world) wrongToken(t *testing.T) {
	home := t.TempDir()
	writeJSON(t, filepath.Join(home, ".openclaw", "openclaw.json"),
		map[string]any{"gateway": map[string]any{"mode": "local", "port": w.port, "auth": map[string]any{"mode": "token", "token": "wrong"}}})
	_, stderr, code := w.run(t, []string{"HOME=" + home}, "health", "--json")
	if code != 1 || !strings.Contains(stderr, "gateway token mismatch") {
		t.Errorf("exit code %d, stderr %q, want 1 and the reason", code, stderr)
	}
}

func (w *world) unknownMethod(t *testing.T) {
	_, stderr, code := w.run(t, nil, "gateway", "call", "no.such.method", "--json")
	if code != 1 || !strings.Contains(stderr, "unknown method: no.such.method") {
		t.Errorf("exit code %d, stderr %q, want 1 and the reason", code, stderr)
	}
}

// decode reads the JSON document of an output that may start with other lines.
func decode(t *testing.T, out string) map[string]any {
	t.Helper()
	start := strings.Index(out, "{")
	if start < 0 {
		t.Fatalf("output holds no JSON:\n%s", out)
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(out[start:]), &doc); err != nil {
		t.Fatalf("decode output: %v\n%s", err, out)
	}
	return doc
}

// at walks into a JSON value; list elements are named by their index.
func at(v any, path ...string) any {
	for _, key := range path {
		switch node := v.(type) {
		case map[string]any:
			v = node[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	return v
}

func want(t *testing.T, doc map[string]any, wanted any, path ...string) {
	t.Helper()
	if got := at(doc, path...); got != wanted {
		t.Errorf("%s = %v, want %v in %v", strings.Join(path, "."), got, wanted, doc)
	}
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

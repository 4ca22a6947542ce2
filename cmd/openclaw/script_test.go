package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"openclaw/internal/cli"
	"openclaw/internal/mockllm"
)

// The scripts run the program itself: the test binary starts again as openclaw.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"openclaw": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup:               setupScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mockllm": cmdMockLLM,
			"port":    cmdPort,
			"ready":   cmdReady,
			"fetch":   cmdFetch,
			"busy":    cmdBusy,
			"json":    cmdJSON,
			"until":   cmdUntil,
			"mode":    cmdMode,
			"deadend": cmdDeadEnd,
			"signal":  cmdSignal,

			"interrupted": cmdInterrupted,
			"gone":        cmdGone,
			"eventually":  cmdEventually,
			"filled":      cmdFilled,
			"field":       cmdField,
			"logfield":    cmdLogField,
			"times":       cmdTimes,
			"proxy":       cmdProxy,
			"fill":        cmdFill,
		},
	})
}

// setupScript gives every script a home and a temporary folder of its own, and
// none of the variables of the machine it runs on.
func setupScript(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	tmp := filepath.Join(env.WorkDir, "tmp")
	for _, dir := range []string{home, tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	keep := []string{"PATH=", "WORK=", "HOME="}
	var vars []string
	for _, v := range env.Vars {
		for _, k := range keep {
			if strings.HasPrefix(v, k) {
				vars = append(vars, v)
			}
		}
	}
	// The race detector would have every program linger for a second at its end.
	env.Vars = append(vars, "GORACE=atexit_sleep_ms=0", "HOME="+home, "TMPDIR="+tmp, "NO_COLOR=1", "STATE="+filepath.Join(home, ".openclaw"))
	return nil
}

// cmdMockLLM starts the mock model server and writes a config file that uses it.
//
//	mockllm <config file> [default reply]
func cmdMockLLM(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: mockllm config-file [default reply]")
	}
	cfg := mockllm.Config{}
	if len(args) > 1 {
		cfg.Default = args[1]
	}
	server := httptest.NewServer(mockllm.New(cfg))
	ts.Defer(server.Close)
	ts.Setenv("MOCK_URL", server.URL)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
	ts.Check(os.WriteFile(path, []byte(fmt.Sprintf(mockConfig, server.URL, ts.Getenv("WORK"))), 0o600))
}

const mockConfig = `{
  gateway: { mode: "local", auth: { mode: "token", token: "script-token-0123456789" } },
  models: { providers: { mock: {
    baseUrl: "%[1]s/v1", apiKey: "mock-key-0123456789", api: "openai-completions",
    models: [{ id: "mock-1", name: "Mock One", contextWindow: 200000, maxTokens: 8192 }],
  } } },
  agents: { defaults: { model: { primary: "mock/mock-1" }, workspace: "%[2]s/ws" } },
  logging: { file: "%[2]s/gateway.log" },
}
`

// cmdPort sets a variable to a free port.
func cmdPort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: port VARIABLE")
	}
	port, err := freePort()
	ts.Check(err)
	ts.Setenv(args[0], strconv.Itoa(port))
}

// cmdReady waits until a gateway greets on a port.
func cmdReady(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ready PORT")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	p := &program{io: &cli.Streams{Out: io.Discard, Err: io.Discard}}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := p.knock(ctx, "ws://127.0.0.1:"+args[0])
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("no gateway on port %s: %v", args[0], err)
		case <-tick.C:
		}
	}
}

// cmdSignal sends a signal to the gateway that listens on a port.
//
//	signal TERM $PORT
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signal INT|TERM|KILL|USR1 port")
	}
	sig, ok := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "USR1": syscall.SIGUSR1}[args[0]]
	port, err := strconv.Atoi(args[1])
	found := portListeners(port)
	if !ok || err != nil || len(found) == 0 || found[0].PID <= 0 {
		ts.Fatalf("cannot send %s to port %s, on which %v listens", args[0], args[1], found)
	}
	ts.Check(syscall.Kill(found[0].PID, sig))
}

// cmdBusy keeps a port of this machine busy and sets a variable to it.
func cmdBusy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: busy VARIABLE")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv(args[0], strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
}

// cmdDeadEnd sets a variable to the URL of a server that takes connections and
// never answers.
func cmdDeadEnd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: deadend VARIABLE")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv(args[0], "ws://"+l.Addr().String())
}

// cmdJSON compares a value inside a JSON file; list elements are named by their
// index. "stdout" and "stderr" name the last output. The value "*" means any,
// "#n" the length of a list.
//
//	json stdout sessions.0.key agent:main:main
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json file path value")
	}
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc); err != nil {
		ts.Fatalf("%s is no JSON document: %v", args[0], err)
	}
	value, found := walkJSON(doc, args[1])
	got := "absent"
	if found {
		got = jsonText(value)
		if list, ok := value.([]any); ok && strings.HasPrefix(args[2], "#") {
			got = "#" + strconv.Itoa(len(list))
		}
	}
	if match := got == args[2] || args[2] == "*" && found; match == neg {
		ts.Fatalf("%s in %s is %s, want %s%s", args[1], args[0], got, map[bool]string{true: "not "}[neg], args[2])
	}
}

func walkJSON(v any, path string) (any, bool) {
	if path == "." {
		return v, true
	}
	for _, key := range strings.Split(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			next, ok := node[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			v = node[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func jsonText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// cmdUntil waits until a file holds a text.
//
//	until gateway.log 'run finished'
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until file text")
	}
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(data), args[1]) {
			return
		}
		select {
		case <-deadline:
			ts.Fatalf("%s never held %q (%v):\n%s", args[0], args[1], err, data)
		case <-tick.C:
		}
	}
}

// cmdMode compares the permissions of a file.
func cmdMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode file 0600")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}

// cmdInterrupted runs openclaw, sends it a signal once its output holds a text (or
// once "file:<path>" has content), and wants it to end with an exit code.
//
//	interrupted INT 130 '[tool] exec' agent --agent main --message …
func cmdInterrupted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: interrupted signal code text args…")
	}
	cmd := exec.Command(findProgram(ts), args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), scriptEnv(ts)...)
	seen := &textWatcher{want: args[2], found: make(chan struct{})}
	file, wantsFile := strings.CutPrefix(args[2], "file:")
	cmd.Stdout, cmd.Stderr = seen, seen
	ts.Check(cmd.Start())
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	defer cmd.Process.Kill()
	if wantsFile && poll(context.Background(), 20*time.Second, func() bool { return fileFilled(ts.MkAbs(file)) }) {
		close(seen.found)
	}
	select {
	case <-seen.found:
	case err := <-exited:
		ts.Fatalf("ended with %v before it said %q:\n%s", err, args[2], seen)
	case <-time.After(20 * time.Second):
		ts.Fatalf("never said %q:\n%s", args[2], seen)
	}
	ts.Check(cmd.Process.Signal(map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM}[args[0]]))
	select {
	case <-exited:
	case <-time.After(15 * time.Second):
		ts.Fatalf("did not end within 15 s of SIG%s:\n%s", args[0], seen)
	}
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("exit code %s, want %s:\n%s", got, args[1], seen)
	}
	ts.Logf("%s", seen)
}

// cmdGone waits until the process whose id a file holds is gone.
func cmdGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone pid-file")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	if !poll(context.Background(), 10*time.Second, func() bool { return syscall.Kill(pid, 0) != nil }) {
		ts.Fatalf("process %d of %s is still there", pid, args[0])
	}
}

// cmdFilled waits until a file has content.
func cmdFilled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: filled file")
	}
	if !poll(context.Background(), 20*time.Second, func() bool { return fileFilled(ts.MkAbs(args[0])) }) {
		ts.Fatalf("%s was never filled", args[0])
	}
}

// cmdEventually runs openclaw again and again until it succeeds.
func cmdEventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: eventually args…")
	}
	var out []byte
	ok := poll(context.Background(), 20*time.Second, func() (done bool) {
		cmd := exec.Command(findProgram(ts), args...)
		cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), scriptEnv(ts)...)
		var err error
		out, err = cmd.CombinedOutput()
		return err == nil
	})
	if !ok {
		ts.Fatalf("never succeeded:\n%s", out)
	}
}

// scriptEnv is the environment of the script that programs care for.
func scriptEnv(ts *testscript.TestScript) []string {
	var vars []string
	for _, name := range []string{"GORACE", "HOME", "PATH", "TMPDIR", "NO_COLOR", "OPENCLAW_GATEWAY_PORT", "OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH"} {
		vars = append(vars, name+"="+ts.Getenv(name))
	}
	return vars
}

func findProgram(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, "openclaw"); fileExists(path) {
			return path
		}
	}
	ts.Fatalf("openclaw is not in PATH")
	return ""
}

func fileFilled(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// textWatcher collects an output and tells when it holds a text.
type textWatcher struct {
	want  string
	found chan struct{}

	mu   sync.Mutex
	text strings.Builder
	done bool
}

func (w *textWatcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if !w.done && strings.Contains(w.text.String(), w.want) {
		w.done = true
		close(w.found)
	}
	return len(p), nil
}

func (w *textWatcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// cmdFetch waits until a URL answers, checks the status and puts the body into the
// file "fetched".
func cmdFetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fetch URL status")
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		resp, err := http.Get(args[0])
		if err == nil {
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			ts.Check(err)
			ts.Check(os.WriteFile(ts.MkAbs("fetched"), body, 0o600))
			if got := strconv.Itoa(resp.StatusCode); got != args[1] {
				ts.Fatalf("%s answers %s, want %s: %s", args[0], got, args[1], body)
			}
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not answer: %v", args[0], err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

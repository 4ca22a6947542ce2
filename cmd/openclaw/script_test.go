package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
			"busy":    cmdBusy,
			"json":    cmdJSON,
			"until":   cmdUntil,
			"mode":    cmdMode,
			"deadend": cmdDeadEnd,
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
	env.Vars = append(vars, "HOME="+home, "TMPDIR="+tmp, "NO_COLOR=1", "STATE="+filepath.Join(home, ".openclaw"))
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

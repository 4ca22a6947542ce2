package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"openclaw/internal/tool"
	"openclaw/internal/tool/tooltest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SHELL_TEST_GATEWAY"); dir != "" {
		playGateway(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// patience bounds everything that waits for a process; no test needs it all.
const patience = 20 * time.Second

// kit is a shell with a scope and a folder.
type kit struct {
	t     *testing.T
	dir   string
	sh    *Shell
	scope Scope
	exits chan Exit
}

func newKit(t *testing.T) *kit {
	k := &kit{t: t, dir: t.TempDir(), exits: make(chan Exit, 100)}
	k.sh = New(Config{Env: os.Environ(), Home: k.dir, Shell: "/bin/bash", OnExit: func(e Exit) { k.exits <- e }})
	k.scope = Scope{AgentID: "main", SessionKey: "agent:main:main", Dir: k.dir}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := k.sh.Close(ctx); err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
	})
	return k
}

func (k *kit) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// call executes a tool; args alternate names and values.
func (k *kit) call(ctx context.Context, name string, update func(tool.Result), args ...any) (tool.Result, error) {
	k.t.Helper()
	object := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		object[args[i].(string)] = args[i+1]
	}
	data, err := json.Marshal(object)
	k.must(err)
	for _, t := range k.sh.Tools(k.scope) {
		if t.Spec().Name == name {
			return t.Execute(ctx, tool.Call{ID: "call", Args: data, Update: update})
		}
	}
	k.t.Fatalf("no tool %s", name)
	return tool.Result{}, nil
}

// result is call for calls that must not end with an error.
func (k *kit) result(name string, args ...any) (text string, details map[string]any) {
	k.t.Helper()
	r, err := k.call(k.t.Context(), name, nil, args...)
	if err != nil {
		k.t.Fatalf("%s%v = %v", name, args, err)
	}
	data, err := r.DetailsJSON()
	k.must(err)
	if data != nil {
		k.must(json.Unmarshal(data, &details))
	}
	return r.Content.Text(), details
}

func (k *kit) text(name string, args ...any) string {
	k.t.Helper()
	text, details := k.result(name, args...)
	if details["status"] == "error" {
		k.t.Fatalf("%s%v failed: %v", name, args, details["error"])
	}
	return text
}

// fails returns the error of a call that must not work.
func (k *kit) fails(name string, args ...any) string {
	k.t.Helper()
	text, details := k.result(name, args...)
	if details["status"] != "error" {
		k.t.Fatalf("%s%v = %q, want a failure", name, args, text)
	}
	return details["error"].(string)
}

// background starts a command in the background.
func (k *kit) background(command string, args ...any) *session {
	k.t.Helper()
	_, details := k.result("exec", append([]any{"command", command, "background", true}, args...)...)
	if details["status"] != "running" {
		k.t.Fatalf("exec %q in the background: details = %v, want running", command, details)
	}
	s := k.sh.sessions.get(k.scope.AgentID, details["sessionId"].(string))
	if s == nil {
		k.t.Fatalf("no session %v", details["sessionId"])
	}
	return s
}

// await waits for output of a background session.
func (k *kit) await(s *session, want string) {
	k.t.Helper()
	limit := time.After(patience)
	for !strings.Contains(s.look().output, want) {
		select {
		case <-s.changed:
		case <-s.done:
			if got := s.look().output; !strings.Contains(got, want) {
				k.t.Fatalf("session ended with output %q, want %q in it", got, want)
			}
		case <-limit:
			k.t.Fatalf("output = %q, want %q in it", s.look().output, want)
		}
	}
}

func (k *kit) ended(s *session) {
	k.t.Helper()
	receive(k.t, s.done, "the end of the session")
}

func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("timed out waiting for %s", what)
		panic("unreachable")
	}
}

// pids reads the process numbers that a command wrote into a file, one a line.
func (k *kit) pids(name string, want int) []int {
	k.t.Helper()
	data, err := os.ReadFile(filepath.Join(k.dir, name))
	k.must(err)
	var all []int
	for _, f := range strings.Fields(string(data)) {
		var pid int
		_, err := fmt.Sscan(f, &pid)
		k.must(err)
		all = append(all, pid)
	}
	if len(all) != want {
		k.t.Fatalf("%s holds %v, want %d process numbers", name, all, want)
	}
	return all
}

func wantContains(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("text = %q, want %q in it", got, p)
		}
	}
}

func TestToolsAndMeta(t *testing.T) {
	k := newKit(t)
	for _, tl := range k.sh.Tools(k.scope) {
		if s := tl.Spec(); s.Description == "" || s.Summary == "" || s.Label == "" {
			t.Errorf("spec of %s lacks a text: %+v", s.Name, s)
		}
	}
	tools := k.sh.Tools(k.scope)
	for args, want := range map[string]string{
		`{"command":"echo hi; pwd"}`:                    "echo hi; pwd",
		`{"command":"top","pty":true}`:                  "top · pty",
		`{"command":"id","elevated":true,"pty":"true"}`: "id · pty · elevated",
	} {
		if got := tools[0].(tool.Describer).Describe(json.RawMessage(args)); got != want {
			t.Errorf("Describe(%s) = %q, want %q", args, got, want)
		}
	}
	if got := tools[1].(tool.Describer).Describe(json.RawMessage(`{"action":"poll","sessionId":"x-y"}`)); got != "poll x-y" {
		t.Errorf("Describe of process = %q, want %q", got, "poll x-y")
	}
}

func TestContract(t *testing.T) {
	k := newKit(t)
	tooltest.Run(t, k.sh.Tools(k.scope))
}

// Close ends everything, and nothing starts after it.
func TestClose(t *testing.T) {
	k := newKit(t)
	a, b := k.background("echo $$ > a; sleep 300 & echo $! >> a; echo up; wait"), k.background("sleep 300")
	k.await(a, "up")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := k.sh.Run(ctx); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
	cancel()
	wg.Wait()
	k.ended(a)
	k.ended(b)
	for _, pid := range k.pids("a", 2) {
		if alive(pid) {
			t.Errorf("process %d outlived the shell", pid)
		}
	}
	if got := k.fails("exec", "command", "true"); got != ErrClosed.Error() {
		t.Errorf("exec after Close = %q, want %q", got, ErrClosed)
	}
	if text := k.text("process", "action", "list"); text != "No running or recent sessions." {
		t.Errorf("list after Close = %q", text)
	}
	if len(k.exits) != 0 {
		t.Errorf("Close told of %v, want nothing", <-k.exits)
	}
}

// Starting and closing at the same time neither hangs nor leaves anything.
func TestCloseRacesStart(t *testing.T) {
	for range 20 {
		k := newKit(t)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { _, _ = k.call(t.Context(), "exec", nil, "command", "sleep 300", "background", true) })
		}
		k.must(k.sh.Close(t.Context()))
		wg.Wait()
		k.must(k.sh.Close(t.Context()))
		if n := k.sh.sessions.running(); n != 0 {
			t.Fatalf("%d commands run after Close, want none", n)
		}
	}
}

func TestMaxRunning(t *testing.T) {
	k := newKit(t)
	k.sh = New(Config{Env: os.Environ(), MaxRunning: 2})
	defer func() { k.must(k.sh.Close(t.Context())) }()
	k.background("sleep 300")
	k.background("sleep 300")
	wantContains(t, k.fails("exec", "command", "true"), "2 commands are running")
}

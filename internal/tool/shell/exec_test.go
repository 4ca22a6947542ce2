package shell

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/tool"
)

// RT-103: what a finished command answers.
func TestRT103Completed(t *testing.T) {
	k := newKit(t)
	r, err := k.call(t.Context(), "exec", nil, "command", "echo one; echo two")
	k.must(err)
	if got := r.Content.Text(); got != "one\ntwo" {
		t.Errorf("text = %q, want %q", got, "one\ntwo")
	}
	d := r.Details.(completed)
	if d.DurationMs < 0 || d.DurationMs > patience.Milliseconds() {
		t.Errorf("durationMs = %d", d.DurationMs)
	}
	d.DurationMs = 7
	r.Details = d
	data, err := r.DetailsJSON()
	k.must(err)
	want := `{"status":"completed","exitCode":0,"durationMs":7,"aggregated":"one\ntwo","cwd":"` + k.dir + `"}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}

	for command, want := range map[string]string{
		"true":                             "(no output)",
		"echo a; echo b >&2; echo c":       "a\nb\nc",
		"printf '\\n\\n  indented\\n\\n'":  "  indented",
		"printf '\\033[31mred\\033[0m\\n'": "red",
		"cat":                              "", // reads end of file only where nobody can write to it
		"pwd":                              k.dir,
		"echo $PWD":                        k.dir,
	} {
		if command == "cat" {
			k.scope.Foreground = true
			want = "(no output)"
		}
		if got := k.text("exec", "command", command); got != want {
			t.Errorf("exec(%q) = %q, want %q", command, got, want)
		}
		k.scope.Foreground = false
	}
}

// RT-103: anything but exit code 0 is an error with the output, a blank line and the reason.
func TestRT103Failures(t *testing.T) {
	k := newKit(t)
	tests := []struct {
		args []any
		want string
	}{
		{[]any{"command", "exit 3"}, "Command exited with code 3"},
		{[]any{"command", "echo out; exit 4"}, "out\n\nCommand exited with code 4"},
		{[]any{"command", "kill -TERM $$"}, "Command aborted by signal SIGTERM"},
		{[]any{"command", "no-such-program-here"}, "Command exited with code 127"},
		{[]any{"command", "echo before; sleep 300", "timeout", 0.3}, "before\n\nCommand timed out after 0.300 seconds"},
		{[]any{"command", "sleep 300", "timeout", 1}, "Command timed out after 1 seconds"},
		{[]any{"command", "  "}, "command required"},
		{[]any{"command", "a\x00b"}, "command must not hold a NUL byte"},
	}
	for _, tt := range tests {
		if got := k.fails("exec", tt.args...); !strings.HasSuffix(got, tt.want) {
			t.Errorf("exec%v = %q, want %q", tt.args, got, tt.want)
		}
	}
}

// tree starts children, grandchildren, jobs with groups of their own and a
// process in a session of its own, writes their numbers to a file and says "up".
const tree = `echo $$ > pids
sleep 300 & echo $! >> pids
(sleep 300 & echo $! >> pids; echo $BASHPID >> pids; wait) &
bash -c 'set -m; sleep 300 & echo $! >> pids; wait' &
setsid sleep 300 & echo $! >> pids
while [ $(wc -l < pids) -lt 6 ]; do :; done
echo up; wait`

const treeSize = 6

// wantTreeGone waits for the processes of the tree to end: a killed process takes a
// moment to die on a busy machine.
func (k *kit) wantTreeGone() {
	k.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	limit := time.After(patience)
	for _, pid := range k.pids("pids", treeSize) {
		for alive(pid) {
			select {
			case <-look.C:
			case <-limit:
				k.t.Fatalf("process %d of the tree is still alive", pid)
			}
		}
	}
}

// RT-103: a timeout kills the whole tree, grandchildren and jobs included.
func TestRT103TimeoutKillsTree(t *testing.T) {
	k := newKit(t)
	s := k.background(tree, "timeout", 2)
	k.await(s, "up")
	k.ended(s)
	wantContains(t, k.text("process", "action", "poll", "sessionId", s.id), "up", "timed out after 2 seconds")
	k.wantTreeGone()
}

func TestKillKillsTree(t *testing.T) {
	k := newKit(t)
	s := k.background(tree)
	k.await(s, "up")
	k.text("process", "action", "kill", "sessionId", s.id)
	k.ended(s)
	k.wantTreeGone()
}

// An aborted call returns at once and leaves nothing.
func TestAbortKillsTree(t *testing.T) {
	k := newKit(t)
	ctx, cancel := context.WithCancel(t.Context())
	up := make(chan struct{}, 100)
	var wg sync.WaitGroup
	var took time.Duration
	var aborted time.Time
	wg.Go(func() {
		_, err := k.call(ctx, "exec", func(r tool.Result) {
			if strings.Contains(r.Content.Text(), "up") {
				up <- struct{}{}
			}
		}, "command", tree)
		took = time.Since(aborted)
		if err == nil || !strings.Contains(err.Error(), "up\n\nCommand aborted") {
			t.Errorf("exec = %v, want the output and that it was aborted", err)
		}
	})
	receive(t, up, "the tree to stand")
	aborted = time.Now()
	cancel()
	wg.Wait()
	if took > 5*time.Second {
		t.Errorf("an aborted call returned after %v, want at once", took)
	}
	k.wantTreeGone()
	if text := k.text("process", "action", "list"); text != "No running or recent sessions." {
		t.Errorf("list = %q, want no trace of a foreground command", text)
	}
}

// An abort does not reach what has moved to the background.
func TestAbortSparesBackground(t *testing.T) {
	k := newKit(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := k.call(ctx, "exec", nil, "command", "read line; echo got $line", "yieldMs", 10)
	k.must(err)
	cancel()
	s := k.sh.sessions.get("main", r.Details.(running).SessionID)
	k.text("process", "action", "write", "sessionId", s.id, "data", "it\n")
	k.await(s, "got it")
}

// RT-103: a command that takes long moves to the background.
func TestRT103Yield(t *testing.T) {
	k := newKit(t)
	text, details := k.result("exec", "command", "echo first; sleep 300", "yieldMs", 300)
	s := k.sh.sessions.get("main", details["sessionId"].(string))
	if s == nil || !strings.Contains(s.id, "-") {
		t.Fatalf("session %v is not there, details %v", details["sessionId"], details)
	}
	wantContains(t, text, "session "+s.id, "process")
	if details["status"] != "running" || details["cwd"] != k.dir || details["tail"] != "first\n" ||
		details["pid"] != float64(s.proc.pid()) || details["startedAt"] != float64(s.started.UnixMilli()) || len(details) != 6 {
		t.Errorf("details = %v, want status, sessionId, pid, startedAt, cwd and tail", details)
	}
}

// RT-103: clamps of the yield time and what a run without process gets.
func TestRT103Plan(t *testing.T) {
	k := newKit(t)
	plan := func(p execParams) plan {
		t.Helper()
		p.Command = "x"
		pl, err := (&tools{sh: k.sh, scope: k.scope}).plan(t.Context(), p)
		k.must(err)
		return pl
	}
	for _, tt := range []struct {
		configured time.Duration
		asked      *float64
		want       time.Duration
	}{
		{0, nil, 10 * time.Second},
		{time.Hour, nil, 2 * time.Minute},
		{time.Millisecond, nil, 10 * time.Millisecond},
		{3 * time.Second, nil, 3 * time.Second},
		{3 * time.Second, new(500.0), 500 * time.Millisecond},
		{0, new(0.0), 10 * time.Millisecond},
		{0, new(-5.0), 10 * time.Millisecond},
		{0, new(1e12), 2 * time.Minute},
	} {
		k.scope.Settings.Yield = tt.configured
		if got := plan(execParams{YieldMs: tt.asked}).yield; got != tt.want {
			t.Errorf("yield of %v configured, %v asked = %v, want %v", tt.configured, tt.asked, got, tt.want)
		}
	}
	for _, tt := range []struct {
		configured time.Duration
		asked      *float64
		want       time.Duration
	}{
		{0, nil, 30 * time.Minute}, {time.Minute, nil, time.Minute}, {0, new(2.5), 2500 * time.Millisecond},
		{0, new(0.0), 0}, {time.Minute, new(-1.0), time.Minute},
	} {
		k.scope.Settings.Timeout = tt.configured
		if got := plan(execParams{Timeout: tt.asked}).timeout; got != tt.want {
			t.Errorf("timeout of %v configured, %v asked = %v, want %v", tt.configured, tt.asked, got, tt.want)
		}
	}
	k.scope.Foreground = true
	pl := plan(execParams{Background: true, YieldMs: new(50.0)})
	if pl.background || pl.yield != 0 || len(pl.warnings) != 1 {
		t.Errorf("plan without process = %+v, want the foreground and a warning", pl)
	}
}

// RT-103: 200000 characters are kept, whatever is written; memory stays bounded.
func TestRT103FloodIsBounded(t *testing.T) {
	k := newKit(t)
	k.scope.Foreground = true
	k.text("exec", "command", "true") // warm up
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, err := k.call(t.Context(), "exec", nil, "command", "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo end")
	k.must(err)
	runtime.ReadMemStats(&after)
	d := r.Details.(completed)
	if n := len(d.Aggregated); n > 200_000 || n < 199_000 || !strings.HasSuffix(d.Aggregated, "xx\nend") {
		t.Errorf("aggregated has %d characters ending in %q, want the last 200000", n, d.Aggregated[max(n-10, 0):])
	}
	wantContains(t, r.Content.Text()[:200], "100000005 characters")
	if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 16<<20 {
		t.Errorf("100 MB of output allocated %d bytes in all, want under 16 MB", grown)
	}
}

// Endless output neither blocks the end of the call nor costs more and more.
func TestEndlessFlood(t *testing.T) {
	k := newKit(t)
	start := time.Now()
	got := k.fails("exec", "command", "yes", "timeout", 0.5)
	wantContains(t, got, "Output cut", "timed out after 0.500 seconds")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("a flood of half a second ended after %v", took)
	}
}

// A command that ended before anybody looked has an update all the same, if it
// printed anything.
func TestUpdateOfQuickCommand(t *testing.T) {
	k := newKit(t)
	for command, want := range map[string]int{"echo one": 1, "true": 0} {
		for range 10 {
			pl := plan{command: command, dir: k.dir, env: os.Environ()}
			s, err := k.sh.start(&pl, k.scope)
			k.must(err)
			k.ended(s)
			got := 0
			_, err = (&tools{sh: k.sh, scope: k.scope}).follow(t.Context(), tool.Call{Update: func(tool.Result) { got++ }}, s, pl)
			if k.must(err); got != want {
				t.Fatalf("updates of %q = %d, want %d", command, got, want)
			}
		}
	}
}

// Updates come as output comes: the first at once, with a bounded tail.
func TestUpdates(t *testing.T) {
	k := newKit(t)
	var mu sync.Mutex
	var got []tool.Result
	gate := filepath.Join(k.dir, "gate")
	_, err := k.call(t.Context(), "exec", func(r tool.Result) {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, r); len(got) == 1 {
			k.must(os.WriteFile(gate, nil, 0o644)) // the first update lets the command go on
		}
	}, "command", "echo one; until [ -e gate ]; do :; done; for i in $(seq 2000); do echo line $i; done")
	k.must(err)
	mu.Lock()
	defer mu.Unlock()
	if len(got) == 0 || got[0].Content.Text() != "one\n" {
		t.Fatalf("updates = %v, want the first to be %q", got, "one\n")
	}
	d := got[0].Details.(running)
	if d.Status != "running" || d.Tail != "one\n" || d.Cwd != k.dir || d.SessionID == "" || d.PID == 0 {
		t.Errorf("details of the update = %+v", d)
	}
	for _, r := range got {
		if n := len(r.Content.Text()); n > tailChars {
			t.Errorf("an update has %d characters, want at most %d", n, tailChars)
		}
	}
}

// A command that ends while its children hold the output does not keep the call.
func TestLingeringChildren(t *testing.T) {
	k := newKit(t)
	start := time.Now()
	text, details := k.result("exec", "command", "sleep 300 & echo $! > pids; echo hi")
	wantContains(t, text, "still running", "hold its output")
	if took := time.Since(start); took > 5*time.Second || details["tail"] != "hi\n" {
		t.Errorf("after %v: details = %v", took, details)
	}
	pid := k.pids("pids", 1)[0]
	if !alive(pid) {
		t.Error("the child was killed")
	}
	k.text("process", "action", "kill", "sessionId", details["sessionId"])
	if alive(pid) {
		t.Error("the child survived the kill")
	}

	k.scope.Foreground = true
	if got := k.text("exec", "command", "sleep 300 & echo $! > pids; echo hi"); got != "hi" {
		t.Errorf("text = %q, want %q", got, "hi")
	}
	if alive(k.pids("pids", 1)[0]) {
		t.Error("a child that nobody can reach was left behind")
	}
}

// A daemon that gives its output up is left alone.
func TestDaemonIsLeftAlone(t *testing.T) {
	k := newKit(t)
	k.text("exec", "command", "sleep 300 > /dev/null 2>&1 & echo $! > pids")
	pid := k.pids("pids", 1)[0]
	if !alive(pid) {
		t.Error("a daemon was killed with the command that started it")
	}
	p, err := os.FindProcess(pid)
	k.must(err)
	k.must(p.Kill())
}

func TestPTY(t *testing.T) {
	k := newKit(t)
	for command, want := range map[string]string{
		"test -t 0 && test -t 1 && echo yes": "yes",
		"stty size":                          "30 120",
		"echo $TERM":                         "xterm-256color",
		`stty -echo; printf '\033[6n'; IFS= read -rs -d R p; printf %q "$p"`: `$'\E[1;1'`,
		"exit 0": "(no output)",
	} {
		if got := k.text("exec", "command", command, "pty", true); got != want {
			t.Errorf("exec(%q) on a terminal = %q, want %q", command, got, want)
		}
	}
	if got := k.fails("exec", "command", "exit 5", "pty", true); got != "Command exited with code 5" {
		t.Errorf("exit 5 on a terminal = %q", got)
	}
	s := k.background(tree, "pty", true)
	k.await(s, "up")
	k.text("process", "action", "kill", "sessionId", s.id)
	k.ended(s)
	k.wantTreeGone()
}

func TestEnvironmentAndFolder(t *testing.T) {
	k := newKit(t)
	k.scope.Env = []string{"FROM_SCOPE=scope", "BOTH=scope"}
	k.scope.Settings.PathPrepend = []string{"/opt/first", "/opt/second"}
	k.must(os.Mkdir(filepath.Join(k.dir, "sub"), 0o755))
	got := k.text("exec", "command", "echo $FROM_SCOPE $BOTH $N $B; echo ${PATH%%:/opt/second*}", "env",
		map[string]any{"BOTH": "call", "N": 5, "B": true})
	if want := "scope call 5 true\n/opt/first"; got != want {
		t.Errorf("environment = %q, want %q", got, want)
	}
	for workdir, want := range map[string]string{"sub": "sub", "~/sub": "sub", filepath.Join(k.dir, "sub"): "sub", "": ""} {
		if got := k.text("exec", "command", "pwd", "workdir", workdir); got != filepath.Join(k.dir, want) {
			t.Errorf("pwd in %q = %q", workdir, got)
		}
	}
	wantContains(t, k.text("exec", "command", "pwd", "workdir", "missing"), "Warning: the folder", "missing", "\n\n"+k.dir)
	wantContains(t, k.fails("exec", "command", "true", "env", map[string]any{"A=B": "x"}), "not a name")
	wantContains(t, k.fails("exec", "command", "true", "env", map[string]any{"A": []string{"x"}}), "must be text")
}

// RT-103: on a host without a sandbox the call cannot choose what programs load.
func TestRT103EnvRejections(t *testing.T) {
	bad := []string{"LD_PRELOAD", "ld_library_path", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "NODE_PATH", "PYTHONPATH",
		"PYTHONHOME", "RUBYLIB", "PERL5LIB", "BASH_ENV", "ENV", "GCONV_PATH", "IFS", "SSLKEYLOGFILE", "PATH", "Path"}
	for _, name := range bad {
		for host, refused := range map[string]bool{hostGateway: true, hostNode: true, hostSandbox: false} {
			if err := checkName(host, name); (err != nil) != refused {
				t.Errorf("checkName(%s, %s) = %v, want refused %v", host, name, err, refused)
			}
		}
	}
	if err := checkName(hostGateway, "LANG"); err != nil {
		t.Errorf("checkName(gateway, LANG) = %v, want nil", err)
	}
}

func TestPickShell(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"fish", "zsh", "bash"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ shell, path, want string }{
		{"", dir, "/bin/sh"},
		{"zsh", dir, "/bin/sh"},
		{dir + "/missing", dir, "/bin/sh"},
		{dir + "/zsh", dir, dir + "/zsh"},
		{dir + "/fish", "/nowhere:" + dir, dir + "/bash"},
		{dir + "/fish", "/nowhere", "/bin/sh"},
	} {
		if got := pickShell(tt.shell, []string{"PATH=" + tt.path}); got != tt.want {
			t.Errorf("pickShell(%q, PATH=%s) = %q, want %q", tt.shell, tt.path, got, tt.want)
		}
	}
}

// RT-104: host, security and ask: the call can only tighten.
func TestRT104Resolve(t *testing.T) {
	gw := Settings{Host: "gateway"}
	yes, no := new(true), new(false)
	tests := []struct {
		name  string
		s     Scope
		p     execParams
		want  target
		fails string
	}{
		{name: "defaults", want: target{host: "sandbox", security: "deny", ask: "on-miss"}},
		{name: "gateway defaults", s: Scope{Settings: gw}, want: target{host: "gateway", security: "allowlist", ask: "on-miss"}},
		{name: "same host", s: Scope{Settings: gw}, p: execParams{Host: " Gateway "}, want: target{host: "gateway", security: "allowlist", ask: "on-miss"}},
		{name: "other host", p: execParams{Host: "gateway"}, fails: "not allowed"},
		{name: "unknown host", p: execParams{Host: "moon"}, fails: "host must be one of"},
		{name: "unknown configured host", s: Scope{Settings: Settings{Host: "moon"}}, fails: "host must be one of"},
		{name: "security is the minimum", s: Scope{Settings: Settings{Host: "gateway", Security: "full"}}, p: execParams{Security: "allowlist"},
			want: target{host: "gateway", security: "allowlist", ask: "on-miss"}},
		{name: "security cannot be raised", s: Scope{Settings: gw}, p: execParams{Security: "full"}, want: target{host: "gateway", security: "allowlist", ask: "on-miss"}},
		{name: "unknown security", p: execParams{Security: "lax"}, fails: "security must be one of"},
		{name: "ask is the maximum", s: Scope{Settings: Settings{Host: "gateway", Ask: "off"}}, p: execParams{Ask: "always"},
			want: target{host: "gateway", security: "allowlist", ask: "always"}},
		{name: "ask cannot be lowered", s: Scope{Settings: gw}, p: execParams{Ask: "off"}, want: target{host: "gateway", security: "allowlist", ask: "on-miss"}},
		{name: "unknown ask", p: execParams{Ask: "never"}, fails: "ask must be one of"},
		{name: "elevated on", s: Scope{Elevated: Elevated{Level: "on", Allowed: true}}, want: target{host: "gateway", security: "allowlist", ask: "on-miss"}},
		{name: "elevated by parameter", s: Scope{Elevated: Elevated{Allowed: true}}, p: execParams{Elevated: yes}, want: target{host: "gateway", security: "allowlist", ask: "on-miss"}},
		{name: "elevated ignores the host parameter", s: Scope{Elevated: Elevated{Level: "on", Allowed: true}}, p: execParams{Host: "sandbox"},
			want: target{host: "gateway", security: "allowlist", ask: "on-miss"}},
		{name: "elevated full", s: Scope{Elevated: Elevated{Level: "full", Allowed: true}}, p: execParams{Elevated: yes, Security: "deny", Ask: "always"},
			want: target{host: "gateway", security: "full", ask: "off", bypass: true}},
		{name: "elevated full without asking", s: Scope{Elevated: Elevated{Level: "full", Allowed: true}},
			want: target{host: "gateway", security: "full", ask: "off", bypass: true}},
		{name: "elevated false", s: Scope{Elevated: Elevated{Level: "full", Allowed: true}}, p: execParams{Elevated: no}, want: target{host: "sandbox", security: "deny", ask: "on-miss"}},
		{name: "level without permission", s: Scope{Elevated: Elevated{Level: "on"}}, want: target{host: "sandbox", security: "deny", ask: "on-miss"}},
		{name: "asked without permission", s: Scope{Elevated: Elevated{Closed: []string{"tools.elevated.enabled"}}}, p: execParams{Elevated: yes}, fails: "tools.elevated.enabled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.s.resolve(tt.p)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("resolve = %+v, %v, want an error with %q", got, err, tt.fails)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("resolve = %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

type approver struct {
	answer error
	asked  []Approval
}

func (a *approver) Approve(_ context.Context, ap Approval) error {
	a.asked = append(a.asked, ap)
	return a.answer
}

// RT-104: the gateway host fails closed; the sandbox host without a sandbox runs.
func TestRT104Enforcement(t *testing.T) {
	tests := []struct {
		name     string
		settings Settings
		elevated string
		approver *approver
		fails    string
		asked    bool
	}{
		{name: "sandbox host runs", settings: Settings{Security: "deny", Ask: "always"}},
		{name: "deny", settings: Settings{Host: "gateway", Security: "deny"}, approver: &approver{}, fails: "security=deny"},
		{name: "full", settings: Settings{Host: "gateway", Security: "full"}},
		{name: "full and always, nobody there", settings: Settings{Host: "gateway", Security: "full", Ask: "always"}, fails: "needs an approval"},
		{name: "full and always", settings: Settings{Host: "gateway", Security: "full", Ask: "always"}, approver: &approver{}, asked: true},
		{name: "allowlist, nobody there", settings: Settings{Host: "gateway"}, fails: "needs an approval"},
		{name: "allowlist with ask off, nobody there", settings: Settings{Host: "gateway", Ask: "off"}, fails: "needs an approval"},
		{name: "allowlist, allowed", settings: Settings{Host: "gateway"}, approver: &approver{}, asked: true},
		{name: "allowlist, refused", settings: Settings{Host: "gateway"}, approver: &approver{answer: errors.New("denied by the user")}, fails: "denied by the user", asked: true},
		{name: "node", settings: Settings{Host: "node", Security: "full"}, fails: "no node is connected"},
		{name: "elevated on", elevated: "on", fails: "needs an approval"},
		{name: "elevated full", elevated: "full"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t)
			if tt.approver != nil {
				k.sh.cfg.Approver = tt.approver
			}
			k.scope.Settings = tt.settings
			k.scope.Elevated = Elevated{Level: tt.elevated, Allowed: true}
			if tt.fails != "" {
				wantContains(t, k.fails("exec", "command", "touch ran"), tt.fails)
			} else {
				k.text("exec", "command", "touch ran")
			}
			if _, err := os.Stat(filepath.Join(k.dir, "ran")); (err == nil) != (tt.fails == "") {
				t.Errorf("the command ran: %v, want %v", err == nil, tt.fails == "")
			}
			if tt.asked {
				want := []Approval{{AgentID: "main", SessionKey: "agent:main:main", Command: "touch ran", Dir: k.dir, Host: "gateway",
					Security: tt.approver.asked[0].Security, Ask: tt.approver.asked[0].Ask}}
				if diff := cmp.Diff(want, tt.approver.asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
			} else if tt.approver != nil && len(tt.approver.asked) > 0 {
				t.Errorf("asked %v, want nobody asked", tt.approver.asked)
			}
		})
	}
}

// A call that only warns says so before the output.
func TestWarningsComeFirst(t *testing.T) {
	k := newKit(t)
	k.scope.Foreground = true
	got := k.text("exec", "command", "echo x", "background", true)
	if lines := strings.Split(got, "\n"); !strings.HasPrefix(lines[0], "Warning: ") || lines[1] != "" || lines[2] != "x" {
		t.Errorf("text = %q, want a warning, a blank line and the output", got)
	}
}

func TestSlug(t *testing.T) {
	adjectives, nouns := strings.Fields(adjectiveWords), strings.Fields(nounWords)
	for _, words := range [][]string{adjectives, nouns} {
		slices.Sort(words)
		if n := len(slices.Compact(slices.Clone(words))); n != len(words) {
			t.Errorf("%d of %d words are there twice", len(words)-n, len(words))
		}
	}
	if n := strings.Count(slug(0), "-"); n != 1 {
		t.Errorf("slug(0) = %q, want two words", slug(0))
	}
	if !strings.HasSuffix(slug(25), "-25") {
		t.Errorf("slug(25) = %q, want a number", slug(25))
	}
}

// BenchmarkExec is a whole call: start the shell, run nothing, collect it.
func BenchmarkExec(b *testing.B) {
	sh := New(Config{Env: os.Environ()})
	defer func() { _ = sh.Close(context.Background()) }()
	exec := sh.Tools(Scope{AgentID: "main", Dir: b.TempDir()})[0]
	for b.Loop() {
		if _, err := exec.Execute(b.Context(), tool.Call{Args: []byte(`{"command":"true"}`)}); err != nil {
			b.Fatal(err)
		}
	}
}

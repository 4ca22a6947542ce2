package shell

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProcessErrors(t *testing.T) {
	k := newKit(t)
	if got := k.fails("process", "action", "dance"); !strings.Contains(got, `unknown action "dance"`) {
		t.Errorf("unknown action = %q", got)
	}
	text, details := k.result("process", "action", "poll")
	if !strings.Contains(text, "sessionId is required") || details["status"] != "failed" {
		t.Errorf("poll without a session = %q, %v", text, details)
	}
	text, details = k.result("process", "action", "log", "sessionId", "no-such")
	if !strings.Contains(text, "no-such") || details["status"] != "failed" || details["sessionId"] != "no-such" {
		t.Errorf("log of nothing = %q, %v", text, details)
	}
	if text, details := k.result("process", "action", "list"); text != "No running or recent sessions." || details["status"] != "completed" {
		t.Errorf("list of nothing = %q, %v", text, details)
	}
}

// RT-103: poll gives new output once, log gives it all by lines.
func TestRT103PollAndLog(t *testing.T) {
	k := newKit(t)
	s := k.background("echo 1; echo 2; read x; echo 3; read x; echo 4; exit 7")
	k.await(s, "2\n")
	text, details := k.result("process", "action", "poll", "sessionId", s.id)
	if text != "1\n2\n\nProcess still running." || details["status"] != "running" || details["sessionId"] != s.id {
		t.Errorf("first poll = %q, %v", text, details)
	}
	if text := k.text("process", "action", "poll", "sessionId", s.id); text != "(no new output)\n\nProcess still running." {
		t.Errorf("second poll = %q", text)
	}
	k.text("process", "action", "submit", "sessionId", s.id)
	k.await(s, "3\n")
	if text := k.text("process", "action", "poll", "sessionId", s.id); text != "3\n\nProcess still running." {
		t.Errorf("third poll = %q", text)
	}
	for _, tt := range []struct {
		args []any
		want string
	}{
		{nil, "1\n2\n3"},
		{[]any{"offset", 1}, "2\n3"},
		{[]any{"offset", 1, "limit", 1}, "2"},
		{[]any{"limit", 2}, "2\n3"},
		{[]any{"limit", 99}, "1\n2\n3"},
		{[]any{"offset", 9}, "(the log has 3 lines)"},
	} {
		text, details := k.result("process", append([]any{"action", "log", "sessionId", s.id}, tt.args...)...)
		if text != tt.want || details["totalLines"] != 3.0 || details["totalChars"] != 6.0 || details["truncated"] != false || details["status"] != "running" {
			t.Errorf("log%v = %q, %v, want %q", tt.args, text, details, tt.want)
		}
	}
	k.text("process", "action", "write", "sessionId", s.id, "eof", true)
	k.ended(s)
	text, details = k.result("process", "action", "poll", "sessionId", s.id)
	if text != "4\n\nProcess exited with code 7." || details["status"] != "failed" || details["exitCode"] != 7.0 {
		t.Errorf("last poll = %q, %v", text, details)
	}
	if text := k.text("process", "action", "poll", "sessionId", s.id); text != "1\n2\n3\n4\n\nProcess exited with code 7." {
		t.Errorf("poll after the end = %q, want the tail again", text)
	}
}

func TestProcessWrite(t *testing.T) {
	k := newKit(t)
	s := k.background("while IFS= read -r line; do echo \"<$line>\"; done; echo over")
	for _, tt := range []struct {
		args []any
		want string
	}{
		{[]any{"action", "write", "data", " a \n"}, "< a >"},
		{[]any{"action", "paste", "text", "pasted\n"}, "<pasted>"},
		{[]any{"action", "send-keys", "literal", "lit", "keys", []string{"x", "Space", "y"}, "hex", []string{"7a", "0x0a"}}, "<litx yz>"},
		{[]any{"action", "submit"}, "<>"},
	} {
		text, details := k.result("process", append([]any{"sessionId", s.id}, tt.args...)...)
		if details["status"] != "running" || !strings.Contains(text, s.id) {
			t.Errorf("%v = %q, %v", tt.args, text, details)
		}
		k.await(s, tt.want)
	}
	for _, args := range [][]any{{"action", "write"}, {"action", "paste"}, {"action", "send-keys"}} {
		text, details := k.result("process", append([]any{"sessionId", s.id}, args...)...)
		if !strings.Contains(text, "required") || details["status"] != "failed" {
			t.Errorf("%v = %q, %v, want what is missing", args, text, details)
		}
	}
	if text := k.text("process", "action", "send-keys", "sessionId", s.id, "keys", []string{"Hyper-q"}); !strings.Contains(text, `unknown key "Hyper-q"`) {
		t.Errorf("an unknown key = %q, want a warning", text)
	}
	k.text("process", "action", "write", "sessionId", s.id, "data", "last", "eof", true)
	k.await(s, "over")
	k.ended(s)
	text, details := k.result("process", "action", "write", "sessionId", s.id, "data", "x")
	if !strings.Contains(text, "has ended") || details["status"] != "failed" {
		t.Errorf("write after the end = %q, %v", text, details)
	}
}

// A command that does not read cannot block the writer.
func TestWriteToDeafCommand(t *testing.T) {
	k := newKit(t)
	s := k.background("sleep 300")
	n, err := s.proc.write([]byte(strings.Repeat("x", 1<<20)), 10*time.Millisecond)
	if err == nil || n == 0 {
		t.Errorf("write of 1 MB = %d, %v, want a part and an error", n, err)
	}
	if text := s.notWritten(n, err).Content.Text(); !strings.Contains(text, "does not read") {
		t.Errorf("text = %q", text)
	}
}

func TestProcessOnTerminal(t *testing.T) {
	k := newKit(t)
	s := k.background("trap 'echo int; exit 3' INT; stty -echo; echo ready; read -r a; echo \"<$a>\"; while :; do read -r x; done", "pty", true)
	k.await(s, "ready")
	k.text("process", "action", "paste", "sessionId", s.id, "text", "p\x1b[201~q", "bracketed", false)
	k.text("process", "action", "submit", "sessionId", s.id)
	k.await(s, "<p")
	k.text("process", "action", "send-keys", "sessionId", s.id, "keys", []string{"C-c"})
	k.ended(s)
	if text := k.text("process", "action", "poll", "sessionId", s.id); !strings.Contains(text, "int") || !strings.Contains(text, "code 3") {
		t.Errorf("poll = %q, want the trap to have run", text)
	}
}

func TestProcessList(t *testing.T) {
	k := newKit(t)
	a := k.background("echo out; exit 1")
	k.ended(a)
	b := k.background("sleep  300   # " + strings.Repeat("long ", 30))
	text, details := k.result("process", "action", "list")
	lines := strings.Split(text, "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], b.id+" running ") || !strings.HasPrefix(lines[1], a.id+" failed ") {
		t.Fatalf("list = %q, want the newest first", text)
	}
	wantContains(t, lines[0], " :: sleep 300 # long", "…")
	rows := details["sessions"].([]any)
	row := rows[1].(map[string]any)
	for key, want := range map[string]any{"sessionId": a.id, "status": "failed", "exitCode": 1.0, "tail": "out\n", "cwd": k.dir,
		"command": "echo out; exit 1", "name": "echo out; exit 1", "truncated": false} {
		if diff := cmp.Diff(want, row[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	if row := rows[0].(map[string]any); row["pid"] != float64(b.proc.pid()) || row["exitCode"] != nil {
		t.Errorf("row of a running session = %v", row)
	}

	if text, details := k.result("process", "action", "clear", "sessionId", b.id); !strings.Contains(text, "still running") || details["status"] != "failed" {
		t.Errorf("clear of a running session = %q, %v", text, details)
	}
	k.text("process", "action", "clear", "sessionId", a.id)
	k.text("process", "action", "remove", "sessionId", b.id)
	k.ended(b)
	if text := k.text("process", "action", "list"); text != "No running or recent sessions." {
		t.Errorf("list after clear and remove = %q", text)
	}
}

// RT-105: an agent sees its own sessions only, and background ones only.
func TestRT105Scope(t *testing.T) {
	k := newKit(t)
	s := k.background("sleep 300")
	k.scope.AgentID = "other"
	for _, action := range []string{"poll", "log", "write", "send-keys", "submit", "paste", "kill", "clear", "remove"} {
		text, details := k.result("process", "action", action, "sessionId", s.id, "data", "x", "text", "x", "literal", "x")
		if !strings.Contains(text, "No session") || details["status"] != "failed" {
			t.Errorf("%s of a foreign session = %q, %v", action, text, details)
		}
	}
	if text := k.text("process", "action", "list"); text != "No running or recent sessions." {
		t.Errorf("list = %q, want nothing of the other agent", text)
	}
	if s.look().end != nil {
		t.Error("a foreign agent ended the session")
	}
}

// finished files a finished background session without a process.
func finished(t *testing.T, r *registry, output int, ttl time.Duration) *session {
	t.Helper()
	s := &session{scope: Scope{AgentID: "main", Settings: Settings{TTL: ttl}}, background: true, output: tail{limit: 1 << 30}}
	if err := r.enter(s); err != nil {
		t.Fatal(err)
	}
	r.work.Done()
	s.output.add([]byte(strings.Repeat("x", output)))
	r.started(s)
	r.ended(s)
	return s
}

// RT-105: finished sessions are kept for 30 minutes, or as configured from a
// minute to three hours.
func TestRT105TTL(t *testing.T) {
	for configured, want := range map[time.Duration]time.Duration{
		0: 30 * time.Minute, time.Second: time.Minute, 2 * time.Hour: 2 * time.Hour, 9 * time.Hour: 3 * time.Hour,
	} {
		synctest.Test(t, func(t *testing.T) {
			var r registry
			r.init(10)
			s := finished(t, &r, 10, configured)
			time.Sleep(want - time.Millisecond)
			synctest.Wait()
			if r.get("main", s.id) == nil {
				t.Errorf("TTL %v: gone before %v", configured, want)
			}
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			if r.get("main", s.id) != nil || len(r.byID) != 0 || r.kept != 0 {
				t.Errorf("TTL %v: still there after %v", configured, want)
			}
		})
	}
}

// What finished sessions hold is bounded by bytes; the oldest go first.
func TestFinishedAreBounded(t *testing.T) {
	var r registry
	r.init(1)
	var ids []string
	for range 100 {
		ids = append(ids, finished(t, &r, 200_000, 0).id)
	}
	list := r.list("main")
	if n := len(list); n < 30 || n > 45 || r.kept > maxKept {
		t.Errorf("%d sessions of %d bytes are kept, want about 41 in %d", n, r.kept, maxKept)
	}
	if r.get("main", ids[0]) != nil || r.get("main", ids[99]) == nil {
		t.Error("the oldest must go and the newest stay")
	}
	r.close()
	if len(r.byID) != 0 {
		t.Errorf("%d sessions are left after close", len(r.byID))
	}
}

// Ids stay unique, also when the words run out.
func TestWordsRunOut(t *testing.T) {
	var r registry
	r.init(10)
	for _, a := range strings.Fields(adjectiveWords) {
		for _, n := range strings.Fields(nounWords) {
			r.byID[a+"-"+n] = &session{}
		}
	}
	s := &session{}
	if err := r.enter(s); err != nil {
		t.Fatal(err)
	}
	r.work.Done()
	if !strings.HasSuffix(s.id, "-20") {
		t.Errorf("id = %q, want a number behind the words", s.id)
	}
}

func TestOnExit(t *testing.T) {
	k := newKit(t)
	s := k.background("printf 'some  \\n output'; exit 2")
	e := receive(t, k.exits, "the exit")
	if e.ID != s.id || e.AgentID != "main" || e.SessionKey != "agent:main:main" || e.Code != 2 || e.Command != s.command || e.Took <= 0 {
		t.Errorf("exit = %+v", e)
	}
	if got, want := e.Text(), fmt.Sprintf("Exec failed (%s, code 2) :: some output", s.id[:8]); got != want {
		t.Errorf("Text = %q, want %q", got, want)
	}
	k.background("sleep 300", "timeout", 0.05)
	if e := receive(t, k.exits, "the timeout"); !e.TimedOut || !strings.Contains(e.Text(), "failed") {
		t.Errorf("exit by timeout = %+v, %q", e, e.Text())
	}

	// Nobody is told of what the model ended itself, of the foreground, of quiet scopes.
	killed := k.background("sleep 300")
	k.text("process", "action", "kill", "sessionId", killed.id)
	removed := k.background("sleep 300")
	k.text("process", "action", "remove", "sessionId", removed.id)
	k.text("exec", "command", "true")
	k.scope.Settings.Quiet = true
	k.ended(k.background("true"))
	k.must(k.sh.Close(t.Context()))
	if len(k.exits) != 0 {
		t.Errorf("told of %+v, want nothing", <-k.exits)
	}
}

func TestExitText(t *testing.T) {
	for _, tt := range []struct {
		e    Exit
		want string
	}{
		{Exit{ID: "swift-daisy"}, "Exec completed (swift-da, code 0)"},
		{Exit{ID: "a-b", Output: "x"}, "Exec completed (a-b, code 0) :: x"},
		{Exit{ID: "a-b", Code: -1, Signal: "SIGKILL"}, "Exec failed (a-b, signal SIGKILL)"},
	} {
		if got := tt.e.Text(); got != tt.want {
			t.Errorf("Text of %+v = %q, want %q", tt.e, got, tt.want)
		}
	}
	s := &session{id: "x-y", output: tail{limit: 1000}, end: &end{}}
	s.output.add([]byte(strings.Repeat("é", 900)))
	if n := len([]rune(s.exit().Output)); n != 400 {
		t.Errorf("the output in an exit has %d characters, want 400", n)
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		850 * time.Millisecond: "850ms", 12 * time.Second: "12s", 65 * time.Second: "1m05s", 2*time.Hour + 3*time.Minute: "2h03m",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%v) = %q, want %q", d, got, want)
		}
	}
}

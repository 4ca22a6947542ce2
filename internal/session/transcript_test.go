package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/turn"
)

func openTranscript(t *testing.T, s *Store, id string) *Transcript {
	t.Helper()
	tr, err := s.OpenTranscript(t.Context(), TranscriptOptions{SessionID: id, Cwd: "/ws"})
	if err != nil {
		t.Fatalf("OpenTranscript(%q) = %v", id, err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

func closeTranscript(t *testing.T, tr *Transcript) {
	t.Helper()
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
}

func say(t *testing.T, tr *Transcript, m turn.Message) string {
	t.Helper()
	id, err := tr.Append(m)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func user(text string) turn.Message { return turn.User(text, time.UnixMilli(1)) }

func assistant(blocks ...turn.Block) turn.Message {
	return turn.Message{Role: turn.RoleAssistant, Content: blocks, API: "openai-completions", Provider: "mock",
		Model: "mock-1", Usage: &turn.Usage{}, StopReason: turn.StopEnd, Timestamp: 2}
}

func text(s string) turn.Block { return turn.Block{Type: turn.BlockText, Text: s} }

func call(id string) turn.Block {
	return turn.Block{Type: turn.BlockToolCall, ID: id, Name: "exec", Arguments: json.RawMessage(`{"command":"x"}`)}
}

func result(id, s string) turn.Message {
	return turn.ToolResult(turn.Block{ID: id, Name: "exec"}, turn.Text(s), false, nil, time.UnixMilli(3))
}

// outline shows messages as short words: role and text or calls.
func outline(msgs []turn.Message) (list []string) {
	for _, m := range msgs {
		s := string(m.Role) + ":" + m.Text()
		for _, c := range m.ToolCalls() {
			s += "[" + c.ID + "]"
		}
		if m.Role == turn.RoleToolResult {
			s = "result:" + m.ToolCallID
			if m.Failed() {
				s += "!"
			}
		}
		list = append(list, s)
	}
	return list
}

func context_(t *testing.T, tr *Transcript) []turn.Message {
	t.Helper()
	msgs, err := tr.Context()
	if err != nil {
		t.Fatal(err)
	}
	return msgs
}

func lines(t *testing.T, path string) (list []map[string]any) {
	t.Helper()
	for line := range strings.Lines(read(t, path)) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		list = append(list, v)
	}
	return list
}

// RT-025, RT-027: no byte before the first assistant message, then all of it, then
// line by line; shapes and parents as the reference writes them.
func TestLazyFlush(t *testing.T) {
	dir := t.TempDir()
	var told []string
	s := openStore(t, Config{Dir: dir, OnMessage: func(a Appended) {
		told = append(told, fmt.Sprintf("%s %s %s %v", a.AgentID, a.SessionID, a.Message.Role, a.Flushed))
	}})
	tr := openTranscript(t, s, "one")
	path := tr.Path()
	if err := tr.Begin(Choice{Provider: "mock", Model: "mock-1", API: "openai-completions", ThinkingLevel: "off"}); err != nil {
		t.Fatal(err)
	}
	say(t, tr, user("hi"))
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the transcript exists before an assistant message")
	}
	say(t, tr, assistant(text("hello")))
	if got := len(lines(t, path)); got != 6 {
		t.Errorf("lines after the first answer = %d, want 6", got)
	}
	if err := tr.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := hasPrefix(names(t, dir), "one.jsonl.pending"); len(got) != 0 {
		t.Error("the side file is still there after a sync")
	}
	say(t, tr, user("again"))
	say(t, tr, assistant(text("yes"), call("c1")))
	say(t, tr, result("c1", "out"))
	if got := len(lines(t, path)); got != 9 {
		t.Errorf("lines = %d, want 9", got)
	}
	closeTranscript(t, tr)
	got := lines(t, path)
	if got[0]["type"] != "session" || got[0]["version"] != float64(3) || got[0]["id"] != "one" || got[0]["cwd"] != "/ws" {
		t.Errorf("header = %v", got[0])
	}
	var kinds []string
	id := regexp.MustCompile(`^[0-9a-f]{8}$`)
	seen := map[string]bool{}
	var parent any
	for _, l := range got[1:] {
		kinds = append(kinds, l["type"].(string))
		if l["parentId"] != parent {
			t.Errorf("parent of %v = %v, want %v", l["id"], l["parentId"], parent)
		}
		parent = l["id"]
		if !id.MatchString(l["id"].(string)) || seen[l["id"].(string)] {
			t.Errorf("id %v is not 8 fresh hex digits", l["id"])
		}
		seen[l["id"].(string)] = true
		if _, err := time.Parse(time.RFC3339, l["timestamp"].(string)); err != nil {
			t.Error(err)
		}
	}
	want := []string{"model_change", "thinking_level_change", "custom", "message", "message", "message", "message", "message"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if got[3]["customType"] != "model-snapshot" || got[3]["data"].(map[string]any)["modelApi"] != "openai-completions" {
		t.Errorf("marker = %v", got[3])
	}
	wantTold := []string{"main one user false", "main one assistant true", "main one user true", "main one assistant true", "main one toolResult true"}
	if diff := cmp.Diff(wantTold, told); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one.jsonl"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, want 0600", info.Mode())
	}
}

// Begin writes only what changed.
func TestBegin(t *testing.T) {
	s := openStore(t, Config{Dir: t.TempDir()})
	tr := openTranscript(t, s, "one")
	begin := func(c Choice) []string {
		t.Helper()
		before, _ := tr.Branch()
		if err := tr.Begin(c); err != nil {
			t.Fatal(err)
		}
		after, _ := tr.Branch()
		var kinds []string
		for _, n := range after[len(before):] {
			kinds = append(kinds, n.Type)
		}
		return kinds
	}
	first := Choice{Provider: "mock", Model: "mock-1", API: "openai-completions", ThinkingLevel: "off"}
	steps := []struct {
		c    Choice
		want []string
	}{
		{first, []string{"model_change", "thinking_level_change", "custom"}},
		{first, nil},
		{Choice{"mock", "mock-1", "openai-completions", "low"}, []string{"thinking_level_change"}},
		{Choice{"mock", "mock-1", "openai-responses", "low"}, []string{"custom"}},
		{Choice{"other", "m", "openai-responses", "off"}, []string{"model_change", "thinking_level_change", "custom"}},
	}
	for i, st := range steps {
		if diff := cmp.Diff(st.want, begin(st.c)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
	state, err := tr.State()
	if err != nil || state.Provider != "other" || state.Model != "m" || state.ThinkingLevel != "off" {
		t.Errorf("State = %+v, %v", state, err)
	}
	// An answer of another model sets the model, too.
	say(t, tr, user("x"))
	say(t, tr, assistant(text("y")))
	if state, _ = tr.State(); state.Provider != "mock" || state.Model != "mock-1" {
		t.Errorf("State after an answer = %+v", state)
	}
}

// P3: a kill before the first answer does not lose the user's message.
func TestUserMessageSurvivesBeforeFirstFlush(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir})
	tr := openTranscript(t, s, "one")
	if _, err := tr.AppendModelChange("mock", "mock-1"); err != nil {
		t.Fatal(err)
	}
	say(t, tr, user("[Thu 2026-01-01 00:00 UTC] remember me"))
	// The process dies here: another one sees the folder as it is now.
	after := openStore(t, Config{Dir: dir})
	path := after.TranscriptPath(Entry{SessionID: "one"})
	history, err := History(path, 0, 0)
	if err != nil || len(history) != 1 || !strings.Contains(string(history[0]), `"remember me"`) {
		t.Errorf("History = %s, %v", history, err)
	}
	closeTranscript(t, tr)
	next := openTranscript(t, after, "one")
	if got := context_(t, next); len(got) != 0 { // RT-030: the unanswered turn is stepped back from
		t.Errorf("Context = %v, want nothing", outline(got))
	}
	say(t, next, user("second try"))
	say(t, next, assistant(text("ok")))
	closeTranscript(t, next)
	if got := read(t, path); !strings.Contains(got, "remember me") || strings.Count(got, "\n") != 5 {
		t.Errorf("transcript = %s", got)
	}
	if diff := cmp.Diff([]string{"one.jsonl"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// RT-027: a file with a header and no answer is written anew at the first flush.
func TestHeaderOnlyFileIsReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "one.jsonl")
	head := `{"type":"session","version":2,"id":"old-id","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/old"}`
	write(t, path, head+"\n"+`{"type":"model_change","id":"aaaaaaaa","parentId":null,"timestamp":"t","provider":"p","modelId":"m"}`+"\n")
	s := openStore(t, Config{Dir: dir})
	tr := openTranscript(t, s, "one")
	if tr.SessionID() != "old-id" {
		t.Errorf("SessionID = %q, want the file's", tr.SessionID())
	}
	say(t, tr, user("hi"))
	say(t, tr, assistant(text("ho")))
	say(t, tr, user("more"))
	closeTranscript(t, tr)
	got := lines(t, path)
	if len(got) != 5 || got[0]["version"] != float64(3) || got[0]["cwd"] != "/old" || got[1]["id"] != "aaaaaaaa" || got[2]["parentId"] != "aaaaaaaa" {
		t.Errorf("transcript = %v", got)
	}
}

// RT-026a, RT-028: the samples of the reference open, with all history reachable
// past lines without a parent, and the context starts with the last summary.
func TestSamplesOpen(t *testing.T) {
	for _, sample := range sampleTranscripts(t) {
		dir := t.TempDir()
		path := filepath.Join(dir, "s.jsonl")
		data := read(t, sample)
		write(t, path, data)
		s := openStore(t, Config{Dir: dir})
		tr := openTranscript(t, s, "s")
		msgs := context_(t, tr)
		checkPairs(t, sample, msgs)
		if len(msgs) == 0 {
			t.Errorf("%s: no context", sample)
		}
		closeTranscript(t, tr)
		if got := read(t, path); got != data {
			t.Errorf("%s: opening changed the file", sample)
		}
	}
	s := openStore(t, Config{Dir: "testdata"})
	main := read(t, "testdata/session-main-chat.jsonl")
	c, err := loadScroll(filepath.Join(s.Dir(), "session-main-chat.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(c.branch()), strings.Count(main, "\n")-1; got != want && got != want+1 {
		t.Errorf("branch of the main chat has %d lines, want all %d", got, want)
	}
}

func checkPairs(t *testing.T, name string, msgs []turn.Message) {
	t.Helper()
	if !paired(msgs) {
		t.Errorf("%s: a strict provider refuses %v", name, outline(msgs))
	}
	for i, m := range msgs {
		if m.Role == turn.RoleAssistant && len(m.Content) == 0 {
			t.Errorf("%s: message %d is empty", name, i)
		}
	}
}

// RT-028.
func TestCompactionContext(t *testing.T) {
	s := openStore(t, Config{Dir: t.TempDir()})
	tr := openTranscript(t, s, "one")
	say(t, tr, user("old question"))
	say(t, tr, assistant(text("old answer")))
	kept := say(t, tr, user("kept question"))
	say(t, tr, assistant(text("kept answer")))
	if _, err := tr.AppendCompaction(Compaction{Summary: "what was", FirstKeptEntryID: kept, TokensBefore: 9}); err != nil {
		t.Fatal(err)
	}
	say(t, tr, user("new question"))
	say(t, tr, assistant(text("new answer")))
	check := func(tr *Transcript) {
		t.Helper()
		msgs := context_(t, tr)
		got := outline(msgs[1:])
		want := []string{"user:kept question", "assistant:kept answer", "user:new question", "assistant:new answer"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("context (-want +got):\n%s", diff)
		}
		if first := msgs[0]; first.Role != turn.RoleUser || !strings.Contains(first.Text(), "<summary>\nwhat was\n</summary>") {
			t.Errorf("summary = %+v", first)
		}
	}
	check(tr)
	// A second compaction that keeps from within the first one's range.
	closeTranscript(t, tr)
	tr = openTranscript(t, s, "one")
	check(tr)
	s.logs.drop(tr.Path())
	if _, err := tr.AppendCompaction(Compaction{Summary: "newer", FirstKeptEntryID: kept}); err != nil {
		t.Fatal(err)
	}
	msgs := context_(t, tr)
	if len(msgs) != 5 || !strings.Contains(msgs[0].Text(), "newer") || strings.Contains(fmt.Sprint(outline(msgs[1:])), "summary") {
		t.Errorf("context after two compactions = %v", outline(msgs))
	}
	// A first kept line that is not there keeps nothing, but later lines count.
	if _, err := tr.AppendCompaction(Compaction{Summary: "lost", FirstKeptEntryID: "ffffffff"}); err != nil {
		t.Fatal(err)
	}
	say(t, tr, user("after"))
	if got := outline(context_(t, tr)[1:]); !cmp.Equal(got, []string{"user:after"}) {
		t.Errorf("context = %v", got)
	}
	data := read(t, tr.Path())
	if !strings.Contains(data, `"summary":"what was","firstKeptEntryId":"`+kept+`","tokensBefore":9,"details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}`) {
		t.Errorf("compaction line in %s", data)
	}
}

// RT-025: branching keeps the file and moves the context.
func TestBranching(t *testing.T) {
	s := openStore(t, Config{Dir: t.TempDir()})
	tr := openTranscript(t, s, "one")
	say(t, tr, user("a"))
	fork := say(t, tr, assistant(text("b")))
	say(t, tr, user("c"))
	say(t, tr, assistant(text("d")))
	if err := tr.SetLeaf(fork); err != nil {
		t.Fatal(err)
	}
	say(t, tr, user("e"))
	say(t, tr, assistant(text("f")))
	want := []string{"user:a", "assistant:b", "user:e", "assistant:f"}
	if diff := cmp.Diff(want, outline(context_(t, tr))); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
	closeTranscript(t, tr)
	again := openTranscript(t, openStore(t, Config{Dir: s.Dir()}), "one")
	if diff := cmp.Diff(want, outline(context_(t, again))); diff != "" {
		t.Errorf("context after reading (-want +got):\n%s", diff)
	}
	if err := again.SetLeaf("nope"); err == nil {
		t.Error("an unknown leaf was accepted")
	}
	if err := again.SetLeaf(""); err != nil || len(context_(t, again)) != 0 || again.Leaf() != "" {
		t.Error("an empty leaf does not start from the root")
	}
	say(t, again, user("root"))
	closeTranscript(t, again)
	data := read(t, again.Path())
	if last := data[strings.LastIndex(strings.TrimSuffix(data, "\n"), "\n")+1:]; !strings.Contains(last, `"parentId":null`) {
		t.Errorf("last line = %s, want a root", last)
	}
}

// RT-030.
func TestOrphanUserMessages(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir})
	tr := openTranscript(t, s, "one")
	say(t, tr, user("a"))
	say(t, tr, assistant(text("b")))
	say(t, tr, user("lost 1"))
	say(t, tr, user("lost 2"))
	closeTranscript(t, tr)
	before := read(t, tr.Path())
	tr = openTranscript(t, s, "one")
	say(t, tr, user("c"))
	say(t, tr, assistant(text("d")))
	want := []string{"user:a", "assistant:b", "user:c", "assistant:d"}
	if diff := cmp.Diff(want, outline(context_(t, tr))); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
	if got := read(t, tr.Path()); !strings.HasPrefix(got, before) {
		t.Error("the file lost its earlier bytes")
	}
}

// RT-029, P6: the lock file, its content, its staleness and its release.
func TestTranscriptLock(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir})
	lock := filepath.Join(dir, "one.jsonl.lock")
	first := openTranscript(t, s, "one")
	var content struct {
		PID       int
		CreatedAt time.Time
	}
	if err := json.Unmarshal([]byte(read(t, lock)), &content); err != nil || content.PID != os.Getpid() || content.CreatedAt.IsZero() {
		t.Errorf("lock content = %+v, %v", content, err)
	}
	second := openTranscript(t, s, "one") // re-entrant within the process
	closeTranscript(t, first)
	if _, err := os.Stat(lock); err != nil {
		t.Error("the lock went with the first handle")
	}
	closeTranscript(t, second)
	closeTranscript(t, second)
	if _, err := os.Stat(lock); !errors.Is(err, os.ErrNotExist) {
		t.Error("the lock outlives the last handle")
	}
	if _, err := first.Append(user("late")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Append after Close = %v", err)
	}
	// A live foreign owner: wait, give up with the reference's words.
	write(t, lock, fmt.Sprintf(`{"pid":%d,"createdAt":"2026-01-01T00:00:00.000Z"}`, os.Getppid()))
	ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	if _, err := s.OpenTranscript(ctx, TranscriptOptions{SessionID: "one"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("OpenTranscript with a foreign lock = %v, want to wait", err)
	}
	// Too old, or its process is dead: taken at once.
	old := time.Now().Add(-31 * time.Minute)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	closeTranscript(t, openTranscript(t, s, "one"))
	write(t, lock, `{"pid":999999999,"createdAt":"2026-01-01T00:00:00.000Z"}`)
	closeTranscript(t, openTranscript(t, s, "one"))
}

// RT-029: the text of the failure.
func TestLockedText(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir})
	path := filepath.Join(dir, "one.jsonl")
	other := &Store{cfg: Config{Dir: dir}, now: time.Now, log: s.log}
	held, err := other.lockTranscript(background, path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Unlock()
	_, err = s.lockWithin(background, path, time.Millisecond)
	want := fmt.Sprintf("session file locked (timeout 1ms): pid=%d %s", os.Getpid(), path)
	if !errors.Is(err, ErrLocked) || err.Error() != want {
		t.Errorf("error = %v, want %q", err, want)
	}
}

// Broken tool calls are not written; open ones are answered where the family
// insists on it.
func TestAppendGuards(t *testing.T) {
	s := openStore(t, Config{Dir: t.TempDir()})
	tr, err := s.OpenTranscript(background, TranscriptOptions{SessionID: "one", SyntheticResults: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	say(t, tr, user("a"))
	broken := call("c0")
	broken.Arguments = nil
	if id := say(t, tr, assistant(broken)); id != "" {
		t.Error("an answer of nothing but broken calls was written")
	}
	say(t, tr, assistant(text("b"), broken, call("c1"), call("c2")))
	say(t, tr, result("c1", "ok"))
	say(t, tr, user("next"))
	want := []string{"user:a", "assistant:b[c1][c2]", "result:c1", "result:c2!", "user:next"}
	if diff := cmp.Diff(want, outline(context_(t, tr))); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
	if got := strings.Count(read(t, tr.Path()), `"toolResult"`); got != 2 {
		t.Errorf("results in the file = %d, want 2", got)
	}
	// An empty answer, as after an error, is written.
	if id := say(t, tr, assistant()); id == "" {
		t.Error("an empty answer was not written")
	}
	// Without the guard nothing is inserted.
	plain := openTranscript(t, s, "two")
	say(t, plain, user("a"))
	say(t, plain, assistant(call("c1")))
	say(t, plain, user("b"))
	if got := strings.Count(read(t, plain.Path()), `"toolResult"`); got != 0 {
		t.Errorf("results in the file = %d, want none", got)
	}
	checkPairs(t, "plain", context_(t, plain))
}

// chat.inject: beside a run, alone, and where no transcript is.
func TestInject(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir})
	note := turn.Message{Role: turn.RoleAssistant, Content: turn.Text("note"), StopReason: turn.StopInjected, Usage: &turn.Usage{}, Timestamp: 5}
	opts := TranscriptOptions{SessionID: "one"}
	if _, err := s.Inject(background, opts, note, false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Inject without a transcript = %v", err)
	}
	id, err := s.Inject(background, opts, note, true)
	if err != nil || len(id) != 8 {
		t.Fatalf("Inject = %q, %v", id, err)
	}
	tr := openTranscript(t, s, "one")
	say(t, tr, user("q"))
	if _, err := s.Inject(background, opts, note, false); err != nil {
		t.Fatal(err)
	}
	say(t, tr, assistant(text("a")))
	want := []string{"assistant:note", "user:q", "assistant:note", "assistant:a"}
	if diff := cmp.Diff(want, outline(context_(t, tr))); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
	closeTranscript(t, tr)
	for _, l := range lines(t, tr.Path())[2:] {
		if l["parentId"] == nil {
			t.Errorf("line without a parent: %v", l)
		}
	}
}

// A transcript is parsed once, and again when another program wrote to it.
func TestTranscriptCache(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir, CacheBytes: 100_000})
	tr := openTranscript(t, s, "one")
	say(t, tr, user("a"))
	say(t, tr, assistant(text("b")))
	closeTranscript(t, tr)
	cached := s.logs.tapes[tr.Path()].c
	tr = openTranscript(t, s, "one")
	if tr.tape.c != cached {
		t.Error("the transcript was parsed again")
	}
	closeTranscript(t, tr)
	f, err := os.OpenFile(tr.Path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, `{"type":"message","id":"12345678","timestamp":"t","message":{"role":"assistant","content":"foreign"}}`)
	f.Close()
	tr = openTranscript(t, s, "one")
	if got := outline(context_(t, tr)); !cmp.Equal(got, []string{"user:a", "assistant:b", "assistant:foreign"}) {
		t.Errorf("context = %v", got)
	}
	closeTranscript(t, tr)
	// P1: what is kept is bounded by bytes.
	for i := range 30 {
		tr := openTranscript(t, s, fmt.Sprintf("big%d", i))
		say(t, tr, user("x"))
		say(t, tr, assistant(text(strings.Repeat("y", 20_000))))
		closeTranscript(t, tr)
	}
	if s.logs.size > 100_000 || len(s.logs.tapes) > 5 || len(s.logs.tapes) != len(s.logs.idle) {
		t.Errorf("cache holds %d bytes in %d transcripts", s.logs.size, len(s.logs.tapes))
	}
	huge := openTranscript(t, s, "huge")
	say(t, huge, user("x"))
	say(t, huge, assistant(text(strings.Repeat("y", 200_000))))
	closeTranscript(t, huge)
	if _, kept := s.logs.tapes[huge.Path()]; kept {
		t.Error("a transcript beyond the limit is kept")
	}
}

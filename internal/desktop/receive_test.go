package desktop_test

import (
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"openclaw/byo"
	"openclaw/internal/desktop"
)

func listening(t *testing.T) desktop.Config {
	return desktop.Config{Dir: filepath.Join(t.TempDir(), "state"), Listen: "127.0.0.1:0"}
}

func withSession(t *testing.T, cfg desktop.Config, ids ...string) *desk {
	t.Helper()
	d := open(t, cfg)
	for _, s := range ids {
		if _, err := d.Store().Create(desktop.Session{ID: s}); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// SW-60, SW-63: what the listener answers, in the order of the table, to older statuses
// as well.
func TestCallbackAnswers(t *testing.T) {
	d := withSession(t, listening(t), "s-7")
	msg := func(session, mid, text string) byo.Callback {
		return byo.Callback{SessionID: session, Status: byo.StatusMessage, MessageID: mid, ReplyText: text}
	}
	large := msg("s-7", "large", strings.Repeat("x", byo.MaxCallbackBody))
	for _, c := range []struct {
		name, task string
		body       any
		change     func(*http.Request)
		want       string
	}{
		{"no token", "x", "{", func(r *http.Request) { r.Header.Del("Authorization"); r.Header.Set("Origin", "null") }, `401 {"ok":false}`},
		{"wrong token", id(1), msg("s-7", "m", "x"), func(r *http.Request) { r.Header.Set("Authorization", "Bearer no") }, `401 {"ok":false}`},
		{"scheme", id(1), msg("s-7", "m", "x"), func(r *http.Request) {
			r.Header.Set("Authorization", strings.ToLower(r.Header.Get("Authorization")))
		}, `401 {"ok":false}`},
		{"page", id(1), msg("s-7", "m", "x"), func(r *http.Request) { r.Header.Set("Origin", "http://localhost") }, `403 {"ok":false,"error":"forbidden"}`},
		{"host", id(1), msg("s-7", "m", "x"), func(r *http.Request) { r.Host = "evil.example" }, `403 {"ok":false,"error":"forbidden"}`},
		{"too large", "x", large, nil, `413 {"ok":false,"error":"too_large"}`},
		{"no JSON", "x", "{", nil, `400 {"ok":false,"error":"invalid_json"}`},
		{"task id", "x", byo.Callback{}, nil, `400 {"ok":false,"error":"invalid_task_id"}`},
		{"other task id", id(1), byo.Callback{TaskID: id(2)}, nil, `400 {"ok":false,"error":"task_id_mismatch"}`},
		{"no session", id(1), byo.Callback{SessionID: " ", Status: "x"}, nil, `400 {"ok":false,"error":"session_id required"}`},
		{"status", id(1), byo.Callback{SessionID: "s-7", Status: "done"}, nil, `400 {"ok":false,"error":"invalid status"}`},
		{"unknown session", id(1), msg("s-8", "m", "x"), nil, `200 {"ok":true,"ignored":true,"reason":"session_ended"}`},
		{"session in other letters", id(1), msg("S-7", "m", "x"), nil, `200 {"ok":true,"ignored":true,"reason":"session_ended"}`},
		{"session with a space", id(1), msg("s-7 ", "m", "x"), nil, `200 {"ok":true,"ignored":true,"reason":"session_ended"}`},
		{"blank", id(1), msg("s-7", "m", " \n"), nil, `200 {"ok":true,"ignored":true,"reason":"empty_message"}`},
		{"message", id(1), msg("s-7", "m1", "one"), nil, `200 {"ok":true}`},
		{"again", id(1), msg("s-7", "m1", "one"), nil, `200 {"ok":true,"ignored":true,"reason":"duplicate"}`},
		{"under another task", id(2), msg("s-7", "m1", "one"), nil, `200 {"ok":true,"ignored":true,"reason":"duplicate"}`},
		{"no message id", id(3), msg("s-7", "", "two"), nil, `200 {"ok":true}`},
		{"no message id again", id(3), msg("s-7", "", "two"), nil, `200 {"ok":true,"ignored":true,"reason":"duplicate"}`},
		{"completed", id(4), byo.Callback{SessionID: "s-7", Status: byo.StatusCompleted, ReplyText: "three"}, nil, `200 {"ok":true}`},
		{"completed again", id(4), byo.Callback{SessionID: "s-7", Status: byo.StatusCompleted, ReplyText: "three"}, nil, `200 {"ok":true,"ignored":true,"reason":"already_finalized"}`},
		{"settled", id(4), byo.Callback{SessionID: "s-7", Status: byo.StatusCompleted}, nil, `200 {"ok":true}`},
		{"SW-62 a message after completed", id(4), msg("s-7", "m2", "four"), nil, `200 {"ok":true}`},
		{"typing", id(4), byo.Callback{SessionID: "s-7", Status: byo.StatusTyping, Label: "Thinking"}, nil, `200 {"ok":true}`},
		{"tool call", id(4), byo.Callback{SessionID: "s-7", Status: byo.StatusToolCall}, nil, `200 {"ok":true}`},
		{"stream", id(4), byo.Callback{SessionID: "s-7", Status: byo.StatusStream, Chunk: &byo.Chunk{Type: byo.ChunkTextDelta, Delta: "fo"}}, nil, `200 {"ok":true}`},
		{"notice", id(4), byo.Callback{SessionID: "s-7", Status: byo.StatusNotice, ReplyText: "indexing"}, nil, `200 {"ok":true}`},
		{"silent", id(4), byo.Callback{SessionID: "s-7", Status: byo.StatusSilent}, nil, `200 {"ok":true}`},
		{"failed", id(5), byo.Callback{SessionID: "s-7", Status: byo.StatusErrored, ErrorCode: "agent_error", ErrorMessage: "no"}, nil, `200 {"ok":true}`},
		{"SW-64 insight", id(6), msg("insights:s-7", "i1", "Ask about the budget."), nil, `200 {"ok":true}`},
		{"insight of an unknown call", id(6), msg("insights:s-8", "i1", "x"), nil, `200 {"ok":true,"ignored":true,"reason":"session_ended"}`},
		{"after an error", id(5), msg("s-7", "m3", "five"), nil, `200 {"ok":true}`},
	} {
		if got := d.call(c.task, c.body, c.change); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got, want := d.said("s-7", desktop.TabChat), "assistant:one | assistant:two | assistant:three | assistant:four | assistant:agent_error | assistant:five"; got != want {
		t.Errorf("chat %s, want %s", got, want)
	}
	if got := d.said("s-7", desktop.TabInsights); got != "assistant:Ask about the budget." {
		t.Errorf("insights %s", got)
	}
}

// SW-64: an insight that says there is none is dropped, however it is written.
func TestNoInsight(t *testing.T) {
	d := withSession(t, listening(t), "c")
	for i, text := range []string{"none", " None. ", "`none`", "\"NONE.\"", "'none'!", "“none”", "**none", "nonetheless", "none of them"} {
		if got := d.call(id(i), byo.Callback{SessionID: "insights:c", Status: byo.StatusMessage, MessageID: id(i) + ":msg:0", ReplyText: text}, nil); got != `200 {"ok":true}` {
			t.Errorf("%q: %s", text, got)
		}
	}
	if got, want := d.said("c", ""), "assistant:**none | assistant:nonetheless | assistant:none of them"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
}

// SW-61: what was acknowledged is there after a restart, and known by its id. A session
// that was deleted has ended for good.
func TestConversationsSurvive(t *testing.T) {
	cfg := listening(t)
	d := withSession(t, cfg, "s-7", "S-7", "gone", "a:b")
	m := byo.Callback{SessionID: "s-7", Status: byo.StatusMessage, MessageID: "m1", ReplyText: "one"}
	d.call(id(1), m, nil)
	if err := d.Store().Delete("gone"); err != nil {
		t.Fatal(err)
	}
	d.stop()
	d = open(t, cfg)
	if got := d.call(id(1), m, nil); got != `200 {"ok":true,"ignored":true,"reason":"duplicate"}` {
		t.Errorf("after a restart: %s", got)
	}
	if got := d.said("s-7", ""); got != "assistant:one" {
		t.Errorf("kept %s", got)
	}
	if d.said("S-7", "") != "" || d.said("a:b", "") != "" {
		t.Error("sessions share what they keep")
	}
	if d.Store().Known("gone") {
		t.Error("a deleted session is back")
	}
	if _, err := d.Store().Create(desktop.Session{ID: "insights:x"}); err == nil {
		t.Error("a session may look like insights")
	}
	if _, err := d.Store().Create(desktop.Session{ID: "../x"}); err == nil {
		t.Error("a session may leave its folder")
	}
	filepath.WalkDir(cfg.Dir, func(path string, e fs.DirEntry, err error) error { // SW-67
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
		return nil
	})
}

// SW-67: many callbacks at once are all kept, each once.
func TestCallbacksTogether(t *testing.T) {
	cfg := listening(t)
	d := withSession(t, cfg, "s")
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for n := range 4 {
				c := byo.Callback{SessionID: "s", Status: byo.StatusMessage, MessageID: id(i/2*10 + n), ReplyText: "x"} // every id twice
				if got := d.call(id(i), c, nil); !strings.HasPrefix(got, "200") {
					t.Error(got)
				}
			}
		})
	}
	group.Wait()
	d.stop()
	d = open(t, cfg)
	list, err := d.Store().Messages("s", "", "", 0)
	if err != nil || len(list) != 8*4 {
		t.Errorf("%d messages (%v), want 32", len(list), err)
	}
}

// SW-69: a new token counts at once, the old one no longer.
func TestTokenRotation(t *testing.T) {
	d := withSession(t, listening(t), "s")
	old := d.CallbackToken()
	if err := d.RotateCallbackToken(); err != nil {
		t.Fatal(err)
	}
	c := byo.Callback{SessionID: "s", Status: byo.StatusTyping}
	if got := d.call(id(1), c, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+string(old)) }); !strings.HasPrefix(got, "401") {
		t.Errorf("the old token: %s", got)
	}
	if got := d.call(id(1), c, nil); !strings.HasPrefix(got, "200") {
		t.Errorf("the new token: %s", got)
	}
}

// Only one process has the folder.
func TestOneProcess(t *testing.T) {
	cfg := listening(t)
	open(t, cfg)
	if _, err := desktop.Open(cfg); !errors.Is(err, desktop.ErrInUse) {
		t.Errorf("Open a second time = %v", err)
	}
	if _, err := desktop.Open(desktop.Config{Dir: t.TempDir(), Listen: "0.0.0.0:0"}); err == nil {
		t.Error("the listener may be reached from elsewhere")
	}
}

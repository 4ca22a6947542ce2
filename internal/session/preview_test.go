package session

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/turn"
)

func TestPreview(t *testing.T) {
	items, err := Preview("testdata/session-main-chat.jsonl", 5, 12)
	if err != nil {
		t.Fatal(err)
	}
	want := []PreviewItem{
		{"assistant", "an injected…"}, {"user", "say voice r…"}, {"assistant", "voice reply"}, {"user", "Read HEARTB…"}, {"assistant", "HEARTBEAT_OK"},
	}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Errorf("preview (-want +got):\n%s", diff)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "odd.jsonl")
	write(t, path, `{"type":"session","version":3,"id":"odd"}
{"type":"message","id":"1","message":{"role":"user","content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}}
{"type":"message","id":"2","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"c","name":"exec","arguments":{}},{"type":"toolCall","id":"d","name":"read","arguments":{}}]}}
{"type":"message","id":"3","message":{"role":"toolResult","toolCallId":"c","toolName":"exec","content":[{"type":"text","text":" out "}]}}
{"type":"message","id":"4","message":{"role":"toolResult","toolCallId":"d","toolName":"read","content":[]}}
{"type":"message","id":"5","message":{"role":"assistant","content":[],"errorMessage":"no credit"}}
{"type":"message","id":"6","message":{"role":"system","content":"rule"}}
{"type":"message","id":"7","message":{"role":"bashExecution","content":"ls"}}
{"type":"compaction","id":"8","summary":"message"}
broken "message"
`)
	items, err = Preview(path, 50, 240)
	if err != nil {
		t.Fatal(err)
	}
	want = []PreviewItem{
		{"user", "[image]"}, {"tool", "call exec, read"}, {"tool", "out"}, {"assistant", "no credit"}, {"system", "rule"}, {"other", "ls"},
	}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Errorf("preview of odd messages (-want +got):\n%s", diff)
	}
	if items, err := Preview(filepath.Join(dir, "none.jsonl"), 5, 240); err != nil || items != nil {
		t.Errorf("Preview of nothing = %v, %v", items, err)
	}
	// A first message without an answer is in the side file.
	write(t, filepath.Join(dir, "new.jsonl.pending"), `{"type":"message","id":"1","message":{"role":"user","content":"first"}}`)
	if items, err := Preview(filepath.Join(dir, "new.jsonl"), 5, 240); err != nil || len(items) != 1 {
		t.Errorf("Preview of an unanswered message = %v, %v, want it", items, err)
	}
}

func TestLastText(t *testing.T) {
	for path, want := range map[string]string{"testdata/session-main-chat.jsonl": "HEARTBEAT_OK", "testdata/none.jsonl": ""} {
		if got, err := LastText(path); err != nil || got != want {
			t.Errorf("LastText(%s) = %q, %v, want %q", path, got, err, want)
		}
	}
	// It gives up after a while.
	path := filepath.Join(t.TempDir(), "tools.jsonl")
	write(t, path, `{"type":"message","id":"1","message":{"role":"user","content":"far away"}}`+"\n"+
		strings.Repeat(`{"type":"message","id":"2","message":{"role":"toolResult","content":[{"type":"text","text":"x"}]}}`+"\n", 100))
	if got, err := LastText(path); err != nil || got != "" {
		t.Errorf("LastText behind 100 results = %q, %v, want it to give up", got, err)
	}
}

func TestShow(t *testing.T) {
	m := turn.User("[Thu 2026-01-01 00:00 UTC] hello\n[message_id: x]", time.UnixMilli(5))
	got, err := Show(m)
	if want := `{"role":"user","content":[{"type":"text","text":"hello"}],"timestamp":5}`; err != nil || string(got) != want {
		t.Errorf("Show = %s, %v, want %s", got, err, want)
	}
}

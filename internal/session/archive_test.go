package session

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTranscriptPath(t *testing.T) {
	s := openStore(t, Config{Dir: "/state/sessions"})
	tests := []struct {
		e    Entry
		want string
	}{
		{Entry{SessionID: "a-1"}, "/state/sessions/a-1.jsonl"},
		{Entry{SessionID: "a", SessionFile: "/else/b.jsonl"}, "/else/b.jsonl"},
		{Entry{SessionID: "a", SessionFile: "b.jsonl"}, "/state/sessions/b.jsonl"},
		{Entry{SessionID: "../../etc/passwd"}, "/state/sessions/%2E.%2F..%2Fetc%2Fpasswd.jsonl"},
		{Entry{SessionID: ".."}, "/state/sessions/%2E..jsonl"},
		{Entry{SessionID: "a/../b"}, "/state/sessions/a%2F..%2Fb.jsonl"},
	}
	for _, tt := range tests {
		if got := s.TranscriptPath(tt.e); got != tt.want {
			t.Errorf("TranscriptPath(%+v) = %q, want %q", tt.e, got, tt.want)
		}
	}
	if got := s.TopicPath("id", "7/8"); got != "/state/sessions/id-topic-7%2F8.jsonl" {
		t.Errorf("TopicPath = %q", got)
	}
	id := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if a, b := NewID(), NewID(); a == b || !id.MatchString(a) {
		t.Errorf("NewID = %q, %q", a, b)
	}
}

func TestArchive(t *testing.T) {
	c := newClock()
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir, Now: c.now})
	e := Entry{SessionID: "one"}
	if got, err := s.Archive(background, e); got != "" || err != nil {
		t.Errorf("Archive of nothing = %q, %v", got, err)
	}
	tr := openTranscript(t, s, "one")
	say(t, tr, user("a"))
	say(t, tr, assistant(text("b")))
	if _, err := s.Archive(background, e); !errors.Is(err, ErrLocked) {
		t.Errorf("Archive of an open transcript = %v, want ErrLocked", err)
	}
	closeTranscript(t, tr)
	data := read(t, tr.Path())
	got, err := s.Archive(background, e)
	if want := tr.Path() + ".deleted.2026-01-01T12-00-00.000Z"; got != want || err != nil {
		t.Fatalf("Archive = %q, %v, want %q", got, err, want)
	}
	if read(t, got) != data {
		t.Error("the archive differs from the transcript")
	}
	if diff := cmp.Diff([]string{filepath.Base(got)}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	// The same id starts anew.
	tr = openTranscript(t, s, "one")
	if msgs := context_(t, tr); len(msgs) != 0 {
		t.Errorf("context after the archive = %v", outline(msgs))
	}
	say(t, tr, user("x"))
	say(t, tr, assistant(text("y")))
	closeTranscript(t, tr)
	for range 2 {
		if err := s.DeleteTranscript(background, e); err != nil {
			t.Errorf("DeleteTranscript = %v", err)
		}
	}
	if _, err := os.Stat(tr.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Error("the transcript is still there")
	}
}

// sessions.compact, with the counts of the recording.
func TestTrim(t *testing.T) {
	c := newClock()
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir, Now: c.now})
	e := Entry{SessionID: "one"}
	if _, err := s.TrimTranscript(background, e, 4); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("TrimTranscript of nothing = %v", err)
	}
	write(t, filepath.Join(dir, "one.jsonl"), read(t, "testdata/session-main-chat.jsonl")+"\n\n")
	before := read(t, filepath.Join(dir, "one.jsonl"))
	got, err := s.TrimTranscript(background, e, 4)
	want := Trimmed{Archived: filepath.Join(dir, "one.jsonl.bak.2026-01-01T12-00-00.000Z"), Kept: 4}
	if err != nil || got != want {
		t.Fatalf("TrimTranscript = %+v, %v, want %+v", got, err, want)
	}
	if read(t, got.Archived) != before {
		t.Error("the archive differs from the transcript")
	}
	if got, err = s.TrimTranscript(background, e, 400); err != nil || got != (Trimmed{Kept: 4}) {
		t.Errorf("second TrimTranscript = %+v, %v", got, err)
	}
	tr := openTranscript(t, s, "one")
	msgs := context_(t, tr)
	if len(msgs) != 3 || !strings.HasPrefix(outline(msgs)[2], "assistant:HEARTBEAT_OK") {
		t.Errorf("context after trimming = %v", outline(msgs))
	}
}

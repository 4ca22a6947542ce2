package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The answer of chat.history as the reference gave it for the main chat, in the
// recording of chat.send: all messages of the file, user text bare. System events
// before a text are not the user's words and left out too.
func TestHistoryOfTheSample(t *testing.T) {
	msgs, err := History("testdata/session-main-chat.jsonl", 20, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, raw := range msgs {
		var m struct {
			Role    string
			Content []struct{ Type, Text string }
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		s := m.Role
		for _, b := range m.Content {
			s += " " + b.Type + ":" + b.Text[:min(len(b.Text), 12)]
		}
		got = append(got, s)
	}
	want := []string{
		"user text:long 60", "assistant text:w1 w2 w3 w4 ", "user text:say NO_REPLY", "assistant text:NO_REPLY",
		"user text:empty", "assistant", "user text:say hello ch", "assistant text:hello chat",
		"user text:tool exec {\"", "assistant toolCall:", "toolResult text:from chat", "assistant text:w1 w2 w3 w4 ",
		"user text:error 400", "assistant", "assistant text:an injected ", "user text:say voice re", "assistant text:voice reply",
		"user text:Read HEARTBE", "assistant text:HEARTBEAT_OK",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	// Only what is stripped changes; all else is the object of the file.
	var user, file map[string]any
	if err := json.Unmarshal(msgs[6], &user); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(read(t, "testdata/session-main-chat.jsonl")) {
		if strings.Contains(line, "idem-chat-1") {
			var l struct{ Message map[string]any }
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			file = l.Message
		}
	}
	file["content"].([]any)[0].(map[string]any)["text"] = "say hello chat"
	if diff := cmp.Diff(file, user); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestHistoryLimits(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	if msgs, err := History(path, 0, 0); err != nil || msgs != nil {
		t.Errorf("History of nothing = %v, %v", msgs, err)
	}
	var b strings.Builder
	b.WriteString(`{"type":"session","version":3,"id":"s"}` + "\n")
	for i := range 500 {
		fmt.Fprintf(&b, `{"type":"message","id":"%08x","message":{"role":"user","content":"%d %s"}}`+"\n", i, i, strings.Repeat("x", i*7%4000))
		if i%50 == 0 {
			fmt.Fprintf(&b, `{"type":"custom","id":"c%d","data":{"message":"no"}}`+"\n\nbroken {\"message\"\n", i)
		}
	}
	fmt.Fprintf(&b, `{"type":"message","id":"big","message":{"role":"assistant","content":"%s"}}`+"\n", strings.Repeat("y", 300_000))
	b.WriteString(`{"type":"message","id":"torn","mess`)
	write(t, path, b.String())
	for _, tt := range []struct{ limit, bytes, want int }{{1, 0, 1}, {3, 0, 3}, {0, 0, 200}, {1000, 0, 501}, {1000, 10, 1}, {1000, 301_000, 1}, {5, 320_000, 5}} {
		msgs, err := History(path, tt.limit, tt.bytes)
		if err != nil || len(msgs) != tt.want {
			t.Errorf("History(%d, %d) = %d messages, %v, want %d", tt.limit, tt.bytes, len(msgs), err, tt.want)
			continue
		}
		if !strings.Contains(string(msgs[len(msgs)-1]), "yyyy") {
			t.Errorf("History(%d, %d) does not end with the newest message", tt.limit, tt.bytes)
		}
		if len(msgs) > 1 {
			n := 500 - len(msgs) + 1
			if !strings.HasPrefix(string(msgs[0]), fmt.Sprintf(`{"role":"user","content":"%d `, n)) {
				t.Errorf("History(%d, %d) begins with %.60s, want message %d", tt.limit, tt.bytes, msgs[0], n)
			}
		}
	}
}

func TestFirstUserText(t *testing.T) {
	if got, err := FirstUserText("testdata/session-main-chat.jsonl"); got != "long 60" || err != nil {
		t.Errorf("FirstUserText = %q, %v, want %q", got, err, "long 60")
	}
	if got, err := FirstUserText("testdata/none.jsonl"); got != "" || err != nil {
		t.Errorf("FirstUserText of nothing = %q, %v", got, err)
	}
}

// longTranscript writes a transcript of n messages and returns its path.
func longTranscript(tb testing.TB, dir string, n int) string {
	tb.Helper()
	path := filepath.Join(dir, "long.jsonl")
	var b strings.Builder
	b.WriteString(`{"type":"session","version":3,"id":"long","timestamp":"t","cwd":"/"}` + "\n")
	parent := "null"
	for i := range n {
		role := []string{"user", "assistant"}[i%2]
		fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"t","message":{"role":"%s","content":[{"type":"text","text":"[Thu 2026-01-01 00:00 UTC] %s"}],"timestamp":%d}}`+"\n",
			i, parent, role, strings.Repeat("word ", 40), i)
		parent = fmt.Sprintf(`"%08x"`, i)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// The history of a long transcript costs what its end costs: 200 of 10,000
// messages allocate no more than 200 of 400.
func TestHistoryReadsTheTailOnly(t *testing.T) {
	cost := func(n int) float64 {
		path := longTranscript(t, t.TempDir(), n)
		return testing.AllocsPerRun(3, func() {
			if msgs, err := History(path, 200, 0); err != nil || len(msgs) != 200 {
				t.Fatalf("History = %d messages, %v", len(msgs), err)
			}
		})
	}
	short, long := cost(400), cost(10_000)
	if long > short*1.1+10 {
		t.Errorf("allocations: %v for 10,000 messages, %v for 400", long, short)
	}
}

func BenchmarkHistory200Of10000(b *testing.B) {
	path := longTranscript(b, b.TempDir(), 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := History(path, 200, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenTranscript10000(b *testing.B) {
	for _, bench := range []struct {
		name  string
		cache int64
	}{{"cached", 64 << 20}, {"parsed", 1}} {
		b.Run(bench.name, func(b *testing.B) {
			dir := b.TempDir()
			longTranscript(b, dir, 10_000)
			s, err := Open(Config{Dir: dir, CacheBytes: bench.cache})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				tr, err := s.OpenTranscript(b.Context(), TranscriptOptions{SessionID: "long"})
				if err != nil {
					b.Fatal(err)
				}
				if msgs, err := tr.Context(); err != nil || len(msgs) != 10_000 {
					b.Fatal(len(msgs), err)
				}
				if err := tr.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

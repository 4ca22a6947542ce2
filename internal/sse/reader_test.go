package sse

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type transcript struct {
	Name     string
	Stream   string
	Events   []wireEvent
	Comments []string
	LastID   string `json:"last_id"`
}

type wireEvent struct {
	ID      string
	Type    string
	Data    string
	RetryMS int64 `json:"retry_ms"`
}

func transcripts(t testing.TB) []transcript {
	t.Helper()
	data, err := os.ReadFile("testdata/streams.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Streams []transcript }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Streams
}

// readAll reads to the end, and what stopped it if that is not the end.
func readAll(r *Reader) (events []wireEvent, tooLarge int, err error) {
	for {
		ev, err := r.Next()
		switch {
		case errors.Is(err, ErrTooLarge):
			tooLarge++
		case err == io.EOF:
			return events, tooLarge, nil
		case err != nil:
			return events, tooLarge, err
		default:
			events = append(events, wireEvent{ev.ID, ev.Type, string(ev.Data), ev.Retry.Milliseconds()})
		}
	}
}

// SW-21, SW-51: what a reader gets, and after which id it resumes, however the
// bytes arrive.
func TestReaderTranscripts(t *testing.T) {
	for _, tr := range transcripts(t) {
		for how, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "by byte": iotest.OneByteReader, "by half": iotest.HalfReader, "end with data": iotest.DataErrReader,
		} {
			var comments []string
			r := NewReader(wrap(strings.NewReader(tr.Stream)), Config{Comment: func(b []byte) { comments = append(comments, string(b)) }})
			events, _, err := readAll(r)
			if err != nil {
				t.Errorf("%s, %s: %v", tr.Name, how, err)
			}
			if diff := cmp.Diff(tr.Events, events, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, %s: events (-want +got):\n%s", tr.Name, how, diff)
			}
			if diff := cmp.Diff(tr.Comments, comments, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, %s: comments (-want +got):\n%s", tr.Name, how, diff)
			}
			if r.LastID() != tr.LastID {
				t.Errorf("%s, %s: LastID() = %q, want %q", tr.Name, how, r.LastID(), tr.LastID)
			}
		}
	}
}

// An event over a limit is skipped, counts for the cursor, and harms no other.
func TestReaderLimits(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := []struct {
		name, stream string
		tooLarge     int
	}{
		{"line", "id: 1\ndata: " + long + "\n\n", 1},
		{"line without data", "id: 1\ncolour: " + long + "\n\n", 1},
		{"sum of lines", "id: 1\n" + strings.Repeat("data: 0123456789\n", 9) + "\n", 1},
		{"fits", "id: 1\ndata: 0123456789\n\n", 0},
		{"many empty lines of data", "id: 1\n" + strings.Repeat("data\n", 200) + "\n", 1},
	}
	for _, tt := range tests {
		r := NewReader(iotest.HalfReader(strings.NewReader(tt.stream+"id: 2\ndata: after\n\n")), Config{MaxLine: 64, MaxEvent: 64})
		events, tooLarge, err := readAll(r)
		if err != nil || tooLarge != tt.tooLarge {
			t.Errorf("%s: %d events too large, error %v, want %d", tt.name, tooLarge, err, tt.tooLarge)
		}
		if n := len(events); n == 0 || events[n-1] != (wireEvent{ID: "2", Data: "after"}) {
			t.Errorf("%s: events = %v, want the next one to arrive", tt.name, events)
		}
		if r.LastID() != "2" {
			t.Errorf("%s: LastID() = %q, want 2", tt.name, r.LastID())
		}
	}
}

// An endless line costs no memory and hands out nothing.
func TestReaderEndlessLine(t *testing.T) {
	r := NewReader(io.LimitReader(endless('x'), 8<<20), Config{MaxLine: 1024})
	if ev, err := r.Next(); err != io.EOF {
		t.Errorf("Next() = %v, %v, want io.EOF", ev, err)
	}
	if cap(r.line) > 16<<10 {
		t.Errorf("the reader keeps %d bytes of a line, want at most about 1024", cap(r.line))
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestReaderPassesErrors(t *testing.T) {
	broken := errors.New("connection reset")
	r := NewReader(io.MultiReader(strings.NewReader("id: 1\ndata: a\n\ndata: b"), iotest.ErrReader(broken)), Config{})
	events, _, err := readAll(r)
	if !errors.Is(err, broken) || len(events) != 1 || r.LastID() != "1" {
		t.Errorf("got %v, %v, last id %q, want one event and the error of the connection", events, err, r.LastID())
	}
}

// A blank line is an event's end at once: no byte more is waited for, not even
// for the second half of CR LF.
func TestReaderDoesNotWait(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\r", "\r\n\r"} {
		pr, pw := io.Pipe()
		r := NewReader(pr, Config{})
		got := make(chan Event, 1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			ev, _ := r.Next()
			got <- ev
		}()
		if _, err := pw.Write([]byte("data: now" + end)); err != nil {
			t.Fatal(err)
		}
		select {
		case ev := <-got:
			if string(ev.Data) != "now" {
				t.Errorf("Next() = %q after %q, want now", ev.Data, end)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("Next() waits for more after %q", end)
		}
		_ = pw.Close()
		<-done
	}
}

// FuzzReader: never panics, never exceeds its limits, and does not depend on how
// the bytes arrive.
func FuzzReader(f *testing.F) {
	for _, tr := range transcripts(f) {
		f.Add([]byte(tr.Stream))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg := Config{MaxLine: 48, MaxEvent: 64}
		whole, large, err := readAll(NewReader(strings.NewReader(string(data)), cfg))
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(iotest.OneByteReader(strings.NewReader(string(data))), cfg)
		bytewise, large2, err := readAll(r)
		if err != nil || large != large2 || !cmp.Equal(whole, bytewise) {
			t.Fatalf("whole: %v and %d too large; byte by byte: %v and %d, error %v", whole, large, bytewise, large2, err)
		}
		for _, ev := range whole {
			if len(ev.Data) > cfg.MaxEvent || strings.ContainsAny(ev.ID, "\r\n\x00") {
				t.Fatalf("event %+v exceeds its limits", ev)
			}
		}
	})
}

// What Append writes, a reader reads.
func FuzzAppend(f *testing.F) {
	f.Add("7", "reasoning_job", []byte(`{"a":1}`))
	f.Add("", "", []byte(" leading"))
	f.Fuzz(func(t *testing.T, id, kind string, data []byte) {
		frame, err := Append(nil, Event{ID: id, Type: kind, Data: data})
		if err != nil {
			if len(frame) != 0 {
				t.Fatalf("Append(%q, %q, %q) wrote %q and failed", id, kind, data, frame)
			}
			return
		}
		ev, err := NewReader(strings.NewReader(string(frame)), Config{}).Next()
		if err != nil || ev.ID != id || ev.Type != kind || string(ev.Data) != string(data) {
			t.Fatalf("Append(%q, %q, %q) reads back as %+v, %v", id, kind, data, ev, err)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	frame, err := Append(nil, Event{ID: "1042", Type: "reasoning_job", Data: []byte(`{"x":"` + strings.Repeat("a", 4096) + `"}`)})
	if err != nil {
		b.Fatal(err)
	}
	stream := strings.Repeat(string(frame), 100)
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		if events, _, err := readAll(NewReader(strings.NewReader(stream), Config{})); err != nil || len(events) != 100 {
			b.Fatal(len(events), err)
		}
	}
}

package session

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bigIndex writes a sessions.json of n entries that have the size of real ones.
func bigIndex(tb testing.TB, dir string, n int) {
	tb.Helper()
	f, err := os.Create(filepath.Join(dir, "sessions.json"))
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprint(w, "{")
	for i := range n {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, `
  "agent:main:bench:%d": {
    "sessionId": "%08d-0000-4000-8000-000000000000",
    "updatedAt": %d,
    "systemSent": true,
    "abortedLastRun": false,
    "chatType": "direct",
    "lastChannel": "webchat",
    "modelProvider": "mock",
    "model": "mock-1",
    "inputTokens": 12081,
    "outputTokens": 3,
    "totalTokens": 12081,
    "contextTokens": 200000,
    "skillsSnapshot": {"prompt": "%s", "skills": []}
  }`, i, i, 1767225600000+i, strings.Repeat("s", 1500))
	}
	fmt.Fprint(w, "\n}\n")
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
}

// The cost of a change does not depend on the number of sessions: 50,000 sessions
// allocate no more per update than 50, and nothing of the index is rewritten.
func TestUpdateCostIsConstant(t *testing.T) {
	cost := func(n int) float64 {
		dir := t.TempDir()
		bigIndex(t, dir, n)
		s, err := Open(Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(s.Path())
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		allocs := testing.AllocsPerRun(50, func() {
			i++
			update(t, s, fmt.Sprintf("agent:main:bench:%d", i%40), func(e *Entry) { e.Model = "mock-2" })
		})
		after, err := os.Stat(s.Path())
		if err != nil || !os.SameFile(before, after) {
			t.Error("updates rewrote sessions.json")
		}
		crash(t, s) // no need to fold it
		return allocs
	}
	small, large := cost(50), cost(50_000)
	if large > small*1.2+5 {
		t.Errorf("allocations per update: %v with 50,000 sessions, %v with 50", large, small)
	}
}

// The big fields of 20,000 sessions stay on disk: the index in memory is a small
// part of the file.
func TestIndexMemoryIsSmall(t *testing.T) {
	dir := t.TempDir()
	const n = 20_000
	bigIndex(t, dir, n)
	var s *Store
	held := heldBytes(func() {
		var err error
		if s, err = Open(Config{Dir: dir}); err != nil {
			t.Fatal(err)
		}
	})
	if per := held / n; per > 1900 {
		t.Errorf("%d bytes of memory per session, want at most 1900", per)
	}
	if e, ok := s.Get("agent:main:bench:19999"); !ok || len(e.SkillsSnapshot) < 1500 {
		t.Error("the big field is not there when it is asked for")
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{50, 5000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			bigIndex(b, dir, n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Open(Config{Dir: dir}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{50, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			bigIndex(b, dir, n)
			s, err := Open(Config{Dir: dir})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Update(b.Context(), "agent:main:bench:7", func(e *Entry) error { e.Model = "x"; return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUpdateParallel(b *testing.B) {
	s, err := Open(Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		key := fmt.Sprintf("agent:main:%p", p)
		for p.Next() {
			if _, err := s.Update(background, key, func(e *Entry) error { e.Model = "x"; return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A listing after each change, the worst case.
func BenchmarkListAfterChange(b *testing.B) {
	dir := b.TempDir()
	bigIndex(b, dir, 5000)
	s, err := Open(Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.mu.Lock()
		rec := *s.recs[fmt.Sprintf("agent:main:bench:%d", i%5000)]
		rec.entry = new(*rec.entry)
		rec.entry.UpdatedAt = 1767226000000 + int64(i)
		s.put(&rec)
		s.mu.Unlock()
		if len(s.List()) != 5000 {
			b.Fatal("sessions are missing")
		}
	}
}

func BenchmarkFold(b *testing.B) {
	for _, n := range []int{50, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			bigIndex(b, dir, n)
			s, err := Open(Config{Dir: dir})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := s.Update(b.Context(), "agent:main:bench:7", func(e *Entry) error { e.Model = "x"; return nil }); err != nil {
					b.Fatal(err)
				}
				if err := s.fold(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What a run costs here: open, markers, user message, answer, close, two updates of
// the entry.
func BenchmarkRun(b *testing.B) {
	for _, bench := range []struct {
		name  string
		fresh bool
	}{{"new session", true}, {"going on", false}} {
		b.Run(bench.name, func(b *testing.B) {
			s, err := Open(Config{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			i := 0
			for b.Loop() {
				if bench.fresh || i == 0 {
					i++
				}
				oneRun(b, s, fmt.Sprintf("s%d", i))
			}
		})
	}
}

func oneRun(b *testing.B, s *Store, id string) {
	ok := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	touch := func(e *Entry) error { e.SessionID, e.TotalTokens = id, new(7); return nil }
	_, err := s.Update(b.Context(), "agent:main:"+id, touch)
	ok(err)
	tr, err := s.OpenTranscript(b.Context(), TranscriptOptions{SessionID: id})
	ok(err)
	ok(tr.Begin(Choice{Provider: "mock", Model: "mock-1", API: "x", ThinkingLevel: "off"}))
	_, err = tr.Context()
	ok(err)
	_, err = tr.Append(user("hi " + time.Now().String()))
	ok(err)
	_, err = tr.Append(assistant(text("hello")))
	ok(err)
	_, err = s.Update(b.Context(), "agent:main:"+id, touch)
	ok(err)
	ok(tr.Close())
}

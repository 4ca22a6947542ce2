package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func usageLine(at time.Time, input int, cost string) string {
	return fmt.Sprintf(`{"type":"message","id":"0","parentId":null,"message":{"role":"assistant","content":[{"type":"text","text":"say \"usage\""}],"timestamp":%d,`+
		`"usage":{"input":%d,"output":1,"cacheRead":2,"cacheWrite":3,"totalTokens":%d%s}}}`+"\n", at.UnixMilli(), input, input+6, cost)
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir})
	noon := time.Date(2026, 3, 10, 12, 0, 0, 0, time.Local)
	since := noon.AddDate(0, 0, -1)
	if got, err := s.Usage(t.Context(), since); err != nil || len(got) != 0 {
		t.Errorf("Usage of nothing = %v, %v", got, err)
	}
	path := filepath.Join(dir, "one.jsonl")
	write(t, path, `{"type":"session","version":3,"id":"one"}`+"\n"+
		usageLine(noon.AddDate(0, 0, -5), 1000, `,"cost":{"total":9}`)+ // too old
		usageLine(since, 10, `,"cost":{"total":0.5}`)+
		`{"type":"message","message":{"role":"user","content":"\"usage\":{\"input\":7}","timestamp":1}}`+"\n"+
		`{"type":"message","message":{"role":"assistant","stopReason":"injected","usage":{"input":0,"output":0,"totalTokens":0},"timestamp":`+fmt.Sprint(noon.UnixMilli())+`}}`+"\n"+
		"not json \"usage\"\n"+
		usageLine(noon, 20, ""))
	write(t, filepath.Join(dir, "gone.jsonl.deleted.2026-03-10T12-00-00.000Z"), usageLine(noon, 30, `,"cost":{"total":1}`))
	for _, copied := range []string{"one.jsonl.bak.2026-03-10T12-00-00.000Z", "one.jsonl.bak-1-2", "one.jsonl.pending", "other.txt", ".jsonl"} {
		write(t, filepath.Join(dir, copied), usageLine(noon, 10_000, ""))
	}
	want := map[string]Usage{
		"2026-03-09": {Input: 10, Output: 1, CacheRead: 2, CacheWrite: 3, Total: 16, Cost: 0.5},
		"2026-03-10": {Input: 50, Output: 2, CacheRead: 4, CacheWrite: 6, Total: 62, Cost: 1, Missing: 1},
	}
	check := func(when string) {
		t.Helper()
		got, err := s.Usage(t.Context(), since)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("usage %s (-want +got):\n%s", when, diff)
		}
	}
	check("at first")
	// Half a line is not counted before its end is there, and nothing twice.
	line := usageLine(noon, 100, `,"cost":{"total":2}`)
	appendTo(t, path, line[:30])
	check("with half a line")
	appendTo(t, path, line[30:])
	want["2026-03-10"] = Usage{Input: 150, Output: 3, CacheRead: 6, CacheWrite: 9, Total: 168, Cost: 3, Missing: 1}
	check("with a line more")
	// A file that was replaced is read anew.
	write(t, path+".new", usageLine(noon, 1, ""))
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	delete(want, "2026-03-09")
	want["2026-03-10"] = Usage{Input: 31, Output: 2, CacheRead: 4, CacheWrite: 6, Total: 43, Cost: 1, Missing: 1}
	check("after a replacement")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want["2026-03-10"] = Usage{Input: 30, Output: 1, CacheRead: 2, CacheWrite: 3, Total: 36, Cost: 1}
	check("after a removal")
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// What was read is not read again: an unreadable rest proves it.
func TestUsageReadsWhatIsNew(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir})
	path := filepath.Join(dir, "one.jsonl")
	now := time.Now()
	write(t, path, strings.Repeat(usageLine(now, 1, ""), 5000))
	day := func() Usage {
		t.Helper()
		got, err := s.Usage(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		return got[now.Format(time.DateOnly)]
	}
	if got := day(); got.Input != 5000 {
		t.Fatalf("input = %d, want 5000", got.Input)
	}
	// The old part is spoiled in place; only the new line may count.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(strings.Repeat("x", 1000))); err != nil {
		t.Fatal(err)
	}
	f.Close()
	appendTo(t, path, usageLine(now, 1, ""))
	if got := day(); got.Input != 5001 {
		t.Errorf("input = %d, want 5001: the file was read from its start", got.Input)
	}
}

func BenchmarkUsageUnchanged(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	now := time.Now()
	text := strings.Repeat(usageLine(now, 1, ""), 20)
	for i := range 5000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", i)), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.Usage(b.Context(), now); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Usage(b.Context(), now); err != nil {
			b.Fatal(err)
		}
	}
}

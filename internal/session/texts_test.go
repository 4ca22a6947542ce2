package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTexts(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir})
	e := &Entry{SessionID: "one"}
	check := func(when, first, last string) {
		t.Helper()
		for range 2 {
			if got := s.First(e); got != first {
				t.Errorf("First %s = %q, want %q", when, got, first)
			}
			if got := s.Last(e); got != last {
				t.Errorf("Last %s = %q, want %q", when, got, last)
			}
		}
	}
	line := func(role, text string) string {
		return fmt.Sprintf(`{"type":"message","id":"1","message":{"role":%q,"content":%q}}`+"\n", role, text)
	}
	check("of nothing", "", "")
	side := filepath.Join(dir, "one.jsonl.pending")
	write(t, side, line("user", "hello"))
	check("before an answer", "hello", "hello")
	path := filepath.Join(dir, "one.jsonl")
	write(t, path, line("user", "hello")+line("assistant", "world"))
	if err := os.Remove(side); err != nil {
		t.Fatal(err)
	}
	check("after an answer", "hello", "world")
	// A change is noticed; without one the file is not read.
	write(t, path, line("user", "howdy")+line("assistant", "folks"))
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	check("after a change", "howdy", "folks")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", len(read(t, path)))), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	check("of a file that did not seem to change", "howdy", "folks")
	// A first message with a picture stands further back; long texts are cut.
	write(t, filepath.Join(dir, "two.jsonl"), `{"type":"message","id":"1","message":{"role":"user","content":[{"type":"image","data":"`+strings.Repeat("A", 100_000)+
		`"},{"type":"text","text":"`+strings.Repeat("y", 500)+`"}]}}`+"\n")
	if got := s.First(&Entry{SessionID: "two"}); len([]rune(got)) != textLen {
		t.Errorf("First behind a picture has %d characters, want %d", len([]rune(got)), textLen)
	}
}

func TestTextsAreBounded(t *testing.T) {
	var c textCache
	for i := range 60_000 {
		c.keep(fmt.Sprint(i), texts{size: 1, mod: time.Unix(1, 0), first: "x", hasFirst: true}, true)
	}
	if c.size > textRoom+1000 || len(c.byPath) > 40_000 {
		t.Errorf("cache holds %d bytes in %d texts, want at most %d bytes", c.size, len(c.byPath), textRoom)
	}
	c.keep("bad", texts{}, false)
	if _, ok := c.byPath["bad"]; ok {
		t.Error("what could not be read is remembered")
	}
}

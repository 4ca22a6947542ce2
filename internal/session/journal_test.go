package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type rawJSON = json.RawMessage

// A kill leaves the journal; the next process has everything.
func TestReplayAfterCrash(t *testing.T) {
	c := newClock()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sessions.json"), `{"agent:main:gone":{"sessionId":"g"},"agent:main:kept":{"sessionId":"k","skillsSnapshot":{"prompt":"p"}}}`)
	s, err := Open(Config{Dir: dir, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, "agent:main:a", func(e *Entry) { e.SessionID, e.Label = "a", "first\nline" })
	update(t, s, "agent:main:a", func(e *Entry) { e.Label = "second" })
	if _, err := s.Delete(background, "agent:main:gone"); err != nil {
		t.Fatal(err)
	}
	crash(t, s)
	s = openStore(t, Config{Dir: dir, Now: c.now})
	if e, ok := s.Get("agent:main:a"); !ok || e.Label != "second" {
		t.Errorf("a = %+v, %v", e, ok)
	}
	if _, ok := s.Get("agent:main:gone"); ok {
		t.Error("a deleted session came back")
	}
	if e, _ := s.Get("agent:main:kept"); string(e.SkillsSnapshot) != `{"prompt":"p"}` {
		t.Errorf("kept = %+v", e)
	}
	if err := s.fold(background); err != nil {
		t.Fatal(err)
	}
	if left := hasPrefix(names(t, dir), journalName+"-"); len(left) != 0 {
		t.Errorf("journals after the fold: %v", left)
	}
}

// A crash between writing sessions.json and removing the journal is harmless, and
// what another program wrote since then is not overwritten.
func TestReplayTwiceIsHarmless(t *testing.T) {
	c := newClock()
	dir := t.TempDir()
	s, err := Open(Config{Dir: dir, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, "agent:main:a", func(e *Entry) { e.Label = "a" })
	update(t, s, "agent:main:b", func(e *Entry) { e.Label = "b" })
	journal := filepath.Join(dir, hasPrefix(names(t, dir), journalName+"-")[0])
	saved := read(t, journal)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, journal, saved)
	index := read(t, s.Path())
	write(t, s.Path(), strings.Replace(index, fmt.Sprintf(`"updatedAt": %d,
    "label": "b"`, c.now().UnixMilli()), fmt.Sprintf(`"updatedAt": %d,
    "label": "newer"`, c.now().UnixMilli()+1), 1))
	s = openStore(t, Config{Dir: dir, Now: c.now})
	if e, _ := s.Get("agent:main:a"); e.Label != "a" {
		t.Errorf("a = %+v", e)
	}
	if e, _ := s.Get("agent:main:b"); e.Label != "newer" {
		t.Errorf("b = %+v, want the newer foreign entry", e)
	}
}

// An entry whose time lies ahead, restored or from a wrong clock, is replayed too.
func TestReplayDoesNotTrustClocks(t *testing.T) {
	c := newClock()
	dir := t.TempDir()
	s, err := Open(Config{Dir: dir, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	future := c.now().Add(time.Hour).UnixMilli()
	update(t, s, "agent:main:a", func(e *Entry) { e.UpdatedAt = future })
	if err := s.fold(background); err != nil {
		t.Fatal(err)
	}
	update(t, s, "agent:main:a", func(e *Entry) { e.UpdatedAt, e.Label = 5, "back" })
	crash(t, s)
	s = openStore(t, Config{Dir: dir, Now: c.now})
	if e, _ := s.Get("agent:main:a"); e.Label != "back" || e.UpdatedAt != 5 {
		t.Errorf("a = %+v, want the acknowledged change", e)
	}
}

// P7 for the index: whatever byte the journal ends at, every whole record before
// it counts and nothing else does.
func TestTornJournal(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		update(t, s, fmt.Sprintf("agent:main:%d", i), func(e *Entry) { e.SessionID = fmt.Sprint(i) })
	}
	crash(t, s)
	name := hasPrefix(names(t, dir), journalName+"-")[0]
	whole := read(t, filepath.Join(dir, name))
	for cut := range len(whole) + 1 {
		dir := t.TempDir()
		write(t, filepath.Join(dir, name), whole[:cut])
		s, err := Open(Config{Dir: dir})
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		want := max(strings.Count(whole[:cut], "\n")-1, 0)
		if s.Count() != want {
			t.Errorf("cut at %d: Count = %d, want %d", cut, s.Count(), want)
		}
		if cut%11 != 0 {
			crash(t, s)
			continue
		}
		// The store goes on from there.
		update(t, s, "agent:main:new", func(e *Entry) { e.SessionID = "new" })
		if err := s.Close(); err != nil {
			t.Fatalf("cut at %d: Close = %v", cut, err)
		}
		again, err := Open(Config{Dir: dir})
		if err != nil || again.Count() != want+1 {
			t.Errorf("cut at %d: after reopening Count = %d, %v, want %d", cut, again.Count(), err, want+1)
		}
		again.Close()
	}
}

func TestNewerJournalIsRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, journalName+"-1"), `{"type":"openclaw-sessions-journal","version":2}`+"\n")
	if _, err := Open(Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("Open = %v, want a refusal", err)
	}
}

// While another process owns the journal, changes go to sessions.json directly and
// its journal stays.
func TestSecondWriter(t *testing.T) {
	dir := t.TempDir()
	first := openStore(t, Config{Dir: dir})
	update(t, first, "agent:main:a", func(e *Entry) { e.Label = "first" })
	second := openStore(t, Config{Dir: dir})
	if e, _ := second.Get("agent:main:a"); e.Label != "first" {
		t.Errorf("the second process reads %+v, want the unfolded change", e)
	}
	update(t, second, "agent:main:b", func(e *Entry) { e.Label = "second" })
	if !strings.Contains(read(t, second.Path()), `"second"`) {
		t.Error("the change is not in sessions.json")
	}
	if left := hasPrefix(names(t, dir), journalName+"-"); len(left) != 1 {
		t.Errorf("journals = %v, want the first process's one", left)
	}
	if err := first.fold(background); err != nil {
		t.Fatal(err)
	}
	if e, _ := first.Get("agent:main:b"); e.Label != "second" {
		t.Errorf("the first process reads %+v", e)
	}
	if e, _ := first.Get("agent:main:a"); e.Label != "first" {
		t.Errorf("the first process reads %+v", e)
	}
	// The owner goes; the other one takes over what it left.
	update(t, first, "agent:main:c", func(e *Entry) { e.Label = "unfolded" })
	crash(t, first)
	update(t, second, "agent:main:d", func(e *Entry) { e.Label = "d" })
	if e, _ := second.Get("agent:main:c"); e.Label != "unfolded" {
		t.Errorf("c = %+v, want what the first process left", e)
	}
}

// Many callers share syncs, and all their changes are there.
func TestConcurrentUpdates(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 8, 40
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range each {
				_, err := s.Update(background, "agent:main:shared", func(e *Entry) error {
					n := 0
					if e.InputTokens != nil {
						n = *e.InputTokens
					}
					e.InputTokens = new(n + 1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				if _, err := s.Update(background, fmt.Sprintf("agent:main:%d", w), func(*Entry) error { return nil }); err != nil {
					t.Error(err)
				}
				s.List()
			}
		})
	}
	wg.Go(func() {
		for range 10 {
			if err := s.fold(background); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	crash(t, s)
	s = openStore(t, Config{Dir: dir})
	if e, _ := s.Get("agent:main:shared"); *e.InputTokens != writers*each {
		t.Errorf("shared counter = %d, want %d", *e.InputTokens, writers*each)
	}
	if s.Count() != writers+1 {
		t.Errorf("Count = %d, want %d", s.Count(), writers+1)
	}
}

// Run folds a second after the last change, at the latest after five, and at the
// end.
func TestRunFolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s, err := Open(Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := contextWithCancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := s.Run(ctx); err != nil {
				t.Errorf("Run = %v", err)
			}
		})
		folded := func(label string) bool {
			synctest.Wait()
			data, err := os.ReadFile(s.Path())
			return err == nil && strings.Contains(string(data), label)
		}
		update(t, s, "agent:main:a", func(e *Entry) { e.Label = "one" })
		time.Sleep(900 * time.Millisecond)
		if folded("one") {
			t.Error("folded too soon")
		}
		time.Sleep(200 * time.Millisecond)
		if !folded("one") {
			t.Error("not folded after a second of rest")
		}
		for i := range 12 {
			update(t, s, "agent:main:a", func(e *Entry) { e.Label = fmt.Sprintf("busy-%d", i) })
			time.Sleep(500 * time.Millisecond)
		}
		if !folded("busy-") {
			t.Error("not folded while changes go on")
		}
		update(t, s, "agent:main:a", func(e *Entry) { e.Label = "last" })
		stop()
		wg.Wait()
		if !folded("last") {
			t.Error("not folded at the end")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A journal that cannot be written fails the caller; the store recovers.
func TestJournalFailure(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir})
	update(t, s, "agent:main:a", func(*Entry) {})
	s.flushing <- struct{}{}
	s.journal.Close() // the disk goes away
	release(s.flushing)
	if _, err := s.Update(background, "agent:main:a", func(e *Entry) error { e.Label = "x"; return nil }); err == nil {
		t.Fatal("Update succeeded without a journal")
	}
	update(t, s, "agent:main:b", func(e *Entry) { e.Label = "y" })
	crash(t, s)
	again := openStore(t, Config{Dir: dir})
	if e, ok := again.Get("agent:main:b"); !ok || e.Label != "y" {
		t.Errorf("b = %+v, %v", e, ok)
	}
}

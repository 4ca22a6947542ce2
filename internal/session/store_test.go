package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// RT-023: the sample index of the reference comes back unchanged in meaning, with
// unknown fields, and an entry nobody touched byte for byte.
func TestSampleIndexRoundTrips(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sessions.json")
	sample := read(t, "testdata/sessions.json")
	sample = strings.Replace(sample, `"sessionId": "<uuid-1>",`, `"sessionId": "<uuid-1>", "futureField": {"a": [1, 2.50, null]},`, 1)
	write(t, path, sample)
	s := openStore(t, Config{Dir: dir})
	if got := s.Count(); got != 6 {
		t.Fatalf("Count = %d, want 6", got)
	}
	e, ok := s.Get("agent:main:main")
	if !ok || e.SessionID != "<uuid-2>" || *e.InputTokens != 12081 || e.Origin.Provider != "heartbeat" || e.DeliveryContext.To != "heartbeat" {
		t.Errorf("Get(main) = %+v, %v", e, ok)
	}
	if len(e.SkillsSnapshot) == 0 || len(e.SystemPromptReport) == 0 {
		t.Error("Get does not load the fields that stay on disk")
	}
	update(t, s, "agent:main:steer", func(e *Entry) { e.Label = "steered" })
	if err := s.fold(background); err != nil {
		t.Fatal(err)
	}
	var want, got map[string]map[string]any
	if err := json.Unmarshal([]byte(sample), &want); err != nil {
		t.Fatal(err)
	}
	after := read(t, path)
	if err := json.Unmarshal([]byte(after), &got); err != nil {
		t.Fatalf("the written index is no JSON: %v", err)
	}
	want["agent:main:steer"]["label"] = "steered"
	want["agent:main:steer"]["updatedAt"] = got["agent:main:steer"]["updatedAt"]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("index differs (-want +got):\n%s", diff)
	}
	if !strings.Contains(after, `"futureField": {"a": [1, 2.50, null]}`) {
		t.Error("an entry nobody touched was rewritten")
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, want 0600", info.Mode())
	}
	// An entry that is touched keeps what it does not know, too.
	update(t, s, "agent:main:tool-demo", func(e *Entry) { e.Model = "other" })
	if err := s.fold(background); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(read(t, path)), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want["agent:main:tool-demo"]["futureField"], got["agent:main:tool-demo"]["futureField"]); diff != "" {
		t.Errorf("unknown field differs: %s", diff)
	}
	if diff := cmp.Diff(want["agent:main:tool-demo"]["skillsSnapshot"], got["agent:main:tool-demo"]["skillsSnapshot"]); diff != "" {
		t.Errorf("skills snapshot differs: %s", diff)
	}
}

func TestEntryReadsLeniently(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"types kept aside", `{"sessionId":7,"updatedAt":"x","systemSent":"yes","inputTokens":1.9,"lastThreadId":42}`,
			`{"inputTokens":1,"lastThreadId":42,"sessionId":7,"systemSent":"yes","updatedAt":"x"}`},
		{"old names", `{"provider":"slack","lastProvider":"slack","room":"#a","chatType":"room","responseUsage":"on"}`,
			`{"chatType":"channel","responseUsage":"tokens","channel":"slack","groupChannel":"#a","lastChannel":"slack"}`},
		{"null is absent", `{"label":null,"model":"m"}`, `{"model":"m"}`},
		{"flags and zeros stay", `{"abortedLastRun":false,"inputTokens":0}`, `{"abortedLastRun":false,"inputTokens":0}`},
		{"nested unknown", `{"origin":{"label":"a","x":1},"deliveryContext":{"threadId":5}}`,
			`{"origin":{"label":"a","x":1},"deliveryContext":{"threadId":5}}`},
		{"escapes", `{"label":"a\u00e9\"\\","subject":"<&>"}`, `{"label":"aé\"\\","subject":"<&>"}`},
		{"old name loses", `{"provider":"a","channel":"b"}`, `{"channel":"b","provider":"a"}`},
	}
	for _, tt := range tests {
		var e Entry
		if err := json.Unmarshal([]byte(tt.in), &e); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got, err := e.MarshalJSON()
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s -> %s, %v, want %s", tt.name, tt.in, got, err, tt.want)
		}
	}
	var e Entry
	for _, bad := range []string{`[]`, `{"a":}`, `{"a":tru}`, `{`, ``} {
		if err := e.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("an entry of %q was accepted", bad)
		}
	}
}

// A fold puts the store's files in the state the reference knows: no journal, no
// lock, only the index.
func TestCloseLeavesOnlyTheIndex(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "agents", "main", "sessions")
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("Open created the folder")
	}
	update(t, s, "agent:main:main", func(e *Entry) { e.SessionID = "one" })
	if got := hasPrefix(names(t, dir), journalName+"-"); len(got) != 1 {
		t.Errorf("journals after a change = %v, want one", got)
	}
	if _, err := os.Stat(s.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Error("the run path wrote sessions.json")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sessions.json"}, names(t, dir)); diff != "" {
		t.Errorf("files after Close (-want +got):\n%s", diff)
	}
	if _, err := s.Update(background, "agent:main:main", func(*Entry) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("Update after Close = %v, want ErrClosed", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	again := openStore(t, Config{Dir: dir})
	if e, ok := again.Get("agent:main:main"); !ok || e.SessionID != "one" || e.UpdatedAt == 0 {
		t.Errorf("Get after reopening = %+v, %v", e, ok)
	}
}

func TestUpdateRules(t *testing.T) {
	c := newClock()
	s := openStore(t, Config{Dir: t.TempDir(), Now: c.now})
	e := update(t, s, "agent:main:a", func(e *Entry) { e.SessionID, e.Label = "s1", "Bee" })
	if e.UpdatedAt != c.now().UnixMilli() {
		t.Errorf("UpdatedAt = %d, want now", e.UpdatedAt)
	}
	c.advance(time.Minute)
	if e = update(t, s, "agent:main:a", func(e *Entry) { e.UpdatedAt = 5 }); e.UpdatedAt != 5 {
		t.Errorf("an explicit UpdatedAt became %d", e.UpdatedAt)
	}
	boom := errors.New("boom")
	if _, err := s.Update(background, "agent:main:a", func(e *Entry) error { e.Label = "x"; return boom }); !errors.Is(err, boom) {
		t.Errorf("Update = %v, want the callback's error", err)
	}
	if e, err := s.Update(background, "agent:main:a", func(e *Entry) error { e.Label = "x"; return Skip }); err != nil || e.SessionID != "s1" {
		t.Errorf("skipped Update = %+v, %v", e, err)
	}
	if e, _ := s.Get("agent:main:a"); e.Label != "Bee" {
		t.Errorf("Label = %q, want it unchanged", e.Label)
	}
	_, err := s.Update(background, "agent:main:b", func(e *Entry) error { e.Label = "Bee"; return nil })
	if !errors.Is(err, ErrLabelInUse) || !strings.HasSuffix(err.Error(), "label already in use: Bee") {
		t.Errorf("second use of a label = %v", err)
	}
	if _, ok := s.Get("agent:main:b"); ok {
		t.Error("the refused entry exists")
	}
	if key, _, ok := s.FindByLabel("Bee"); key != "agent:main:a" || !ok {
		t.Errorf("FindByLabel = %q, %v", key, ok)
	}
	if key, _, ok := s.FindByID("s1"); key != "agent:main:a" || !ok {
		t.Errorf("FindByID = %q, %v", key, ok)
	}
	update(t, s, "agent:main:a", func(e *Entry) { e.SessionID, e.Label = "s2", "" })
	if _, _, ok := s.FindByID("s1"); ok {
		t.Error("the old session id is still found")
	}
	update(t, s, "agent:main:b", func(e *Entry) { e.Label = "Bee" })
	if ok, err := s.Delete(background, "agent:main:b"); !ok || err != nil {
		t.Errorf("Delete = %v, %v", ok, err)
	}
	if ok, err := s.Delete(background, "agent:main:b"); ok || err != nil {
		t.Errorf("second Delete = %v, %v", ok, err)
	}
	if _, _, ok := s.FindByLabel("Bee"); ok {
		t.Error("a deleted session is found by label")
	}
	if s.Count() != 1 {
		t.Errorf("Count = %d, want 1", s.Count())
	}
	ctx, cancel := context.WithCancel(background)
	cancel()
	if _, err := s.Update(ctx, "agent:main:z", func(*Entry) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Update with a cancelled context = %v", err)
	}
	if _, err := s.Update(background, "", func(*Entry) error { return nil }); err == nil {
		t.Error("an empty key was accepted")
	}
}

// A caller that changes what it got changes nothing in the store.
func TestEntriesAreNotShared(t *testing.T) {
	s := openStore(t, Config{Dir: t.TempDir()})
	update(t, s, "agent:main:a", func(e *Entry) {
		e.InputTokens, e.Origin = new(1), &Origin{Label: "x"}
		e.Extra = map[string]json.RawMessage{"k": json.RawMessage(`1`)}
	})
	e, _ := s.Get("agent:main:a")
	*e.InputTokens, e.Origin.Label, e.Extra["k"] = 9, "y", json.RawMessage(`2`)
	if e, _ = s.Get("agent:main:a"); *e.InputTokens != 1 || e.Origin.Label != "x" || string(e.Extra["k"]) != "1" {
		t.Errorf("entry changed behind the store: %+v", e)
	}
}

func TestListNewestFirst(t *testing.T) {
	c := newClock()
	s := openStore(t, Config{Dir: t.TempDir(), Now: c.now})
	for i := range 20 {
		update(t, s, fmt.Sprintf("agent:main:%d", i), func(e *Entry) { e.SessionID = fmt.Sprint(i) })
		c.advance(time.Second)
	}
	update(t, s, "agent:main:3", func(*Entry) {})
	list := s.List()
	if len(list) != 20 || list[0].Key != "agent:main:3" || list[1].Key != "agent:main:19" || list[19].Key != "agent:main:0" {
		t.Errorf("List order: %s, %s, …, %s", list[0].Key, list[1].Key, list[len(list)-1].Key)
	}
	if again := s.List(); &again[0] != &list[0] {
		t.Error("List builds a new slice although nothing changed")
	}
}

// RT-023: a damaged index reads as empty, stays on disk, and is copied once.
func TestDamagedIndexIsKept(t *testing.T) {
	for name, data := range map[string]string{
		"garbage": "not json at all", "truncated": `{"agent:main:a": {"sessionId": "x"`, "array": `[1,2]`,
		"bad value": `{"agent:main:a": {"sessionId": tru}}`, "zeros": "\x00\x00\x00",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "sessions.json")
		write(t, path, data)
		var log logBuffer
		for range 2 {
			s, err := Open(Config{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatalf("%s: Open = %v", name, err)
			}
			if s.Count() != 0 {
				t.Errorf("%s: Count = %d, want 0", name, s.Count())
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: Close = %v", name, err)
			}
		}
		if got := read(t, path); got != data {
			t.Errorf("%s: the file became %q", name, got)
		}
		copies := hasPrefix(names(t, dir), "sessions.json.corrupt-")
		if len(copies) != 1 || read(t, filepath.Join(dir, copies[0])) != data {
			t.Errorf("%s: copies = %v, want one with the original bytes", name, copies)
		}
		if !strings.Contains(log.String(), "sessions.json.corrupt-") {
			t.Errorf("%s: the log does not say where the copy is: %s", name, log.String())
		}
		s := openStore(t, Config{Dir: dir})
		update(t, s, "agent:main:new", func(e *Entry) { e.SessionID = "n" })
		if err := s.fold(background); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(read(t, path)), &got); err != nil || len(got) != 1 {
			t.Errorf("%s: index after a change = %v, %v", name, got, err)
		}
	}
}

func TestReadsJSON5(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sessions.json")
	write(t, path, `// by hand
{
  'agent:main:a': { sessionId: 'x\'y', updatedAt: +10, skillsSnapshot: {prompt: "p",}, extra: [.5, 0x10, NaN,], },
  /* last */ "agent:main:b": {"sessionId": "z"},
}`)
	s := openStore(t, Config{Dir: dir})
	e, ok := s.Get("agent:main:a")
	if !ok || e.SessionID != "x'y" || e.UpdatedAt != 10 || string(e.SkillsSnapshot) != `{"prompt":"p"}` || string(e.Extra["extra"]) != "[0.5,16,null]" {
		t.Errorf("Get = %+v, %v", e, ok)
	}
	update(t, s, "agent:main:b", func(e *Entry) { e.Label = "b" })
	if err := s.fold(background); err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string]any
	if err := json.Unmarshal([]byte(read(t, path)), &got); err != nil {
		t.Fatal(err)
	}
	if got["agent:main:a"]["sessionId"] != "x'y" || got["agent:main:b"]["label"] != "b" {
		t.Errorf("index = %v", got)
	}
	if e, _ = s.Get("agent:main:a"); string(e.SkillsSnapshot) != `{
      "prompt": "p"
    }` {
		t.Errorf("SkillsSnapshot after the fold = %s", e.SkillsSnapshot)
	}
}

// Another program edits sessions.json while we run.
func TestForeignEdits(t *testing.T) {
	c := newClock()
	dir := t.TempDir()
	path := filepath.Join(dir, "sessions.json")
	ms := c.now().UnixMilli()
	write(t, path, fmt.Sprintf(`{"agent:main:a":{"sessionId":"a","updatedAt":%d},"agent:main:b":{"sessionId":"b","updatedAt":%d},"version":2}`, ms, ms))
	s := openStore(t, Config{Dir: dir, Now: c.now})
	update(t, s, "agent:main:a", func(e *Entry) { e.Label = "ours" })
	// The other program writes: b changed, c new, and a as it was before our change.
	write(t, path, fmt.Sprintf(`{"agent:main:a":{"sessionId":"a","updatedAt":%d},"agent:main:b":{"sessionId":"b2","updatedAt":%d},"agent:main:c":{"sessionId":"c"},"version":2}`, ms, ms+5))
	if e, _ := s.Get("agent:main:b"); e.SessionID != "b" {
		t.Error("the file was looked at again too soon")
	}
	c.advance(checkEvery)
	if e, _ := s.Get("agent:main:b"); e.SessionID != "b2" {
		t.Errorf("b = %+v, want the other program's change", e)
	}
	if e, _ := s.Get("agent:main:a"); e.Label != "ours" {
		t.Errorf("a = %+v, want our newer change", e)
	}
	if s.Count() != 3 {
		t.Errorf("Count = %d, want 3", s.Count())
	}
	if key, _, ok := s.FindByID("b2"); !ok || key != "agent:main:b" {
		t.Errorf("FindByID(b2) = %q, %v", key, ok)
	}
	if _, _, ok := s.FindByID("b"); ok {
		t.Error("the replaced session id is still found")
	}
	// The fold takes what the other program wrote a moment ago, without a look before.
	write(t, path, fmt.Sprintf(`{"agent:main:a":{"sessionId":"a","updatedAt":%d},"agent:main:d":{"sessionId":"d"},"version":2}`, ms))
	if err := s.fold(background); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(read(t, path)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"agent:main:a": map[string]any{"sessionId": "a", "updatedAt": float64(ms), "label": "ours"},
		"agent:main:d": map[string]any{"sessionId": "d"}, "version": float64(2)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
	// Their entry is newer than our change: it wins.
	update(t, s, "agent:main:a", func(e *Entry) { e.Label = "ours again" })
	write(t, path, fmt.Sprintf(`{"agent:main:a":{"sessionId":"a","updatedAt":%d,"label":"theirs"}}`, ms+60_000))
	c.advance(checkEvery)
	if e, _ := s.Get("agent:main:a"); e.Label != "theirs" {
		t.Errorf("a = %+v, want the newer foreign entry", e)
	}
	// A file that breaks while we run takes nothing away, and is written anew.
	write(t, path, `{"agent:main:a": {`)
	c.advance(checkEvery)
	if s.Count() != 1 {
		t.Errorf("Count = %d after damage, want 1", s.Count())
	}
	if err := s.fold(background); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(read(t, path)), &got); err != nil {
		t.Errorf("the damaged file was not replaced: %v", err)
	}
	// A file that is removed is empty.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	c.advance(checkEvery)
	if s.Count() != 0 {
		t.Errorf("Count = %d after removal, want 0", s.Count())
	}
}

// RT-023: the lock file of the reference is respected, and broken when it is old.
func TestFoldTakesTheReferenceLock(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Config{Dir: dir})
	update(t, s, "agent:main:a", func(e *Entry) { e.SessionID = "a" })
	lock := filepath.Join(dir, "sessions.json.lock")
	write(t, lock, `{"pid":1,"startedAt":1}`)
	ctx, cancel := context.WithTimeout(background, 60*time.Millisecond)
	defer cancel()
	if err := s.fold(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("fold with a fresh foreign lock = %v, want to wait", err)
	}
	if e, ok := s.Get("agent:main:a"); !ok || e.SessionID != "a" {
		t.Error("the change is gone")
	}
	old := time.Now().Add(-31 * time.Second)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if err := s.fold(background); err != nil {
		t.Errorf("fold with a stale lock = %v", err)
	}
	if _, err := os.Stat(lock); !errors.Is(err, os.ErrNotExist) {
		t.Error("the lock file is still there")
	}
}

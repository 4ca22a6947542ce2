package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/chat"
)

// RT-132, RT-020: keys of earlier releases move to where they are looked for, the
// newest entry wins, everything in it stays, and a kill in between loses nothing.
func TestRekeyRT132(t *testing.T) {
	const index = `{
	  "main": {"sessionId": "new", "updatedAt": 2000, "label": "mine", "future": {"x": [1]}, "skillsSnapshot": {"prompt": "p"}},
	  "agent:main:main": {"sessionId": "old", "updatedAt": 1000},
	  "work": {"sessionId": "w", "updatedAt": 1000},
	  "agent:main:work": {"sessionId": "w2", "updatedAt": 3000},
	  "subagent:4": {"sessionId": "s", "updatedAt": 10, "spawnedBy": "main"},
	  "Agent:Main:Telegram:group:-5": {"sessionId": "t", "updatedAt": 11},
	  "agent:other:main": {"sessionId": "o", "updatedAt": 12},
	  "global": {"sessionId": "g", "updatedAt": 13}, "unknown": {"sessionId": "u", "updatedAt": 14}
	}`
	canonical := func(key string) string { return chat.CanonicalKey(key, "main", false) }
	c := newClock()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sessions.json"), index)
	s, err := Open(Config{Dir: dir, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Rekey(background, canonical)
	want := []Rekeyed{
		{From: "Agent:Main:Telegram:group:-5", To: "agent:main:telegram:group:-5"},
		{From: "main", To: "agent:main:main"},
		{From: "subagent:4", To: "agent:main:subagent:4"},
		{From: "work", To: "agent:main:work", Dropped: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("Rekey = %v (-want +got):\n%s", err, diff)
	}
	check := func(s *Store, when string) {
		t.Helper()
		keys := []string{}
		for _, it := range s.List() {
			keys = append(keys, it.Key)
		}
		slices.Sort(keys)
		if diff := cmp.Diff([]string{"agent:main:main", "agent:main:subagent:4", "agent:main:telegram:group:-5", "agent:main:work", "agent:other:main", "global", "unknown"}, keys); diff != "" {
			t.Errorf("%s: keys (-want +got):\n%s", when, diff)
		}
		e, _ := s.Get("agent:main:main")
		if e.SessionID != "new" || e.UpdatedAt != 2000 || e.Label != "mine" || strings.Join(strings.Fields(string(e.SkillsSnapshot)), "") != `{"prompt":"p"}` {
			t.Errorf("%s: main session = %+v, want the newer one with all of it", when, e)
		}
		if key, _, ok := s.FindByID("new"); !ok || key != "agent:main:main" {
			t.Errorf("%s: FindByID(new) = %q, %v", when, key, ok)
		}
		if key, _, ok := s.FindByLabel("mine"); !ok || key != "agent:main:main" {
			t.Errorf("%s: FindByLabel(mine) = %q, %v", when, key, ok)
		}
		if e, _ := s.Get("agent:main:work"); e.SessionID != "w2" {
			t.Errorf("%s: work = %s, want the newer w2", when, e.SessionID)
		}
	}
	check(s, "at once")
	crash(t, s)
	s = openStore(t, Config{Dir: dir, Now: c.now})
	check(s, "after a kill")
	if again, err := s.Rekey(background, canonical); len(again) != 0 || err != nil {
		t.Errorf("second Rekey = %v, %v, want nothing to do", again, err)
	}
	if err := s.fold(background); err != nil {
		t.Fatal(err)
	}
	var file map[string]map[string]rawJSON
	data, err := os.ReadFile(filepath.Join(dir, "sessions.json"))
	if err != nil || json.Unmarshal(data, &file) != nil {
		t.Fatalf("sessions.json = %s, %v", data, err)
	}
	if len(file) != 7 || strings.Join(strings.Fields(string(file["agent:main:main"]["future"])), "") != `{"x":[1]}` {
		t.Errorf("sessions.json = %s, want 7 entries with all their fields", data)
	}
}

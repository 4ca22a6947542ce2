package session

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// RT-032: daily, idle and both.
func TestFresh(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", s, zone(t, "Europe/Berlin"))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	daily := ResetConfig{}
	idle := ResetConfig{Reset: &ResetRule{Mode: "idle", IdleMinutes: 30}}
	both := ResetConfig{Reset: &ResetRule{Mode: "daily", AtHour: new(6), IdleMinutes: 120}}
	legacy := ResetConfig{IdleMinutes: 10}
	tests := []struct {
		name         string
		c            ResetConfig
		updated, now string
		want         bool
	}{
		{"same day", daily, "2026-01-10 04:00", "2026-01-10 23:59", true},
		{"before four", daily, "2026-01-10 03:59", "2026-01-10 04:00", false},
		{"night", daily, "2026-01-09 22:00", "2026-01-10 03:59", true},
		{"yesterday", daily, "2026-01-09 22:00", "2026-01-10 04:01", false},
		{"two days", daily, "2026-01-08 03:00", "2026-01-09 03:00", false},
		{"clocks go forward", daily, "2026-03-29 01:30", "2026-03-29 04:01", false},
		{"clocks go forward, night before", daily, "2026-03-28 05:00", "2026-03-29 03:59", true},
		{"clocks go back", daily, "2026-10-24 05:00", "2026-10-25 03:59", true},
		{"clocks go back, reset", daily, "2026-10-25 03:59", "2026-10-25 04:00", false},
		{"idle", idle, "2026-01-10 10:00", "2026-01-10 10:30", true},
		{"too idle", idle, "2026-01-10 10:00", "2026-01-10 10:31", false},
		{"idle over four", idle, "2026-01-10 03:50", "2026-01-10 04:10", true},
		{"both, idle", both, "2026-01-10 10:00", "2026-01-10 12:01", false},
		{"both, daily", both, "2026-01-10 05:30", "2026-01-10 06:30", false},
		{"both, fresh", both, "2026-01-10 06:30", "2026-01-10 08:00", true},
		{"legacy", legacy, "2026-01-10 03:55", "2026-01-10 04:05", true},
		{"legacy, idle", legacy, "2026-01-10 03:55", "2026-01-10 04:06", false},
	}
	for _, tt := range tests {
		e := Entry{SessionID: "s", UpdatedAt: at(tt.updated).UnixMilli()}
		if got := Fresh(tt.c, "agent:main:main", e, at(tt.now)); got != tt.want {
			t.Errorf("%s: Fresh = %v, want %v", tt.name, got, tt.want)
		}
	}
	if Fresh(daily, "agent:main:main", Entry{}, at("2026-01-01 10:00")) {
		t.Error("an entry that does not exist is fresh")
	}
}

// RT-032: where the reset hour does not exist, the day still has one reset.
func TestResetHourThatDoesNotExist(t *testing.T) {
	loc := zone(t, "America/New_York") // 02:00 becomes 03:00 on 2026-03-08
	p := Policy{Mode: "daily", AtHour: 2}
	before := Entry{SessionID: "s", UpdatedAt: time.Date(2026, 3, 8, 1, 59, 0, 0, loc).UnixMilli()}
	if !p.Fresh(before, time.Date(2026, 3, 8, 1, 59, 30, 0, loc)) || p.Fresh(before, time.Date(2026, 3, 8, 3, 1, 0, 0, loc)) {
		t.Error("the reset of the day is not where the clock was moved")
	}
	loc = zone(t, "America/Havana") // the day begins at 01:00 on 2026-03-08
	p.AtHour = 0
	before.UpdatedAt = time.Date(2026, 3, 7, 23, 59, 0, 0, loc).UnixMilli()
	if !p.Fresh(before, time.Date(2026, 3, 7, 23, 59, 30, 0, loc)) || p.Fresh(before, time.Date(2026, 3, 8, 1, 1, 0, 0, loc)) {
		t.Error("a reset at midnight is lost when the clock skips midnight")
	}
	// Hour by hour through a year, in odd zones: never more than a day and an hour
	// between resets, and freshness is lost once per day.
	for _, name := range []string{"Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia"} {
		loc := zone(t, name)
		last := time.Date(2026, 1, 1, 5, 0, 0, 0, loc)
		resets := 0
		for now := last; now.Year() == 2026; now = now.Add(20 * time.Minute) {
			if !(Policy{Mode: "daily", AtHour: 2}).Fresh(Entry{SessionID: "s", UpdatedAt: last.UnixMilli()}, now) {
				resets++
				if gap := now.Sub(last); gap > 25*time.Hour+20*time.Minute {
					t.Errorf("%s: %v without a reset before %v", name, gap, now)
				}
				last = now
			}
		}
		if resets != 364 {
			t.Errorf("%s: %d resets in a year, want 364", name, resets)
		}
	}
}

// RT-032: by type, by channel, and what is left out.
func TestResetPolicy(t *testing.T) {
	c := ResetConfig{
		Reset:       &ResetRule{AtHour: new(5)},
		ByType:      map[string]ResetRule{"dm": {Mode: "idle"}, "group": {Mode: "idle", IdleMinutes: 20}, "thread": {IdleMinutes: 7}},
		ByChannel:   map[string]ResetRule{"slack": {Mode: "daily", AtHour: new(99)}},
		IdleMinutes: 45,
	}
	tests := []struct {
		name, key string
		e         Entry
		c         ResetConfig
		want      Policy
	}{
		{"dm", "agent:main:main", Entry{}, c, Policy{"idle", 5, 45}},
		{"direct is dm", "agent:main:main", Entry{}, ResetConfig{ByType: map[string]ResetRule{"direct": {Mode: "idle", IdleMinutes: 3}}}, Policy{"idle", 4, 3}},
		{"group", "agent:main:x:group:1", Entry{}, c, Policy{"idle", 5, 20}},
		{"group by chat type", "agent:main:x", Entry{ChatType: "channel"}, c, Policy{"idle", 5, 20}},
		{"thread", "agent:main:x:group:1:thread:2", Entry{}, c, Policy{"daily", 5, 7}},
		{"thread by field", "agent:main:x", Entry{LastThreadID: "2"}, c, Policy{"daily", 5, 7}},
		{"channel", "agent:main:x:group:1", Entry{Channel: "slack"}, c, Policy{"daily", 23, 45}},
		{"last channel", "agent:main:main", Entry{LastChannel: "slack"}, c, Policy{"daily", 23, 45}},
		{"nothing", "agent:main:main", Entry{}, ResetConfig{}, Policy{"daily", 4, 0}},
		{"legacy", "agent:main:main", Entry{}, ResetConfig{IdleMinutes: 9}, Policy{"idle", 4, 9}},
		{"idle without minutes", "agent:main:main", Entry{}, ResetConfig{Reset: &ResetRule{Mode: "idle"}}, Policy{"idle", 4, 60}},
		{"unknown mode", "agent:main:main", Entry{}, ResetConfig{Reset: &ResetRule{Mode: "weekly"}}, Policy{"daily", 4, 0}},
	}
	for _, tt := range tests {
		if got := tt.c.Policy(tt.key, tt.e); got != tt.want {
			t.Errorf("%s: Policy = %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func fullEntry(t *testing.T) Entry {
	t.Helper()
	var e Entry
	err := e.UnmarshalJSON([]byte(`{"sessionId":"old","updatedAt":5,"sessionFile":"f","systemSent":true,"abortedLastRun":true,"chatType":"group",
"thinkingLevel":"high","verboseLevel":"on","reasoningLevel":"on","elevatedLevel":"full","execHost":"gateway","execSecurity":"full","execAsk":"off",
"execNode":"n","ttsAuto":"always","responseUsage":"full","providerOverride":"p","modelOverride":"m","authProfileOverride":"a",
"authProfileOverrideSource":"user","groupActivation":"always","sendPolicy":"deny","queueMode":"steer","queueDebounceMs":5,"queueCap":6,
"queueDrop":"old","inputTokens":1,"outputTokens":2,"totalTokens":3,"contextTokens":4,"model":"m0","modelProvider":"p0","compactionCount":7,
"memoryFlushAt":8,"memoryFlushCompactionCount":9,"cliSessionIds":{"a":"b"},"claudeCliSessionId":"c","label":"L","displayName":"D","channel":"slack",
"groupId":"g","subject":"s","origin":{"label":"o"},"deliveryContext":{"channel":"slack"},"lastChannel":"slack","lastTo":"t","lastAccountId":"acc",
"spawnedBy":"agent:main:main","skillsSnapshot":{"prompt":"x"},"systemPromptReport":{"source":"run"},"future":1}`))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func fieldsOf(t *testing.T, e Entry) map[string]any {
	t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// The rules of a new session under the same key.
func TestRenew(t *testing.T) {
	old := fullEntry(t)
	before := fieldsOf(t, old)
	got := fieldsOf(t, old.Renew("new", "", time.UnixMilli(100)))
	want := map[string]any{"sessionId": "new", "updatedAt": 100.0, "systemSent": false, "abortedLastRun": false, "compactionCount": 0.0}
	for _, kept := range []string{"chatType", "elevatedLevel", "execHost", "execSecurity", "execAsk", "execNode", "authProfileOverride",
		"authProfileOverrideSource", "groupActivation", "label", "spawnedBy", "future", "displayName", "channel", "groupId", "subject",
		"origin", "deliveryContext", "lastChannel", "lastTo", "lastAccountId", "contextTokens", "model", "modelProvider"} {
		want[kept] = before[kept]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Renew (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, fieldsOf(t, old)); diff != "" {
		t.Errorf("Renew changed the old entry:\n%s", diff)
	}
}

// The rules of sessions.reset, with the recorded answer for an entry that was not
// there.
func TestReset(t *testing.T) {
	old := fullEntry(t)
	before := fieldsOf(t, old)
	got := fieldsOf(t, old.Reset("new", time.UnixMilli(100)))
	want := map[string]any{"sessionId": "new", "updatedAt": 100.0, "systemSent": false, "abortedLastRun": false,
		"inputTokens": 0.0, "outputTokens": 0.0, "totalTokens": 0.0}
	for _, kept := range []string{"thinkingLevel", "verboseLevel", "reasoningLevel", "responseUsage", "model", "contextTokens", "sendPolicy",
		"label", "displayName", "origin", "deliveryContext", "lastChannel", "lastTo", "lastAccountId", "skillsSnapshot",
		"chatType", "channel", "groupId", "subject", "spawnedBy", "future"} {
		want[kept] = before[kept]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Reset (-want +got):\n%s", diff)
	}
	raw, _ := json.Marshal(Entry{}.Reset("<uuid-21>", time.UnixMilli(1767225600873)))
	recorded := `{"sessionId":"<uuid-21>","updatedAt":1767225600873,"systemSent":false,"abortedLastRun":false,"inputTokens":0,"outputTokens":0,"totalTokens":0}`
	var a, b any
	if json.Unmarshal(raw, &a) != nil || json.Unmarshal([]byte(recorded), &b) != nil || !cmp.Equal(a, b) {
		t.Errorf("Reset of nothing = %s, want %s", raw, recorded)
	}
}

package session

import (
	"time"

	"openclaw/internal/chat"
)

// ResetRule says when a session goes stale. Unset fields come from the next rule.
type ResetRule struct {
	Mode        string // daily or idle
	AtHour      *int   // local hour of the daily reset, 0 to 23; default 4
	IdleMinutes int    // zero is unset
}

// ResetConfig is the reset part of the session configuration.
// See docs/runtime.md#session-freshness.
type ResetConfig struct {
	Reset       *ResetRule
	ByType      map[string]ResetRule // dm (or direct), group, thread
	ByChannel   map[string]ResetRule
	IdleMinutes int // the old key session.idleMinutes
}

// Policy is the rule that holds for one session.
type Policy struct {
	Mode        string // daily or idle
	AtHour      int
	IdleMinutes int // zero: none
}

// Policy returns what holds for the session of key.
func (c ResetConfig) Policy(key string, e Entry) Policy {
	var rules []ResetRule
	channel := e.Channel
	if channel == "" {
		channel = e.LastChannel
	}
	if r, ok := c.ByChannel[channel]; ok && channel != "" {
		rules = append(rules, r)
	} else {
		for _, name := range resetTypes(key, e) {
			if r, ok := c.ByType[name]; ok {
				rules = append(rules, r)
				break
			}
		}
		if c.Reset != nil {
			rules = append(rules, *c.Reset)
		}
	}
	p := Policy{AtHour: 4, IdleMinutes: c.IdleMinutes}
	for i := len(rules) - 1; i >= 0; i-- {
		r := rules[i]
		if r.Mode != "" {
			p.Mode = r.Mode
		}
		if r.AtHour != nil {
			p.AtHour = min(max(*r.AtHour, 0), 23)
		}
		if r.IdleMinutes > 0 {
			p.IdleMinutes = r.IdleMinutes
		}
	}
	if p.Mode != "daily" && p.Mode != "idle" {
		p.Mode = "daily"
		if c.Reset == nil && len(c.ByType) == 0 && len(rules) == 0 && c.IdleMinutes > 0 {
			p.Mode = "idle"
		}
	}
	if p.Mode == "idle" && p.IdleMinutes <= 0 {
		p.IdleMinutes = 60
	}
	return p
}

// resetTypes names the kind of the session, in the words the configuration uses.
func resetTypes(key string, e Entry) []string {
	switch {
	case chat.IsThread(key) || e.LastThreadID != "" || e.DeliveryContext != nil && e.DeliveryContext.ThreadID != "":
		return []string{"thread"}
	case chat.KeyKind(key, e.ChatType) == chat.KindGroup:
		return []string{"group"}
	}
	return []string{"dm", "direct"}
}

// Fresh reports whether the session goes on at now, whose location is the
// gateway's. An entry that does not exist is not fresh.
func (p Policy) Fresh(e Entry, now time.Time) bool {
	if e.SessionID == "" || e.UpdatedAt <= 0 {
		return false
	}
	at := time.UnixMilli(e.UpdatedAt)
	if p.Mode == "daily" && at.Before(lastReset(now, p.AtHour)) {
		return false
	}
	return p.IdleMinutes <= 0 || !now.After(at.Add(time.Duration(p.IdleMinutes)*time.Minute))
}

// Fresh reports whether the session of key goes on at now under c.
func Fresh(c ResetConfig, key string, e Entry, now time.Time) bool {
	return c.Policy(key, e).Fresh(e, now)
}

// lastReset is the latest moment at which a day's reset was due.
func lastReset(now time.Time, hour int) time.Time {
	y, m, d := now.Date()
	if today := clockReads(y, m, d, hour, now.Location()); !now.Before(today) {
		return today
	}
	return clockReads(y, m, d-1, hour, now.Location())
}

// clockReads is when the local clock reads hour:00 on a day; where the clock skips
// it, the moment it is moved.
func clockReads(y int, m time.Month, d, hour int, loc *time.Location) time.Time {
	t := time.Date(y, m, d, hour, 0, 0, 0, loc)
	_, offset := t.Zone()
	got := t.Add(time.Duration(offset) * time.Second) // the clock's reading, as if it were UTC
	want := time.Date(y, m, d, hour, 0, 0, 0, time.UTC)
	start, end := t.ZoneBounds()
	switch {
	case got.Before(want):
		return end
	case got.After(want):
		return start
	}
	return t
}

// Renew returns the entry that begins a new session under the same key, because
// the old one is stale or the user asked. Choices that belong to the conversation
// are dropped, those that belong to the place are kept. Group and delivery fields
// are kept too; the caller overwrites them from the message. UpdatedAt is now.
func (e Entry) Renew(sessionID, sessionFile string, now time.Time) Entry {
	n := e.Clone()
	n.SessionID, n.SessionFile, n.UpdatedAt = sessionID, sessionFile, now.UnixMilli()
	n.SystemSent, n.AbortedLastRun = new(false), new(false)
	n.CompactionCount, n.MemoryFlushAt, n.MemoryFlushCompactions = new(0), nil, nil
	n.ThinkingLevel, n.VerboseLevel, n.ReasoningLevel, n.TTSAuto, n.ResponseUsage = "", "", "", "", ""
	n.ProviderOverride, n.ModelOverride, n.SendPolicy = "", "", ""
	n.QueueMode, n.QueueDrop, n.QueueDebounceMs, n.QueueCap = "", "", nil, nil
	// Of the old conversation; left behind they would flush memory for nothing or
	// resume the wrong conversation of a command line agent.
	n.InputTokens, n.OutputTokens, n.TotalTokens = nil, nil, nil
	n.CLISessionIDs, n.ClaudeCLISessionID = nil, ""
	n.SkillsSnapshot, n.SystemPromptReport = nil, nil
	return n
}

// Reset returns the entry that sessions.reset leaves: a new session that keeps
// levels, model label, send policy, label, origin and last route, with counters at
// zero. See docs/protocol.md#sessions-reset.
func (e Entry) Reset(sessionID string, now time.Time) Entry {
	old := e.Clone()
	return Entry{
		SessionID: sessionID, UpdatedAt: now.UnixMilli(),
		SystemSent: new(false), AbortedLastRun: new(false),
		ThinkingLevel: old.ThinkingLevel, VerboseLevel: old.VerboseLevel, ReasoningLevel: old.ReasoningLevel,
		ResponseUsage: old.ResponseUsage, Model: old.Model, ContextTokens: old.ContextTokens,
		SendPolicy: old.SendPolicy, Label: old.Label, DisplayName: old.DisplayName,
		Origin: old.Origin, DeliveryContext: old.DeliveryContext,
		LastChannel: old.LastChannel, LastTo: old.LastTo, LastAccountID: old.LastAccountID, LastThreadID: old.LastThreadID,
		// What the session is does not change with a reset.
		ChatType: old.ChatType, Channel: old.Channel, GroupID: old.GroupID, Subject: old.Subject,
		GroupChannel: old.GroupChannel, Space: old.Space, SpawnedBy: old.SpawnedBy,
		SkillsSnapshot: old.SkillsSnapshot, Extra: old.Extra,
		InputTokens: new(0), OutputTokens: new(0), TotalTokens: new(0),
	}
}

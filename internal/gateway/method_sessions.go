package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"openclaw/internal/chat"
	"openclaw/internal/session"
	"openclaw/protocol"
)

const (
	// titleLen bounds titles and previews made from messages, in characters.
	titleLen   = 60
	previewLen = 120
)

// agentItem is a session and the agent it belongs to.
type agentItem struct {
	agent string
	store *session.Store
	session.Item
}

// allSessions returns the sessions of the given agents, newest first.
func (g *Gateway) allSessions(agents []string) ([]agentItem, error) {
	var items []agentItem
	for _, id := range agents {
		store, err := g.cfg.Sessions(id)
		if err != nil {
			return nil, err
		}
		list := store.List()
		items = slices.Grow(items, len(list))
		for _, it := range list {
			items = append(items, agentItem{agent: id, store: store, Item: it})
		}
	}
	if len(agents) > 1 {
		slices.SortStableFunc(items, func(a, b agentItem) int { return cmp.Compare(b.Entry.UpdatedAt, a.Entry.UpdatedAt) })
	}
	return items, nil
}

func (g *Gateway) sessionsList(_ context.Context, _ *request, p *protocol.SessionsListParams) (any, error) {
	s := g.settings()
	agents := s.agentIDs()
	if p.AgentID != "" {
		agents = []string{chat.NormalizeAgentID(p.AgentID)}
	}
	items, err := g.allSessions(agents)
	if err != nil {
		return nil, err
	}
	result := protocol.SessionsListResult{
		Ts: time.Now().UnixMilli(), Path: "(multiple)", Sessions: []protocol.SessionRow{}, Defaults: g.modelDefaults(),
	}
	keep := newSessionFilter(p)
	for _, it := range items {
		if p.Limit != nil && len(result.Sessions) >= *p.Limit {
			break
		}
		if !keep.includes(it.Key, it.Entry) {
			continue
		}
		row := sessionRow(it.Key, it.Entry, result.Defaults)
		if p.IncludeDerivedTitles {
			row.DerivedTitle = derivedTitle(it)
		}
		if p.IncludeLastMessage {
			row.LastMessagePreview = lastMessage(it)
		}
		result.Sessions = append(result.Sessions, row)
	}
	result.Count = len(result.Sessions)
	return result, nil
}

// sessionFilter is what a sessions.list asks for.
type sessionFilter struct {
	p      *protocol.SessionsListParams
	search string
	since  int64
}

func newSessionFilter(p *protocol.SessionsListParams) sessionFilter {
	f := sessionFilter{p: p, search: strings.ToLower(strings.TrimSpace(p.Search))}
	if p.ActiveMinutes != nil {
		f.since = time.Now().Add(-time.Duration(*p.ActiveMinutes) * time.Minute).UnixMilli()
	}
	return f
}

func (f sessionFilter) includes(key string, e *session.Entry) bool {
	switch {
	case key == chat.GlobalKey && !f.p.IncludeGlobal,
		key == chat.UnknownKey && !f.p.IncludeUnknown,
		f.p.SpawnedBy != "" && e.SpawnedBy != f.p.SpawnedBy,
		f.p.Label != "" && e.Label != f.p.Label,
		e.UpdatedAt < f.since:
		return false
	case f.search == "":
		return true
	}
	for _, s := range []string{displayName(e), e.Label, e.Subject, e.SessionID, key} {
		if strings.Contains(strings.ToLower(s), f.search) {
			return true
		}
	}
	return false
}

// sessionRow is a session as lists show it.
func sessionRow(key string, e *session.Entry, defaults protocol.SessionModelDefault) protocol.SessionRow {
	row := protocol.SessionRow{
		Key: key, Kind: string(chat.KeyKind(key, e.ChatType)), Label: e.Label, DisplayName: displayName(e),
		Channel: e.Channel, Subject: e.Subject, GroupChannel: e.GroupChannel, Space: e.Space, ChatType: e.ChatType,
		SessionID: e.SessionID, SystemSent: e.SystemSent, AbortedLastRun: e.AbortedLastRun,
		ThinkingLevel: e.ThinkingLevel, VerboseLevel: e.VerboseLevel, ReasoningLevel: e.ReasoningLevel,
		ElevatedLevel: e.ElevatedLevel, SendPolicy: e.SendPolicy, ResponseUsage: e.ResponseUsage,
		InputTokens: wide(e.InputTokens), OutputTokens: wide(e.OutputTokens), TotalTokens: totalTokens(e),
		LastChannel: e.LastChannel, LastTo: e.LastTo, LastAccountID: e.LastAccountID,
		ContextTokens: wide(cmp.Or(e.ContextTokens, defaults.ContextTokens)),
	}
	row.ModelProvider, row.Model = sessionModel(e, defaults)
	if e.UpdatedAt != 0 {
		row.UpdatedAt = &e.UpdatedAt
	}
	if e.Origin != nil {
		row.Origin = rawJSON(e.Origin)
	}
	if e.DeliveryContext != nil {
		row.DeliveryContext = rawJSON(e.DeliveryContext)
	}
	return row
}

// sessionModel is what the session used last, else what was chosen for it, else
// the default.
func sessionModel(e *session.Entry, d protocol.SessionModelDefault) (provider, id string) {
	switch {
	case e.ModelOverride != "":
		return cmp.Or(e.ProviderOverride, e.ModelProvider, deref(d.ModelProvider)), e.ModelOverride
	case e.Model != "":
		return e.ModelProvider, e.Model
	}
	return deref(d.ModelProvider), deref(d.Model)
}

// displayName is what people call a session.
func displayName(e *session.Entry) string {
	name := cmp.Or(e.DisplayName, e.Label)
	if name == "" && e.Origin != nil {
		name = e.Origin.Label
	}
	return name
}

// totalTokens is the size of the last prompt, or what is known of it.
func totalTokens(e *session.Entry) int64 {
	if e.TotalTokens != nil {
		return int64(*e.TotalTokens)
	}
	return deref(wide(e.InputTokens)) + deref(wide(e.OutputTokens))
}

// derivedTitle names a session after what is known of it or was said first.
func derivedTitle(it agentItem) string {
	if name := cmp.Or(it.Entry.DisplayName, it.Entry.Subject); name != "" {
		return name
	}
	if text := it.store.First(it.Entry); text != "" {
		return shorten(text, titleLen)
	}
	if it.Entry.SessionID == "" {
		return ""
	}
	id := it.Entry.SessionID
	return id[:min(8, len(id))] + " (" + time.UnixMilli(it.Entry.UpdatedAt).UTC().Format(time.DateOnly) + ")"
}

// lastMessage is a preview of what was said last.
func lastMessage(it agentItem) string { return shorten(it.store.Last(it.Entry), previewLen) }

// shorten makes one line of at most n characters.
func shorten(s string, n int) string {
	var line strings.Builder
	line.Grow(min(len(s), 4*n))
	left := n // characters that still fit
	for word := range strings.FieldsSeq(s) {
		if line.Len() > 0 {
			word = " " + word
		}
		if left -= utf8.RuneCountInString(word); left < 0 {
			return cutAt(line.String()+word, n-1) + "…"
		}
		line.WriteString(word)
	}
	return line.String()
}

// cutAt returns the first n characters of s.
func cutAt(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// modelDefaults is the model of sessions without a choice of their own.
func (g *Gateway) modelDefaults() protocol.SessionModelDefault {
	ref := g.cfg.Models.Default()
	d := protocol.SessionModelDefault{ModelProvider: &ref.Provider, Model: &ref.ID}
	if info, err := g.cfg.Models.Lookup(ref); err == nil {
		d.ContextTokens = &info.ContextWindow
	}
	return d
}

func rawJSON(v any) json.RawMessage {
	data, err := marshal(v)
	if err != nil {
		return nil // session entries always encode
	}
	return data
}

func wide(p *int) *int64 {
	if p == nil {
		return nil
	}
	return new(int64(*p))
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

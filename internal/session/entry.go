package session

import (
	"encoding/json"
	"maps"
)

// Entry is what the index knows about one session. Its JSON form is the entry of
// sessions.json; fields this program does not know are kept in Extra and written
// back. Optional numbers and flags are pointers because their absence is visible
// to clients. See docs/runtime.md#session-entries.
type Entry struct {
	SessionID   string // names the transcript
	UpdatedAt   int64  // Unix milliseconds
	SessionFile string // transcript path; empty means derived from SessionID

	SystemSent     *bool
	AbortedLastRun *bool
	ChatType       string // direct, group or channel

	// Levels the user chose for this session; empty means the default.
	ThinkingLevel, VerboseLevel, ReasoningLevel, ElevatedLevel string
	ExecHost, ExecSecurity, ExecAsk, ExecNode                  string
	TTSAuto                                                    string
	ResponseUsage                                              string // off, tokens or full

	ProviderOverride, ModelOverride string
	AuthProfileOverride             string
	AuthProfileOverrideSource       string // auto or user
	AuthProfileOverrideCompactions  *int

	GroupActivation             string // mention or always
	GroupActivationNeedsIntro   *bool
	SendPolicy                  string // allow or deny
	QueueMode, QueueDrop        string
	QueueDebounceMs, QueueCap   *int
	InputTokens, OutputTokens   *int
	TotalTokens                 *int // size of the last prompt, not a sum
	ContextTokens               *int // window of the last model
	Model, ModelProvider        string
	CompactionCount             *int
	MemoryFlushAt               *int64
	MemoryFlushCompactions      *int
	CLISessionIDs               map[string]string
	ClaudeCLISessionID          string
	Label                       string // unique in its store, at most 64 characters
	DisplayName                 string
	Channel, GroupID, Subject   string
	GroupChannel, Space         string
	Origin                      *Origin
	DeliveryContext             *Route
	LastChannel, LastTo         string
	LastAccountID, LastThreadID string
	SpawnedBy                   string
	SkillsSnapshot              json.RawMessage
	SystemPromptReport          json.RawMessage
	LastHeartbeatText           string
	LastHeartbeatSentAt         *int64

	// Extra holds fields of other programs and fields whose value has a type we
	// do not expect. Keys of fields above are ignored when the field is set.
	Extra map[string]json.RawMessage
}

// Origin says where a session came from.
type Origin struct {
	Label, Provider, Surface, ChatType string
	From, To, AccountID, ThreadID      string
	Extra                              map[string]json.RawMessage
}

// Route is where replies of a session go.
type Route struct {
	Channel, To, AccountID, ThreadID string
	Extra                            map[string]json.RawMessage
}

// field names one JSON field of T and gives the place to keep it. The pointer
// types that decode and encode understand are listed in set and value.
type field[T any] struct {
	name string
	at   func(*T) any
	few  bool // a string with few different values, kept once in memory
}

// Positions of the two big fields, which stay on disk while nobody needs them.
var bigFields = [...]string{"skillsSnapshot", "systemPromptReport"}

func (e *Entry) big(i int) *json.RawMessage {
	if i == 0 {
		return &e.SkillsSnapshot
	}
	return &e.SystemPromptReport
}

var entryFields = newTable([]field[Entry]{
	{"sessionId", func(e *Entry) any { return &e.SessionID }, false},
	{"updatedAt", func(e *Entry) any { return &e.UpdatedAt }, false},
	{"sessionFile", func(e *Entry) any { return &e.SessionFile }, false},
	{"systemSent", func(e *Entry) any { return &e.SystemSent }, false},
	{"abortedLastRun", func(e *Entry) any { return &e.AbortedLastRun }, false},
	{"chatType", func(e *Entry) any { return &e.ChatType }, true},
	{"thinkingLevel", func(e *Entry) any { return &e.ThinkingLevel }, true},
	{"verboseLevel", func(e *Entry) any { return &e.VerboseLevel }, true},
	{"reasoningLevel", func(e *Entry) any { return &e.ReasoningLevel }, true},
	{"elevatedLevel", func(e *Entry) any { return &e.ElevatedLevel }, true},
	{"execHost", func(e *Entry) any { return &e.ExecHost }, true},
	{"execSecurity", func(e *Entry) any { return &e.ExecSecurity }, true},
	{"execAsk", func(e *Entry) any { return &e.ExecAsk }, true},
	{"execNode", func(e *Entry) any { return &e.ExecNode }, true},
	{"ttsAuto", func(e *Entry) any { return &e.TTSAuto }, true},
	{"responseUsage", func(e *Entry) any { return &e.ResponseUsage }, true},
	{"providerOverride", func(e *Entry) any { return &e.ProviderOverride }, true},
	{"modelOverride", func(e *Entry) any { return &e.ModelOverride }, true},
	{"authProfileOverride", func(e *Entry) any { return &e.AuthProfileOverride }, true},
	{"authProfileOverrideSource", func(e *Entry) any { return &e.AuthProfileOverrideSource }, true},
	{"authProfileOverrideCompactionCount", func(e *Entry) any { return &e.AuthProfileOverrideCompactions }, false},
	{"groupActivation", func(e *Entry) any { return &e.GroupActivation }, true},
	{"groupActivationNeedsSystemIntro", func(e *Entry) any { return &e.GroupActivationNeedsIntro }, false},
	{"sendPolicy", func(e *Entry) any { return &e.SendPolicy }, true},
	{"queueMode", func(e *Entry) any { return &e.QueueMode }, true},
	{"queueDebounceMs", func(e *Entry) any { return &e.QueueDebounceMs }, false},
	{"queueCap", func(e *Entry) any { return &e.QueueCap }, false},
	{"queueDrop", func(e *Entry) any { return &e.QueueDrop }, true},
	{"inputTokens", func(e *Entry) any { return &e.InputTokens }, false},
	{"outputTokens", func(e *Entry) any { return &e.OutputTokens }, false},
	{"totalTokens", func(e *Entry) any { return &e.TotalTokens }, false},
	{"contextTokens", func(e *Entry) any { return &e.ContextTokens }, false},
	{"model", func(e *Entry) any { return &e.Model }, true},
	{"modelProvider", func(e *Entry) any { return &e.ModelProvider }, true},
	{"compactionCount", func(e *Entry) any { return &e.CompactionCount }, false},
	{"memoryFlushAt", func(e *Entry) any { return &e.MemoryFlushAt }, false},
	{"memoryFlushCompactionCount", func(e *Entry) any { return &e.MemoryFlushCompactions }, false},
	{"cliSessionIds", func(e *Entry) any { return &e.CLISessionIDs }, false},
	{"claudeCliSessionId", func(e *Entry) any { return &e.ClaudeCLISessionID }, false},
	{"label", func(e *Entry) any { return &e.Label }, false},
	{"displayName", func(e *Entry) any { return &e.DisplayName }, false},
	{"channel", func(e *Entry) any { return &e.Channel }, true},
	{"groupId", func(e *Entry) any { return &e.GroupID }, false},
	{"subject", func(e *Entry) any { return &e.Subject }, false},
	{"groupChannel", func(e *Entry) any { return &e.GroupChannel }, false},
	{"space", func(e *Entry) any { return &e.Space }, false},
	{"origin", func(e *Entry) any { return &e.Origin }, false},
	{"deliveryContext", func(e *Entry) any { return &e.DeliveryContext }, false},
	{"lastChannel", func(e *Entry) any { return &e.LastChannel }, true},
	{"lastTo", func(e *Entry) any { return &e.LastTo }, false},
	{"lastAccountId", func(e *Entry) any { return &e.LastAccountID }, true},
	{"lastThreadId", func(e *Entry) any { return &e.LastThreadID }, false},
	{"spawnedBy", func(e *Entry) any { return &e.SpawnedBy }, true},
	{"skillsSnapshot", func(e *Entry) any { return &e.SkillsSnapshot }, false},
	{"systemPromptReport", func(e *Entry) any { return &e.SystemPromptReport }, false},
	{"lastHeartbeatText", func(e *Entry) any { return &e.LastHeartbeatText }, false},
	{"lastHeartbeatSentAt", func(e *Entry) any { return &e.LastHeartbeatSentAt }, false},
})

var originFields = newTable([]field[Origin]{
	{"label", func(o *Origin) any { return &o.Label }, false},
	{"provider", func(o *Origin) any { return &o.Provider }, true},
	{"surface", func(o *Origin) any { return &o.Surface }, true},
	{"chatType", func(o *Origin) any { return &o.ChatType }, true},
	{"from", func(o *Origin) any { return &o.From }, false},
	{"to", func(o *Origin) any { return &o.To }, false},
	{"accountId", func(o *Origin) any { return &o.AccountID }, true},
	{"threadId", func(o *Origin) any { return &o.ThreadID }, false},
})

var routeFields = newTable([]field[Route]{
	{"channel", func(r *Route) any { return &r.Channel }, true},
	{"to", func(r *Route) any { return &r.To }, false},
	{"accountId", func(r *Route) any { return &r.AccountID }, true},
	{"threadId", func(r *Route) any { return &r.ThreadID }, false},
})

// renamed are field names of old files.
var renamed = map[string]string{"provider": "channel", "lastProvider": "lastChannel", "room": "groupChannel"}

// UnmarshalJSON reads an entry leniently: a value of an unexpected type is kept
// in Extra instead of failing, names of old files are understood.
func (e *Entry) UnmarshalJSON(data []byte) error { return e.read(data, nil) }

func (e *Entry) read(data []byte, take func(name string, raw []byte) bool) error {
	*e = Entry{}
	if err := decode(data, entryFields, e, &e.Extra, take); err != nil {
		return err
	}
	for old, now := range renamed {
		raw, ok := e.Extra[old]
		if !ok {
			continue
		}
		f := entryFields.byName[now]
		if p, isString := entryFields.list[f].at(e).(*string); isString && *p == "" && set(p, raw, true) {
			delete(e.Extra, old)
		}
	}
	if e.ChatType == "room" {
		e.ChatType = "channel"
	}
	if e.ResponseUsage == "on" {
		e.ResponseUsage = "tokens"
	}
	if len(e.Extra) == 0 {
		e.Extra = nil
	}
	return nil
}

// MarshalJSON writes the entry as sessions.json has it, unset fields left out.
func (e Entry) MarshalJSON() ([]byte, error) { return encode(entryFields, &e, e.Extra) }

// UnmarshalJSON reads an origin as leniently as an entry.
func (o *Origin) UnmarshalJSON(data []byte) error {
	*o = Origin{}
	return decode(data, originFields, o, &o.Extra, nil)
}

// MarshalJSON writes the fields that are set.
func (o Origin) MarshalJSON() ([]byte, error) { return encode(originFields, &o, o.Extra) }

// UnmarshalJSON reads a route as leniently as an entry.
func (r *Route) UnmarshalJSON(data []byte) error {
	*r = Route{}
	return decode(data, routeFields, r, &r.Extra, nil)
}

// MarshalJSON writes the fields that are set.
func (r Route) MarshalJSON() ([]byte, error) { return encode(routeFields, &r, r.Extra) }

// Clone returns a copy that shares nothing a caller could change.
func (e Entry) Clone() Entry {
	for _, p := range []**bool{&e.SystemSent, &e.AbortedLastRun, &e.GroupActivationNeedsIntro} {
		*p = copied(*p)
	}
	for _, p := range []**int{&e.AuthProfileOverrideCompactions, &e.QueueDebounceMs, &e.QueueCap, &e.InputTokens,
		&e.OutputTokens, &e.TotalTokens, &e.ContextTokens, &e.CompactionCount, &e.MemoryFlushCompactions} {
		*p = copied(*p)
	}
	e.MemoryFlushAt, e.LastHeartbeatSentAt = copied(e.MemoryFlushAt), copied(e.LastHeartbeatSentAt)
	e.Origin, e.DeliveryContext = copied(e.Origin), copied(e.DeliveryContext)
	if e.Origin != nil {
		e.Origin.Extra = maps.Clone(e.Origin.Extra)
	}
	if e.DeliveryContext != nil {
		e.DeliveryContext.Extra = maps.Clone(e.DeliveryContext.Extra)
	}
	e.CLISessionIDs = maps.Clone(e.CLISessionIDs)
	e.Extra = maps.Clone(e.Extra)
	return e
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

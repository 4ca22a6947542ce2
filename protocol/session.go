package protocol

import "encoding/json"

// SessionsListParams filters the list of sessions.
type SessionsListParams struct {
	Limit                *int   `json:"limit,omitempty" schema:"min=1"`
	ActiveMinutes        *int   `json:"activeMinutes,omitempty" schema:"min=1"`
	IncludeGlobal        bool   `json:"includeGlobal,omitempty"`
	IncludeUnknown       bool   `json:"includeUnknown,omitempty"`
	IncludeDerivedTitles bool   `json:"includeDerivedTitles,omitempty"`
	IncludeLastMessage   bool   `json:"includeLastMessage,omitempty"`
	Label                string `json:"label,omitempty" schema:"minLength=1,maxLength=64"`
	SpawnedBy            string `json:"spawnedBy,omitempty" schema:"minLength=1"`
	AgentID              string `json:"agentId,omitempty" schema:"minLength=1"`
	Search               string `json:"search,omitempty"`
}

// SessionsListResult lists sessions, newest first.
type SessionsListResult struct {
	Ts int64 `json:"ts"`
	// Path is the store's path, or "(multiple)".
	Path     string              `json:"path"`
	Count    int                 `json:"count"`
	Defaults SessionModelDefault `json:"defaults"`
	Sessions []SessionRow        `json:"sessions"`
}

// SessionModelDefault is what a session without a choice of its own uses.
type SessionModelDefault struct {
	ModelProvider *string `json:"modelProvider"`
	Model         *string `json:"model"`
	ContextTokens *int    `json:"contextTokens"`
}

// SessionRow is one session of a list.
type SessionRow struct {
	Key                string          `json:"key"`
	Kind               string          `json:"kind" schema:"enum=direct|group|global|unknown"`
	Label              string          `json:"label,omitempty"`
	DisplayName        string          `json:"displayName,omitempty"`
	DerivedTitle       string          `json:"derivedTitle,omitempty"`
	LastMessagePreview string          `json:"lastMessagePreview,omitempty"`
	Channel            string          `json:"channel,omitempty"`
	Subject            string          `json:"subject,omitempty"`
	GroupChannel       string          `json:"groupChannel,omitempty"`
	Space              string          `json:"space,omitempty"`
	ChatType           string          `json:"chatType,omitempty"`
	Origin             json.RawMessage `json:"origin,omitempty"`
	UpdatedAt          *int64          `json:"updatedAt"`
	SessionID          string          `json:"sessionId,omitempty"`
	SystemSent         *bool           `json:"systemSent,omitempty"`
	AbortedLastRun     *bool           `json:"abortedLastRun,omitempty"`
	ThinkingLevel      string          `json:"thinkingLevel,omitempty"`
	VerboseLevel       string          `json:"verboseLevel,omitempty"`
	ReasoningLevel     string          `json:"reasoningLevel,omitempty"`
	ElevatedLevel      string          `json:"elevatedLevel,omitempty"`
	SendPolicy         string          `json:"sendPolicy,omitempty"`
	InputTokens        *int64          `json:"inputTokens,omitempty"`
	OutputTokens       *int64          `json:"outputTokens,omitempty"`
	TotalTokens        int64           `json:"totalTokens"`
	ResponseUsage      string          `json:"responseUsage,omitempty"`
	ModelProvider      string          `json:"modelProvider,omitempty"`
	Model              string          `json:"model,omitempty"`
	ContextTokens      *int64          `json:"contextTokens,omitempty"`
	DeliveryContext    json.RawMessage `json:"deliveryContext,omitempty"`
	LastChannel        string          `json:"lastChannel,omitempty"`
	LastTo             string          `json:"lastTo,omitempty"`
	LastAccountID      string          `json:"lastAccountId,omitempty"`
}

// SessionsPatchParams changes stored fields of a session; null clears one, an
// absent key leaves it alone. The session is created when missing.
type SessionsPatchParams struct {
	Key             string           `json:"key" schema:"minLength=1"`
	Label           Nullable[string] `json:"label,omitzero" schema:"minLength=1,maxLength=64"`
	ThinkingLevel   Nullable[string] `json:"thinkingLevel,omitzero" schema:"minLength=1"`
	VerboseLevel    Nullable[string] `json:"verboseLevel,omitzero" schema:"minLength=1"`
	ReasoningLevel  Nullable[string] `json:"reasoningLevel,omitzero" schema:"minLength=1"`
	ResponseUsage   Nullable[string] `json:"responseUsage,omitzero" schema:"enum=off|tokens|full|on"`
	ElevatedLevel   Nullable[string] `json:"elevatedLevel,omitzero" schema:"minLength=1"`
	ExecHost        Nullable[string] `json:"execHost,omitzero" schema:"minLength=1"`
	ExecSecurity    Nullable[string] `json:"execSecurity,omitzero" schema:"minLength=1"`
	ExecAsk         Nullable[string] `json:"execAsk,omitzero" schema:"minLength=1"`
	ExecNode        Nullable[string] `json:"execNode,omitzero" schema:"minLength=1"`
	Model           Nullable[string] `json:"model,omitzero" schema:"minLength=1"`
	SpawnedBy       Nullable[string] `json:"spawnedBy,omitzero" schema:"minLength=1"`
	SendPolicy      Nullable[string] `json:"sendPolicy,omitzero" schema:"enum=allow|deny"`
	GroupActivation Nullable[string] `json:"groupActivation,omitzero" schema:"enum=mention|always"`
}

// SessionsPatchResult is the session after the change. Key is canonical, Entry
// is the stored entry as it is.
type SessionsPatchResult struct {
	OK       bool            `json:"ok"`
	Path     string          `json:"path"`
	Key      string          `json:"key"`
	Entry    json.RawMessage `json:"entry"`
	Resolved ResolvedModel   `json:"resolved"`
}

// ResolvedModel is the model that the session will use.
type ResolvedModel struct {
	ModelProvider string `json:"modelProvider"`
	Model         string `json:"model"`
}

// SessionsResetParams starts a session over.
type SessionsResetParams struct {
	Key string `json:"key" schema:"minLength=1"`
}

// SessionsResetResult is the session with its new id.
type SessionsResetResult struct {
	OK    bool            `json:"ok"`
	Key   string          `json:"key"`
	Entry json.RawMessage `json:"entry"`
}

// SessionsPreviewParams asks for the last few lines of sessions. The first 64
// keys are used; Limit nil means 12 items, MaxChars nil means 240.
type SessionsPreviewParams struct {
	Keys     []string `json:"keys" schema:"minItems=1,itemMinLength=1"`
	Limit    *int     `json:"limit,omitempty" schema:"min=1"`
	MaxChars *int     `json:"maxChars,omitempty" schema:"min=20"`
}

// SessionsPreviewResult holds a preview for each key.
type SessionsPreviewResult struct {
	Ts       int64            `json:"ts"`
	Previews []SessionPreview `json:"previews"`
}

// SessionPreview is the end of a conversation.
type SessionPreview struct {
	Key    string        `json:"key"`
	Status string        `json:"status" schema:"enum=ok|empty|missing|error"`
	Items  []PreviewItem `json:"items"`
}

// PreviewItem is one shortened message.
type PreviewItem struct {
	Role string `json:"role" schema:"enum=user|assistant|tool|system|other"`
	Text string `json:"text"`
}

// SessionsResolveParams looks a session up by exactly one of Key, SessionID and Label.
type SessionsResolveParams struct {
	Key            string `json:"key,omitempty" schema:"minLength=1"`
	SessionID      string `json:"sessionId,omitempty" schema:"minLength=1"`
	Label          string `json:"label,omitempty" schema:"minLength=1,maxLength=64"`
	AgentID        string `json:"agentId,omitempty" schema:"minLength=1"`
	SpawnedBy      string `json:"spawnedBy,omitempty" schema:"minLength=1"`
	IncludeGlobal  bool   `json:"includeGlobal,omitempty"`
	IncludeUnknown bool   `json:"includeUnknown,omitempty"`
}

// SessionsResolveResult is the canonical key.
type SessionsResolveResult struct {
	OK  bool   `json:"ok"`
	Key string `json:"key"`
}

// SessionsDeleteParams removes a session. DeleteTranscript nil means true.
type SessionsDeleteParams struct {
	Key              string `json:"key" schema:"minLength=1"`
	DeleteTranscript *bool  `json:"deleteTranscript,omitempty"`
}

// SessionsDeleteResult lists where the transcripts went.
type SessionsDeleteResult struct {
	OK       bool     `json:"ok"`
	Key      string   `json:"key"`
	Deleted  bool     `json:"deleted"`
	Archived []string `json:"archived"`
}

// SessionsCompactParams cuts a transcript to its last lines. MaxLines nil means 400.
type SessionsCompactParams struct {
	Key      string `json:"key" schema:"minLength=1"`
	MaxLines *int   `json:"maxLines,omitempty" schema:"min=1"`
}

// SessionsCompactResult says what was kept, or why nothing was done.
type SessionsCompactResult struct {
	OK        bool   `json:"ok"`
	Key       string `json:"key"`
	Compacted bool   `json:"compacted"`
	Reason    string `json:"reason,omitempty"`
	Archived  string `json:"archived,omitempty"`
	Kept      *int   `json:"kept,omitempty"`
}

package config

// Session is session.
type Session struct {
	Scope         string              `json:"scope"`   // per-sender
	DMScope       string              `json:"dmScope"` // main
	IdentityLinks map[string][]string `json:"identityLinks"`
	ResetTriggers []string            `json:"resetTriggers"` // /new, /reset
	// Reset, ResetByType (dm, group, thread) and ResetByChannel decide when a
	// session ends by itself; nil means not set. IdleMinutes is the old form.
	Reset                 *Reset           `json:"reset"`
	ResetByType           map[string]Reset `json:"resetByType"`
	ResetByChannel        map[string]Reset `json:"resetByChannel"`
	IdleMinutes           int              `json:"idleMinutes"`
	Store                 string           `json:"store"` // see [Config.SessionStore]
	TypingIntervalSeconds int              `json:"typingIntervalSeconds"`
	TypingMode            string           `json:"typingMode"`
	MainKey               string           `json:"mainKey"` // always main
	SendPolicy            SendPolicy       `json:"sendPolicy"`
	AgentToAgent          struct {
		MaxPingPongTurns int `json:"maxPingPongTurns"` // 5
	} `json:"agentToAgent"`
}

// Global reports whether all senders share one session.
func (s Session) Global() bool { return s.Scope == "global" }

// Reset says when a session ends. Nil fields are not set.
type Reset struct {
	Mode        string `json:"mode"` // daily or idle; empty when not set
	AtHour      *int   `json:"atHour"`
	IdleMinutes *int   `json:"idleMinutes"`
}

// SendPolicy decides where replies may go.
type SendPolicy struct {
	Default string     `json:"default"` // allow
	Rules   []SendRule `json:"rules"`
}

// SendRule is one of session.sendPolicy.rules; empty fields of Match match all.
type SendRule struct {
	Action string `json:"action"` // allow or deny
	Match  struct {
		Channel   string `json:"channel"`
		ChatType  string `json:"chatType"`
		KeyPrefix string `json:"keyPrefix"`
	} `json:"match"`
}

// Messages is messages.
type Messages struct {
	MessagePrefix  string         `json:"messagePrefix"`
	ResponsePrefix string         `json:"responsePrefix"`
	GroupChat      GroupChat      `json:"groupChat"`
	Queue          Queue          `json:"queue"`
	Inbound        Inbound        `json:"inbound"`
	AckReaction    *string        `json:"ackReaction"` // nil: the identity's emoji or 👀
	TTS            map[string]any `json:"tts"`         // numbers are float64
	RemoveAck      bool           `json:"removeAckAfterReply"`
	// AckReactionScope is group-mentions, group-all, direct or all.
	AckReactionScope string `json:"ackReactionScope"`
}

// GroupChat is messages.groupChat, or an agent's groupChat.
type GroupChat struct {
	MentionPatterns []string `json:"mentionPatterns"`
	HistoryLimit    int      `json:"historyLimit"` // 50; 0 in an agent: not set
}

// Queue is messages.queue.
type Queue struct {
	Mode                string            `json:"mode"` // empty: collect
	ByChannel           map[string]string `json:"byChannel"`
	DebounceMs          int               `json:"debounceMs"` // 1000
	DebounceMsByChannel map[string]int    `json:"debounceMsByChannel"`
	Cap                 int               `json:"cap"`  // 20
	Drop                string            `json:"drop"` // summarize
}

// Inbound is messages.inbound.
type Inbound struct {
	DebounceMs int            `json:"debounceMs"`
	ByChannel  map[string]int `json:"byChannel"`
}

// Commands is commands.
type Commands struct {
	Native           string   `json:"native"`       // auto, true or false
	NativeSkills     string   `json:"nativeSkills"` // auto, true or false
	Text             bool     `json:"text"`         // true
	Bash             bool     `json:"bash"`
	BashForegroundMs int      `json:"bashForegroundMs"` // 2000
	Config           bool     `json:"config"`
	Debug            bool     `json:"debug"`
	Restart          bool     `json:"restart"`
	UseAccessGroups  bool     `json:"useAccessGroups"` // true
	OwnerAllowFrom   []string `json:"ownerAllowFrom"`
}

func standardSession() (s Session) {
	s.Scope, s.DMScope, s.MainKey = "per-sender", "main", "main"
	s.ResetTriggers = []string{"/new", "/reset"}
	s.SendPolicy.Default = "allow"
	s.AgentToAgent.MaxPingPongTurns = 5
	return s
}

package protocol

// SendParams sends a message to a channel, by default WhatsApp.
type SendParams struct {
	To             string   `json:"to" schema:"minLength=1"`
	Message        string   `json:"message" schema:"minLength=1"`
	MediaURL       string   `json:"mediaUrl,omitempty"`
	MediaURLs      []string `json:"mediaUrls,omitempty"`
	GifPlayback    bool     `json:"gifPlayback,omitempty"`
	Channel        string   `json:"channel,omitempty"`
	AccountID      string   `json:"accountId,omitempty"`
	SessionKey     string   `json:"sessionKey,omitempty"`
	IdempotencyKey string   `json:"idempotencyKey" schema:"minLength=1"`
}

// SendResult names what was sent, in the channel's own ids.
type SendResult struct {
	RunID          string `json:"runId"`
	MessageID      string `json:"messageId"`
	Channel        string `json:"channel"`
	ChatID         string `json:"chatId,omitempty"`
	ChannelID      string `json:"channelId,omitempty"`
	ToJID          string `json:"toJid,omitempty"`
	ConversationID string `json:"conversationId,omitempty"`
}

// PollParams sends a poll to a channel.
type PollParams struct {
	To             string   `json:"to" schema:"minLength=1"`
	Question       string   `json:"question" schema:"minLength=1"`
	Options        []string `json:"options" schema:"minItems=2,maxItems=12,itemMinLength=1"`
	MaxSelections  *int     `json:"maxSelections,omitempty" schema:"min=1,max=12"`
	DurationHours  *int     `json:"durationHours,omitempty" schema:"min=1"`
	Channel        string   `json:"channel,omitempty"`
	AccountID      string   `json:"accountId,omitempty"`
	IdempotencyKey string   `json:"idempotencyKey" schema:"minLength=1"`
}

// PollResult names the poll, in the channel's own ids.
type PollResult struct {
	RunID          string `json:"runId"`
	MessageID      string `json:"messageId"`
	Channel        string `json:"channel"`
	ToJID          string `json:"toJid,omitempty"`
	ChannelID      string `json:"channelId,omitempty"`
	ConversationID string `json:"conversationId,omitempty"`
	PollID         string `json:"pollId,omitempty"`
}

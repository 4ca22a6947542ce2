package relay

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"openclaw/byo"
)

// postChat answers POST /integrations/{id}/chat/messages, from the desktop.
func (c *call) postChat() (answer, error) {
	b, err := c.bond()
	if err != nil {
		return answer{}, err
	}
	data, err := c.body()
	if err != nil {
		return answer{}, err
	}
	var req byo.ChatPost
	if err := decode(data, &req); err != nil {
		return answer{}, err
	}
	if err := req.Validate(); err != nil {
		return answer{}, err
	}
	e, err := byo.ParseEnvelope(req.Content)
	if err != nil {
		return answer{}, errPlaintext
	}
	if b.Scheme == byo.DuplexV2 {
		err = c.checkFrame(b, e)
	} else {
		err = checkLegacy(e)
	}
	if err != nil {
		return answer{}, err
	}
	if err := c.flood(b); err != nil {
		return answer{}, err
	}
	kind := msgChat
	if b.Scheme == byo.DuplexV2 {
		kind = msgFrame
	}
	sum, ctx := digest(data), c.req.Context()
	old, _, err := read[message](ctx, c.store, Messages, inKey(b.ID, kind, req.UserMessageID))
	switch {
	case err == nil && old.Digest != sum:
		return answer{}, byo.Errorf(byo.CodeJobConflict, "another message has this id")
	case err != nil && !errors.Is(err, ErrNotFound):
		return answer{}, err
	}
	status := http.StatusAccepted
	if err == nil {
		status = http.StatusOK
	}
	if kind == msgFrame {
		err = c.forward(b, byo.EventChatFrame, req.UserMessageID, e, sum)
	} else {
		frame := byo.ChatDispatched{
			EventType: byo.EventChatDispatched, UserMessageID: req.UserMessageID, SessionID: req.SessionID, Content: req.Content,
		}
		m := message{ID: req.UserMessageID, Kind: msgChat, Event: byo.EventChatDispatched, Session: req.SessionID, Digest: sum}
		err = c.post(ctx, Topic{ToAssistant, b.ID}, inKey(b.ID, msgChat, req.UserMessageID), m, b.ID, frame)
	}
	if err != nil {
		return answer{}, err
	}
	return answer{status, byo.ChatAccepted{UserMessageID: req.UserMessageID, Status: byo.JobQueued}}, nil
}

// checkLegacy looks at the outside of a static_v1 envelope.
func checkLegacy(e byo.Envelope) error {
	if e.Version != byo.StaticV1 {
		return byo.Errorf(byo.CodeEnvelopeMismatch, "the integration takes static_v1 envelopes only")
	}
	if err := e.CheckShape(); err != nil {
		return byo.Errorf(byo.CodeInvalidEnvelope, "envelope: %v", err)
	}
	return nil
}

// chatReply answers POST /chat/messages/{message}/reply, of a static_v1 peer; one
// reply is taken.
func (c *call) chatReply() (answer, error) {
	b, m, err := c.chatMessage()
	if err != nil {
		return answer{}, err
	}
	data, err := c.body()
	if err != nil {
		return answer{}, err
	}
	var req byo.ChatReply
	if err := decode(data, &req); err != nil {
		return answer{}, err
	}
	if err := req.Validate(); err != nil {
		return answer{}, err
	}
	if req.Status == byo.ReplyCompleted || req.Content != "" {
		e, err := byo.ParseEnvelope(req.Content)
		if err != nil {
			return answer{}, errPlaintext
		}
		if err := checkLegacy(e); err != nil {
			return answer{}, err
		}
	}
	if req.ErrorCode != "" && !failCode.MatchString(req.ErrorCode) {
		return answer{}, byo.Errorf(byo.CodeInvalidRequest, "error_code must be a code")
	}
	ctx, key, sum := c.req.Context(), outKey(b.ID, msgReply, m.ID), digest(data)
	if old, _, err := read[message](ctx, c.store, Messages, key); err == nil && old.Digest != sum {
		return answer{}, byo.Errorf(byo.CodeAlreadyCompleted, "the message has another reply")
	}
	reply := byo.ChatMessage{
		EventType: byo.EventChatMessage, ID: "reply:" + m.ID, IntegrationID: b.ID, UserMessageID: m.ID, SessionID: m.Session,
		Content: req.Content, Status: req.Status, ErrorCode: req.ErrorCode, CreatedAt: byo.FormatTime(c.now()),
	}
	out := message{ID: m.ID, Kind: msgReply, Event: byo.EventChatMessage, Session: m.Session, Digest: sum}
	if err := c.post(ctx, Topic{ToDesktop, b.Desktop}, key, out, b.ID, reply); err != nil {
		return answer{}, err
	}
	if err := c.settle(inKey(b.ID, msgChat, m.ID), req.Status); err != nil {
		return answer{}, err
	}
	return ok(byo.CompletionAnswer{OK: true})
}

// chatMessage returns the message of the path, which must be the caller's.
func (c *call) chatMessage() (bond, message, error) {
	b, err := c.bond()
	if err != nil {
		return b, message{}, err
	}
	m, _, err := read[message](c.req.Context(), c.store, Messages, inKey(b.ID, msgChat, c.path("message")))
	return b, m, err
}

// settle notes that a message needs no delivery any more.
func (c *call) settle(key, state string) error {
	_, err := change(c.req.Context(), c.store, Messages, key, func(m *message, exists bool) error {
		if !exists || m.Done && m.State == state {
			return errKeep
		}
		m.Done, m.State = true, state
		return nil
	})
	return err
}

// streamedReply answers the calls of a reply that streams in clear, which no
// integration of this relay takes.
func (c *call) streamedReply() (answer, error) {
	if _, _, err := c.chatMessage(); err != nil {
		return answer{}, err
	}
	return answer{}, errPlaintext
}

// chatMessages answers GET /integrations/{id}/chat/messages?after=: what the
// assistant said in the last day.
func (c *call) chatMessages() (answer, error) {
	b, err := c.bond()
	if err != nil {
		return answer{}, err
	}
	after := int64(0)
	if text := c.req.URL.Query().Get("after"); text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil {
			return answer{}, byo.Errorf(byo.CodeInvalidRequest, "after must be a cursor of this list")
		}
	}
	entries, err := c.store.List(c.req.Context(), Messages, b.ID+".out.")
	if err != nil {
		return answer{}, err
	}
	var list []message
	for _, e := range entries {
		var m message
		if decode(e.Value, &m) == nil && m.Created > after && c.now().Sub(time.Unix(0, m.Created)) < byo.EventsFor {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b message) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), strings.Compare(a.ID, b.ID))
	})
	page := byo.ChatMessages{Messages: []byo.ChatMessage{}, Cursor: strconv.FormatInt(after, 10)}
	for _, m := range list[:min(len(list), chatPage)] {
		cursor := strconv.FormatInt(m.Created, 10)
		switch m.Kind {
		case msgReply:
			var v byo.ChatMessage
			if decode(m.Data, &v) == nil {
				v.Cursor = cursor
				page.Messages = append(page.Messages, v)
			}
		case msgFrame:
			var v byo.Frame
			if m.Event == byo.EventChatFrame && decode(m.Data, &v) == nil {
				page.Frames = append(page.Frames, v)
			}
		}
		page.Cursor = cursor
	}
	return ok(page)
}

// chatPage is how many messages one answer has at most.
const chatPage = 200

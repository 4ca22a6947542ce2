package desktop

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"time"

	"openclaw/byo"
)

// receiver takes what assistants add to conversations, whichever way it came.
type receiver struct {
	store *Store
	now   func() time.Time
	tell  func(Event)

	mu     sync.Mutex
	probes map[string]chan<- struct{} // by task id: a pairing that waits for its first answer
	busy   map[string]*indicator      // by session id, prefix included
}

// indicator shows that an assistant works.
type indicator struct {
	label string
	timer *time.Timer
}

func newReceiver(store *Store, now func() time.Time, tell func(Event)) *receiver {
	return &receiver{store: store, now: now, tell: tell, probes: map[string]chan<- struct{}{}, busy: map[string]*indicator{}}
}

// expect lets a probe know when something for that task arrives.
func (r *receiver) expect(task string, got chan<- struct{}) (forget func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.probes[task] = got
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.probes, task)
	}
}

func (r *receiver) probed(task, status string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.probes[task]
	if got != nil && (status == byo.StatusMessage || status == byo.StatusCompleted) {
		select {
		case got <- struct{}{}:
		default:
		}
	}
	return got != nil
}

// receive applies a callback that passed Validate. An error means that it could not be
// stored: the sender has to try again.
func (r *receiver) receive(assistant, task string, c *byo.Callback) (byo.CallbackAnswer, error) {
	if r.probed(task, c.Status) {
		return byo.CallbackAnswer{OK: true, Probe: true}, nil
	}
	session, insights := byo.SplitSession(c.SessionID)
	if !r.store.Known(session) {
		return ignored(byo.ReasonSessionEnded), nil
	}
	in := incoming{assistant: assistant, task: task, session: session, tab: TabChat, c: c}
	if insights {
		in.tab = TabInsights
	}
	reason, err := r.apply(&in)
	switch {
	case errors.Is(err, errGone):
		return ignored(byo.ReasonSessionEnded), nil
	case err != nil:
		return byo.CallbackAnswer{}, err
	case reason != "":
		return ignored(reason), nil
	}
	return byo.CallbackAnswer{OK: true}, nil
}

func ignored(reason string) byo.CallbackAnswer {
	return byo.CallbackAnswer{OK: true, Ignored: true, Reason: reason}
}

// incoming is a callback and where it belongs.
type incoming struct {
	assistant, task, session, tab string
	c                             *byo.Callback
}

func (r *receiver) apply(in *incoming) (reason string, err error) {
	switch c := in.c; c.Status {
	case byo.StatusMessage:
		if strings.TrimSpace(c.ReplyText) == "" {
			return byo.ReasonEmptyMessage, nil
		}
		id := c.MessageID
		if id == "" {
			sum := sha256.Sum256([]byte(in.task + "\x00" + c.ReplyText + "\x00" + c.SessionID))
			id = in.task + ":msg:" + hex.EncodeToString(sum[:8])
		}
		return r.add(in, id, byo.ReasonDuplicate)
	case byo.StatusCompleted:
		if strings.TrimSpace(c.ReplyText) == "" {
			r.settled(in.c.SessionID)
			return "", nil
		}
		return r.add(in, in.task, byo.ReasonAlreadyFinalized)
	case byo.StatusSilent:
		r.settled(in.c.SessionID)
		if c.UserMessageID == "" {
			return "", nil
		}
		m, err := r.store.Change(in.session, c.UserMessageID, func(m *Message, known bool) bool {
			if !known || m.Role != RoleUser || m.Status == MessageUnanswered {
				return false
			}
			m.Status = MessageUnanswered
			return true
		})
		if err == nil && m.Role == RoleUser {
			r.tell(Event{Kind: EventMessage, Message: &m})
		}
		return "", err
	case byo.StatusErrored:
		id := c.MessageID
		if id == "" {
			id = in.task + ":err:" + c.ErrorCode
		}
		return r.add(in, id, byo.ReasonDuplicate)
	case byo.StatusTyping, byo.StatusToolCall:
		r.working(in, c.Label)
	case byo.StatusNotice:
		r.working(in, c.ReplyText)
	case byo.StatusStream:
		r.working(in, "")
		if c.Chunk != nil && c.Chunk.Delta != "" && in.tab == TabChat {
			r.tell(Event{Kind: EventDraft, Session: in.session, Text: c.Chunk.Delta, MessageID: c.Chunk.ID})
		}
	}
	return "", nil
}

// add appends what an assistant said, unless it is there.
func (r *receiver) add(in *incoming, id, repeated string) (string, error) {
	fresh := false
	quiet := in.tab == TabInsights && in.c.Status != byo.StatusErrored && nothing(in.c.ReplyText)
	m, err := r.store.Change(in.session, id, func(m *Message, known bool) bool {
		if known {
			return false
		}
		fresh = true
		if quiet {
			return false // there is nothing worth surfacing: not even in the store
		}
		m.Tab, m.Role, m.Content, m.Status = in.tab, RoleAssistant, in.c.ReplyText, MessageReceived
		m.ParentMessageID, m.TaskID, m.AssistantID = in.c.UserMessageID, in.task, in.assistant
		if in.c.Status == byo.StatusErrored {
			m.Status, m.ErrorCode, m.ErrorMessage = MessageErrored, in.c.ErrorCode, in.c.ErrorMessage
		}
		return true
	})
	if err != nil {
		return "", err
	}
	if !fresh {
		return repeated, nil
	}
	r.settled(in.c.SessionID)
	if !quiet {
		r.tell(Event{Kind: EventMessage, Message: &m})
	}
	return "", nil
}

// nothing reports whether an insight says that there is none.
func nothing(text string) bool {
	text = strings.TrimFunc(strings.TrimSpace(text), func(c rune) bool { return strings.ContainsRune("\"'`“”‘’«» \t\n", c) })
	text = strings.TrimRight(text, ".!…")
	text = strings.TrimFunc(text, func(c rune) bool { return strings.ContainsRune("\"'`“”‘’«» \t\n", c) })
	return strings.EqualFold(text, "none")
}

// working shows the indicator and starts its time anew. When nothing comes for long it
// is hidden; whatever comes later is still taken.
func (r *receiver) working(in *incoming, label string) {
	key := in.c.SessionID
	r.mu.Lock()
	b := r.busy[key]
	if b == nil {
		b = &indicator{}
		r.busy[key] = b
		b.timer = time.AfterFunc(byo.InactiveAfter, func() {
			r.mu.Lock()
			still := r.busy[key] == b
			if still {
				delete(r.busy, key)
			}
			r.mu.Unlock()
			if still {
				r.tell(Event{Kind: EventWaiting, Session: in.session, Tab: in.tab})
			}
		})
	} else {
		b.timer.Reset(byo.InactiveAfter)
	}
	if label != "" {
		b.label = label
	}
	ev := Event{Kind: EventTyping, Session: in.session, Tab: in.tab, Text: b.label}
	r.mu.Unlock()
	r.tell(ev)
}

// settled hides the indicator.
func (r *receiver) settled(session string) {
	r.mu.Lock()
	b := r.busy[session]
	delete(r.busy, session)
	r.mu.Unlock()
	id, insights := byo.SplitSession(session)
	if b == nil && !insights {
		return
	}
	if b != nil { // a call waits for the end of an insight turn, shown or not
		b.timer.Stop()
	}
	ev := Event{Kind: EventIdle, Session: id, Tab: TabChat}
	if insights {
		ev.Tab = TabInsights
	}
	r.tell(ev)
}

// stop ends the timers.
func (r *receiver) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, b := range r.busy {
		b.timer.Stop()
		delete(r.busy, key)
	}
}

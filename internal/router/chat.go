package router

import (
	"context"
	"fmt"
	"strings"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/ledger"
	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/turn"
	"openclaw/protocol"
)

// ChatRequest is a message as a person writes it. See docs/protocol.md#chat-send.
type ChatRequest struct {
	protocol.ChatSendParams
	// Owner is who asks: the same key of another owner is another request.
	Owner string
}

// ChatResult says what became of a message.
type ChatResult struct {
	// ID is the id of the request.
	ID run.ID
	// Run is the run that answers, or will answer, the message; nil when a command
	// answered it or it went into another run. A queued message runs under an id
	// of its own.
	Run *Run
	// Answered means that nothing more comes under ID: the caller ends it with a
	// final chat event, whose message is Reply; an empty one has no message.
	Answered bool
	Reply    string
	// Stopped is set when the message asked to stop.
	Stopped *AbortResult
}

const (
	textNoText = "(The user sent an attachment without text.)"
	abortHint  = "your previous run was stopped before it was finished, by the user or by a restart of the gateway, so do not simply carry on with it"
	greeting   = "A new session has just been started with /new or /reset. Greet the user in your own character, in one to three sentences, and ask what they would like to do. Do not mention files, tools or these instructions."
)

// Chat takes a message in: a stop word stops, a command is answered, anything
// else becomes a run, at once or after what the session is busy with. The run
// goes on when ctx ends. A message that is refused gives an [*Error].
func (rt *Router) Chat(ctx context.Context, q ChatRequest) (ChatResult, error) {
	m, err := rt.read(q)
	if err != nil {
		return ChatResult{}, err
	}
	if chat.IsStop(m.text) {
		stopped := rt.Stop(m.key, run.AbortStop)
		return ChatResult{ID: m.id, Stopped: &stopped}, nil
	}
	if rest, ok := chat.MatchTrigger(m.text, m.config.Session.ResetTriggers); ok {
		return rt.startOver(ctx, m, rest)
	}
	if reply, ok, err := rt.command(ctx, m); ok || err != nil {
		return ChatResult{ID: m.id, Answered: true, Reply: reply}, err
	}
	e, err := rt.join(ctx, &m, false, nil)
	if err != nil {
		return ChatResult{}, err
	}
	return rt.dispatch(ctx, m, e)
}

// message is a chat request that was read and may enter.
type message struct {
	door
	id       run.ID
	owner    string
	eventKey string // the key as the requester wrote it
	text     string
	images   []turn.Block
	thinking string
	timeout  time.Duration
	fresh    bool // the session is new
	hint     bool // the previous run was stopped
}

func (rt *Router) read(q ChatRequest) (message, error) {
	m := message{id: run.ID(q.IdempotencyKey), owner: q.Owner, eventKey: q.SessionKey, text: strings.TrimSpace(q.Message)}
	var err error
	var dropped int
	if m.images, dropped, err = images(q.Attachments); err != nil {
		return m, err
	}
	if dropped > 0 {
		rt.log.Info("attachments that are no images are left out", "run", m.id, "count", dropped)
	}
	if m.text == "" && len(m.images) == 0 {
		return m, &Error{"message or attachment required"}
	}
	if m.door, err = rt.open(q.SessionKey); err != nil {
		return m, err
	}
	e, _ := m.store.Get(m.key)
	if !allows(m.config.Session.SendPolicy, m.key, e) {
		return m, &Error{"send blocked by session policy"}
	}
	if level, ok := run.ThinkLevel(q.Thinking); ok && !strings.HasPrefix(m.text, "/") {
		m.thinking = level
	}
	if ms := q.TimeoutMs; ms != nil {
		m.timeout = time.Duration(min(*ms, run.MaxTimeout.Milliseconds())) * time.Millisecond
		if *ms == 0 {
			m.timeout = run.MaxTimeout
		}
	}
	return m, nil
}

// join lets the message into its session: a stale session, or one the user wants
// to leave, is replaced by a new one under the same key. choose picks the model
// of a new session.
func (rt *Router) join(ctx context.Context, m *message, over bool, choose *model.Ref) (session.Entry, error) {
	now := rt.now()
	return m.store.Update(ctx, m.key, func(e *session.Entry) error {
		m.fresh = over || !session.Fresh(resetRules(m.config.Session), m.key, *e, now)
		m.hint = false
		if m.fresh {
			id := session.NewID()
			*e = e.Renew(id, m.store.TranscriptPath(session.Entry{SessionID: id}), now)
		} else {
			m.hint = e.AbortedLastRun != nil && *e.AbortedLastRun
			e.AbortedLastRun = new(false)
		}
		if choose != nil {
			e.ProviderOverride, e.ModelOverride = choose.Provider, choose.ID
		}
		arrive(e)
		e.UpdatedAt = max(e.UpdatedAt, now.UnixMilli())
		return nil
	})
}

// arrive notes that a message came through the web chat. A route to another
// surface stays: replies must not move because somebody looked in from here.
func arrive(e *session.Entry) {
	if e.ChatType == "" {
		e.ChatType = "direct"
	}
	if e.Origin == nil {
		e.Origin = &session.Origin{Provider: webchat, Surface: webchat, ChatType: "direct"}
	}
	if e.DeliveryContext == nil {
		e.DeliveryContext = &session.Route{Channel: webchat}
	}
	if e.LastChannel == "" {
		e.LastChannel = webchat
	}
}

// prompt is what the model reads.
func (rt *Router) prompt(m message) string {
	text := m.text
	if text == "" {
		text = textNoText
	}
	stamped := chat.Stamp(text, rt.now().In(rt.zone(m.config)))
	if m.hint {
		stamped = withHint(text, stamped)
	}
	return chat.AddMessageID(stamped, string(m.id))
}

// withHint tells the model that its last run was stopped. The hint stands inside
// the stamp, which histories leave out, so people do not read it in their own
// words.
func withHint(text, stamped string) string {
	if stamp, ok := strings.CutSuffix(stamped, "] "+text); ok {
		return stamp + "; note: " + abortHint + "] " + text
	}
	return "[note: " + abortHint + "]\n" + stamped // it came with a stamp of its own
}

func (rt *Router) request(m message, e session.Entry, prompt string) run.Request {
	return run.Request{
		ID: m.id, AgentID: m.agentID, SessionKey: m.key, EventKey: m.eventKey, SessionID: e.SessionID,
		Prompt: prompt, Images: m.images, Thinking: m.thinking, Timeout: m.timeout,
		Channel: webchat, NewSession: m.fresh, Chat: true,
	}
}

// newChat is the run of a message, not accepted yet.
func (rt *Router) newChat(m message, e session.Entry, prompt string) *Run {
	return &Run{req: rt.request(m, e, prompt), kind: kindChat, owner: m.owner, acceptedAt: rt.now()}
}

// dispatch runs the message or, when its session is busy, does what the session's
// queue mode says. See docs/runtime.md#queue-modes.
func (rt *Router) dispatch(ctx context.Context, m message, e session.Entry) (ChatResult, error) {
	r := rt.newChat(m, e, rt.prompt(m))
	q := queueOf(m.config.Messages.Queue, e, webchat)
	steered := false
	if q.mode == modeSteer || q.mode == modeSteerBacklog {
		var err error
		if steered, err = rt.steer(r, q.mode == modeSteerBacklog); err != nil {
			return ChatResult{}, err
		}
		if steered && q.mode == modeSteer {
			rt.runs.settle(m.id)
			return ChatResult{ID: m.id, Answered: true}, nil
		}
	}
	if q.mode == modeInterrupt {
		rt.Stop(m.key, run.AbortStop)
	}
	queued, full, err := rt.place(ctx, r, q, steered)
	if full {
		rt.end(r.entry, ledger.Ending{State: ledger.Aborted, Reason: string(run.AbortDropped), EndedAt: rt.now()})
		rt.runs.settle(m.id)
		return ChatResult{ID: m.id, Answered: true, Reply: fmt.Sprintf(
			"The queue of this session is full (%d messages). Your message was not taken; please send it again later.", q.cap)}, nil
	}
	if err = rt.admitted(r, err); err != nil {
		if r.recorded {
			rt.end(r.entry, ledger.Ending{State: ledger.Aborted, Reason: err.Error(), EndedAt: rt.now()})
		}
		return ChatResult{}, err
	}
	if queued {
		rt.runs.settle(m.id)
	}
	return ChatResult{ID: m.id, Run: r, Answered: queued}, nil
}

// place gives r the next place in its session, or a place in the queue when the
// session is busy or queue says so. It reports full when there is none.
func (rt *Router) place(ctx context.Context, r *Run, q queue, queue bool) (queued, full bool, err error) {
	rt.accept.Lock()
	defer rt.accept.Unlock()
	if !queue && !rt.runs.busy(r.lane()) {
		return false, false, rt.start(ctx, r)
	}
	ok, err := rt.enqueue(ctx, r, q)
	return true, !ok && err == nil, err
}

package gateway

import (
	"cmp"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/run"
	"openclaw/protocol"
)

const (
	// chatThrottle is the least time between two chat deltas of a run.
	chatThrottle = 150 * time.Millisecond
	// runLinger is how long a finished run is remembered, so that a straggling
	// event cannot end it twice.
	runLinger = 30 * time.Second
	// maxPatience is how long an event may wait for clients that are behind.
	maxPatience = 20 * time.Millisecond
	// runIdle is when a run that shows no life is forgotten.
	runIdle = 24 * time.Hour
)

// runs turns the events of runs into agent and chat events.
// See docs/protocol.md#agent-events and docs/protocol.md#chat-events.
type runs struct {
	hub *hub
	log *slog.Logger
	// canonical returns the one form of a session key.
	canonical func(agentID, sessionKey string) string

	mu   sync.Mutex
	byID map[run.ID]*liveRun

	// chat4 counts the connections that want deltaText.
	chat4 atomic.Int32
}

// liveRun is what is known about one run. Its lock keeps the events of the run
// in order on their way to the outboxes.
type liveRun struct {
	mu sync.Mutex
	// starter is the connection that asked for the run, nil if none did.
	starter *conn
	// held keeps events back until the request that started the run has been
	// answered.
	held    bool
	pending []run.Event

	id      run.ID
	key     string // as the requester wrote it
	seq     int
	text    string    // of the current assistant message
	sent    string    // the text that the last delta carried
	sentAt  time.Time // when it did
	timer   *time.Timer
	aborted bool // the chat side has ended
	ended   bool // the terminal event has been sent
	touched time.Time
}

// start registers a run that starter is about to ask for. Its events are held
// back until release, so that the answer to the request comes first.
func (r *runs) start(id run.ID, key string, starter *conn) *liveRun {
	l := &liveRun{id: id, key: key, starter: starter, held: true, touched: time.Now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID == nil {
		r.byID = make(map[run.ID]*liveRun)
	}
	// A run under way keeps its place: the router will refuse a second one with
	// the same id.
	if old := r.byID[id]; old == nil || old.over() {
		r.byID[id] = l
	}
	return l
}

// over reports whether the run has ended.
func (l *liveRun) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// release lets the events of l go.
func (r *runs) release(l *liveRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
	for _, e := range l.pending {
		r.publish(l, e)
	}
	l.pending = nil
}

// drop forgets a run that never began.
func (r *runs) drop(l *liveRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID[l.id] == l {
		delete(r.byID, l.id)
	}
}

// adopt makes starter the one who asked for a run that goes by another id than
// its request.
func (r *runs) adopt(id run.ID, starter *conn) {
	l := r.get(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starter = starter
}

// get returns the run with id, made on the spot when nobody here started it.
func (r *runs) get(id run.ID) *liveRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.byID[id]
	if l == nil {
		if r.byID == nil {
			r.byID = make(map[run.ID]*liveRun)
		}
		l = &liveRun{id: id, touched: time.Now()}
		r.byID[id] = l
	}
	return l
}

// Publish takes one event. Events of one run must come one after another.
func (r *runs) Publish(e run.Event) {
	r.take(e)
	// A model may stream faster than sockets take it. Waiting a moment for clients
	// that read keeps their queues short; one that reads nothing is not waited for.
	if room := r.hub.behind(); room != nil {
		timer := time.NewTimer(maxPatience)
		defer timer.Stop()
		select {
		case <-room:
		case <-timer.C:
		}
	}
}

func (r *runs) take(e run.Event) {
	l := r.get(e.RunID)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		l.pending = append(l.pending, e)
		return
	}
	r.publish(l, e)
}

// publish is called with l.mu held.
func (r *runs) publish(l *liveRun, e run.Event) {
	if l.ended {
		return
	}
	l.seq, l.touched = e.Seq, time.Now()
	if e.SessionKey != "" {
		l.key = e.SessionKey
	}
	terminal := e.Terminal()
	if l.aborted && !terminal {
		return // whoever aborted must hear no more of it
	}
	switch {
	case e.Tool != nil:
		r.sendTool(l, e)
		return
	case e.Assistant != nil:
		l.text = e.Assistant.Text
	}
	// An aborted run says so in the chat before its lifecycle ends; any other
	// ends the other way around.
	if terminal && aborts(*e.Lifecycle) {
		r.abortChat(l, e.Lifecycle.StopReason)
	}
	r.sendAgent(l, e)
	switch {
	case e.Assistant != nil:
		r.chatDelta(l)
	case terminal:
		l.ended = true
		r.chatEnd(l, *e.Lifecycle)
	}
}

// aborts reports whether the end of a run is an abort in the words of chat. A
// run that used up its time ends like any other there.
func aborts(l run.Lifecycle) bool {
	return l.Aborted && l.StopReason != "" && l.StopReason != protocol.StopTimeout
}

func (r *runs) sendAgent(l *liveRun, e run.Event) {
	data := eventData(e)
	if data == nil || r.hub.empty() {
		return
	}
	encoded, err := marshal(data)
	if err != nil {
		r.log.Error("agent event not sent", "run", e.RunID, "err", err)
		return
	}
	out := &event{name: protocol.EventAgent, guard: guardRead, head: headOf(protocol.EventAgent, agentPayload(e, encoded))}
	if key := r.followed(e.AgentID, e.SessionKey); key != "" {
		out.session, out.starter, e.SessionKey = key, l.starter, key
		out.alt = &event{name: out.name, guard: out.guard, head: headOf(protocol.EventAgent, agentPayload(e, encoded))}
	}
	r.hub.broadcast(out, nil)
}

// followed returns the canonical form of a key, if it is another than key and
// somebody follows that session.
func (r *runs) followed(agent, key string) string {
	if key == "" || r.hub.subscribers.Load() == 0 {
		return ""
	}
	canonical := r.canonical(agent, key)
	if canonical == key || !r.hub.any(func(c *conn) bool { return c.subs.follows(canonical) }) {
		return ""
	}
	return canonical
}

// chatDelta sends the text so far, at most once per throttle interval. A text
// that comes too early goes out when the interval is over, unless the end of the
// run is faster.
func (r *runs) chatDelta(l *liveRun) {
	if l.key == "" || l.text == "" || l.text == l.sent || l.timer != nil || chat.IsSilentPrefix(l.text) {
		return
	}
	if wait := chatThrottle - time.Since(l.sentAt); wait > 0 {
		l.timer = time.AfterFunc(wait, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.timer == nil {
				return // stopped in the meantime
			}
			l.timer = nil
			r.chatDelta(l)
		})
		return
	}
	now := time.Now()
	e := protocol.ChatEvent{State: protocol.ChatDelta, Message: chatMessage(l.text, now)}
	rest, grown := strings.CutPrefix(l.text, l.sent)
	l.sent, l.sentAt = l.text, now
	r.sendChat(l, e, func(e *protocol.ChatEvent) {
		e.DeltaText, e.Replace = rest, !grown
		if !grown {
			e.DeltaText = l.text
		}
	})
}

// chatEnd sends the one terminal chat event of a run that was not aborted.
func (r *runs) chatEnd(l *liveRun, end run.Lifecycle) {
	l.stopTimer()
	if l.key == "" || l.aborted {
		return
	}
	e := protocol.ChatEvent{State: protocol.ChatFinal, ErrorMessage: end.Error}
	if end.Phase == run.PhaseError {
		e.State = protocol.ChatError
	} else if l.text != "" && !end.Silent && !chat.IsSilent(l.text) {
		e.Message = chatMessage(l.text, time.Now())
	}
	r.sendChat(l, e, nil)
}

// abortChat ends the chat side of a run at once.
func (r *runs) abortChat(l *liveRun, reason string) {
	l.stopTimer()
	if l.aborted {
		return
	}
	l.aborted = true
	if l.key != "" {
		r.sendChat(l, protocol.ChatEvent{State: protocol.ChatAborted, StopReason: reason}, nil)
	}
}

func (l *liveRun) stopTimer() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// abort ends the chat side of runs that were aborted by request, without
// waiting for the runs to notice.
func (r *runs) abort(ids []string, reason string) {
	for _, id := range ids {
		r.mu.Lock()
		l := r.byID[run.ID(id)]
		r.mu.Unlock()
		if l == nil {
			continue
		}
		l.mu.Lock()
		if !l.ended && !l.aborted {
			l.seq++ // the number that the end of the run will have
			l.touched = time.Now()
			r.abortChat(l, reason)
		}
		l.mu.Unlock()
	}
}

// sendChat broadcasts e for l. Newer dresses it up for protocol 4.
func (r *runs) sendChat(l *liveRun, e protocol.ChatEvent, newer func(*protocol.ChatEvent)) {
	if r.hub.empty() {
		return
	}
	e.RunID, e.SessionKey, e.Seq = string(l.id), l.key, int64(l.seq)
	out, err := r.chatEvent(e, newer)
	if key := r.followed("", l.key); key != "" && err == nil {
		e.SessionKey = key
		out.session, out.starter = key, l.starter
		out.alt, err = r.chatEvent(e, newer)
	}
	if err != nil {
		r.log.Error("chat event not sent", "run", l.id, "err", err)
		return
	}
	r.hub.broadcast(out, nil)
}

func (r *runs) chatEvent(e protocol.ChatEvent, newer func(*protocol.ChatEvent)) (out *event, err error) {
	out = &event{name: protocol.EventChat, guard: guardRead, droppable: e.State == protocol.ChatDelta}
	if out.head, err = encodeHead(protocol.EventChat, e); err == nil && newer != nil && r.chat4.Load() > 0 {
		newer(&e)
		out.head4, err = encodeHead(protocol.EventChat, e)
	}
	return out, err
}

// reply broadcasts a reply that no model wrote, as the only event of its run.
func (r *runs) reply(id run.ID, key, text string) {
	l := &liveRun{id: id, key: key, seq: 1}
	e := protocol.ChatEvent{State: protocol.ChatFinal}
	if text != "" {
		e.Message = chatMessage(text, time.Now())
		e.Message.StopReason = protocol.StopInjected
		e.Message.Usage = &protocol.ChatUsage{}
	}
	r.sendChat(l, e, nil)
}

// sendTool tells those who may follow the tools of a run about one: the
// connection that started it, as far as the verbose level goes, connections that
// have the session open and asked for tool status, and those that follow the
// session, which get no less than at level on.
func (r *runs) sendTool(l *liveRun, e run.Event) {
	level := cmp.Or(e.Verbose, verboseOff)
	type form struct{ level, key string }
	forms := map[form][]byte{}
	encoded := func(level, key string) []byte {
		f := form{level, key}
		if data, ok := forms[f]; ok {
			return data
		}
		data, err := marshal(toolData(*e.Tool, level))
		if err != nil {
			r.log.Error("tool event not sent", "run", e.RunID, "err", err)
			forms[f] = nil
			return nil
		}
		keyed := e
		keyed.SessionKey = key
		forms[f] = append(headOf(protocol.EventAgent, agentPayload(keyed, data)), '}')
		return forms[f]
	}
	key := r.canonical(e.AgentID, e.SessionKey)
	r.hub.each(func(c *conn) {
		if !c.grants.read {
			return
		}
		if key != "" && c != l.starter && c.subs.follows(key) {
			seen := level
			if seen == verboseOff {
				seen = verboseOn
			}
			if data := encoded(seen, key); data != nil {
				c.out.offer(data)
			}
			return
		}
		if !c.toolEvents {
			return
		}
		watches := c.toolStatus && key != "" && c.watching(key)
		switch {
		case level == verboseOff && (!watches || e.Tool.Phase == run.PhaseUpdate):
			return
		case !watches && c != l.starter:
			return
		}
		if data := encoded(level, e.SessionKey); data != nil {
			c.out.send(data)
		}
	})
}

// sweep forgets runs that ended a while ago, and those that went silent.
func (r *runs) sweep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for id, l := range r.byID {
		if !l.mu.TryLock() {
			continue // busy, so alive
		}
		idle := now.Sub(l.touched)
		done := (l.ended || l.aborted) && idle >= runLinger || idle >= runIdle
		l.mu.Unlock()
		if done {
			delete(r.byID, id)
		}
	}
}

package stagewhisper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/ledger"
	"openclaw/internal/model"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/protocol"
)

// Turn implements [assistant.Agent]: the text becomes a run of the agent. A turn that
// an earlier process began is not run again when its run is known: it gets that run's
// answer, or the agent is asked to go on.
func (a *agent) Turn(ctx context.Context, t assistant.Turn, emit func(assistant.Output)) error {
	id, err := a.id()
	if err != nil {
		return err
	}
	if t.Kind == assistant.Reasoning && a.offline(id) {
		emit(assistant.Output{Message: assistant.InsightByRules(t.Text)})
		return nil
	}
	q := router.AgentRequest{Plain: true, Owner: a.owner(), AgentParams: protocol.AgentParams{
		Message: t.Prompt(), SessionKey: sessionKey(id, a.name, t.SessionID, t.Kind), Channel: Channel,
		IdempotencyKey: a.runID(t.ID, 0),
	}}
	for nth := t.Again - 1; nth >= 0; nth-- {
		q.IdempotencyKey = a.runID(t.ID, nth)
		was, known, err := a.previous(ctx, run.ID(q.IdempotencyKey))
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		if !was.Cut {
			return tell(was.Outcome, was.Err, emit)
		}
		q.IdempotencyKey, q.Message = a.runID(t.ID, t.Again), goOn(t.Text)
		return a.run(ctx, q, func(o assistant.Output) { o.Fresh = o.Message != ""; emit(o) })
	}
	return a.run(ctx, q, emit)
}

func (a *agent) offline(id string) bool {
	choice := a.plugin.cfg.Config().AgentModel(id)
	refs, err := a.plugin.cfg.Models(id).Candidates(choice.Primary, choice.Fallbacks)
	return err == nil && len(refs) > 0 && refs[0] == model.OfflineRef()
}

func (a *agent) owner() string { return Channel + ":" + a.name }

// runID names the run of a task, which desktops choose: nobody else's run is hit by it.
// A task that was cut off and goes on has more than one.
func (a *agent) runID(task string, nth int) string {
	id := Channel + ":" + a.name + ":" + task
	if nth > 0 {
		id = fmt.Sprintf("%s:%d", id, nth+1)
	}
	return id
}

// goOn asks an agent to finish what a stop of the gateway cut off.
func goOn(text string) string {
	return "[The gateway was stopped while you worked on the message below, and runs again. Finish it now. Check first what you had done already and do not repeat that, nor what you have said.]\n\n" + text
}

// previous is what became of an earlier run; one that is under way is waited for.
func (a *agent) previous(ctx context.Context, id run.ID) (was router.Previous, known bool, err error) {
	if r := a.plugin.cfg.Router.Find(id); r != nil {
		select {
		case <-r.Done():
		case <-ctx.Done():
			return was, false, ctx.Err()
		}
	}
	was, known = a.plugin.cfg.Router.Previous(ledger.Agent, a.owner(), id)
	if known && !was.Ended {
		return was, known, errors.New("an earlier run of this turn has no end")
	}
	return was, known, nil
}

// run has the agent answer and passes on what it does. When ctx ends the run goes on:
// its answer is found by the next beginning of the turn.
func (a *agent) run(ctx context.Context, q router.AgentRequest, emit func(assistant.Output)) error {
	box, stop := a.plugin.listen(run.ID(q.IdempotencyKey))
	defer stop()
	r, err := a.plugin.cfg.Router.Agent(ctx, q)
	if errors.Is(err, router.ErrClosing) {
		<-ctx.Done() // the gateway ends; the next one begins this turn again
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	emit(assistant.Output{Taken: true})
	emit(assistant.Output{Typing: "Thinking"})
	say := &said{emit: emit}
	for {
		select {
		case <-box.news:
			say.pass(box.take())
		case <-r.Done():
			say.pass(box.take())
			out, err := r.Result()
			if err = say.end(out, err); errors.Is(err, errCut) {
				<-ctx.Done() // the next gateway has it go on
				return ctx.Err()
			}
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tell passes on how an earlier run ended.
func tell(out run.Outcome, err error, emit func(assistant.Output)) error {
	return (&said{emit: emit}).end(out, err)
}

// said follows what a run says, so that nothing is said twice.
type said struct {
	emit  func(assistant.Output)
	texts []string // sent already, in order
	last  *run.Lifecycle
}

// pass hands on what happened since the last call.
func (s *said) pass(steps []step) {
	for _, at := range steps {
		switch {
		case at.delta != "":
			s.emit(assistant.Output{Delta: at.delta})
		case at.using != "":
			// What was said before a tool is used is a message of its own, now.
			if text := strings.TrimSpace(at.text); text != "" {
				s.texts = append(s.texts, text)
				s.emit(assistant.Output{Message: text})
			}
			s.emit(assistant.Output{Typing: "Using " + at.using})
		case at.end != nil:
			s.last = at.end
		}
	}
}

// end says what is left to be said.
func (s *said) end(out run.Outcome, err error) error {
	if err != nil {
		return err
	}
	end := cmp.Or(s.last, &run.Lifecycle{})
	for _, p := range out.Payloads {
		text := strings.TrimSpace(p.Text)
		switch {
		case text == "":
		case slices.Contains(s.texts, text):
			s.texts = s.texts[slices.Index(s.texts, text)+1:]
		case p.IsError || text == strings.TrimSpace(end.Error):
			end = &run.Lifecycle{Error: text}
		default:
			s.emit(assistant.Output{Message: text})
		}
	}
	switch {
	case end.Aborted && end.StopReason == string(run.AbortTimeout):
		return &assistant.TurnError{Code: byo.FailAgentTimeout, Text: end.Error}
	case end.Aborted && end.StopReason == string(run.AbortShutdown):
		return errCut
	case end.Error != "":
		return &assistant.TurnError{Code: byo.FailAgent, Text: end.Error}
	}
	return nil
}

// errCut says that the gateway stopped the run because it ends.
var errCut = errors.New("the gateway stopped during this run")

// step is one thing that happened in a run.
type step struct {
	delta string
	using string // a tool, before which text was said
	text  string
	end   *run.Lifecycle
}

// mailbox holds what a run did until it is looked at. Deltas that follow each other
// become one, so that its size is bounded by what is said.
type mailbox struct {
	news chan struct{} // holds one while there are steps

	mu    sync.Mutex
	text  string // of the message that is being said
	steps []step
}

func newMailbox() *mailbox { return &mailbox{news: make(chan struct{}, 1)} }

func (b *mailbox) put(e run.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case e.Assistant != nil:
		b.text = e.Assistant.Text
		if n := len(b.steps); n > 0 && b.steps[n-1].delta != "" {
			b.steps[n-1].delta += e.Assistant.Delta
		} else {
			b.steps = append(b.steps, step{delta: e.Assistant.Delta})
		}
	case e.Tool != nil && e.Tool.Phase == run.PhaseStart:
		b.steps = append(b.steps, step{using: e.Tool.Name, text: b.text})
		b.text = ""
	case e.Terminal():
		b.steps = append(b.steps, step{end: e.Lifecycle})
	default:
		return
	}
	select {
	case b.news <- struct{}{}:
	default:
	}
}

func (b *mailbox) take() []step {
	b.mu.Lock()
	defer b.mu.Unlock()
	steps := b.steps
	b.steps = nil
	return steps
}

package assistant

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"openclaw/byo"
	"openclaw/internal/disk"
	"openclaw/internal/logs"
)

// enqueue gives a task to its thread; the caller holds t.mu or is OpenTalk.
func (t *Talk) enqueue(id threadID, taskID string) {
	th := t.threads[id]
	if th == nil {
		th = &thread{id: id}
		t.threads[id] = th
		if t.running {
			t.group.Go(func() { t.work(th) })
		}
	}
	th.waiting = append(th.waiting, taskID)
}

// work runs the turns of a thread, in order, until none waits.
func (t *Talk) work(th *thread) {
	for {
		t.mu.Lock()
		if len(th.waiting) == 0 || t.ctx.Err() != nil {
			delete(t.threads, th.id)
			t.mu.Unlock()
			return
		}
		n := 1
		if th.id.kind == Reasoning {
			n = len(th.waiting) // what was said meanwhile is looked at together
		}
		ids := th.waiting[:n:n]
		th.waiting = th.waiting[n:]
		t.mu.Unlock()

		taken := make(chan struct{})
		t.group.Go(func() {
			say := &speech{talk: t, kind: th.id.kind, session: th.id.session, taken: sync.OnceFunc(func() { close(taken) })}
			defer say.taken()
			t.turn(say, ids)
		})
		<-taken
	}
}

// turn runs one turn with one task, or with several that are looked at together. It
// leaves them open when the process is to end.
func (t *Talk) turn(say *speech, ids []string) {
	rows, err := t.begin(say.session, ids)
	if err == nil {
		last := len(ids) - 1
		say.id, say.row = ids[last], rows[last]
		turn := Turn{ID: say.id, SessionID: say.session, Kind: say.kind, Again: say.row.Begun - 1}
		var texts []string
		for _, row := range rows {
			texts = append(texts, row.In.Payload.Text)
			turn.Context = joined(turn.Context, row.Context)
		}
		turn.Text = strings.Join(texts, "\n")
		stop := say.keepTyping(t.ctx)
		err = t.think(turn, say)
		stop()
	}
	if t.ctx.Err() != nil {
		return
	}
	if err := t.end(say, ids, rows, err); err != nil {
		t.log.Error("the end of a turn is not on the disk: it will run again", "task", say.id, "err", err)
	}
}

// think calls the agent; a panic in it ends this turn only.
func (t *Talk) think(turn Turn, say *speech) (err error) {
	defer func() {
		if p := recover(); p != nil {
			t.log.Error("the agent broke down in a turn", "task", turn.ID, "panic", p)
			err = &TurnError{Code: byo.FailExecution, Text: "The assistant broke down while it worked on this. Please try again."}
		}
	}()
	defer func() {
		say.mu.Lock()
		defer say.mu.Unlock()
		say.over = true
		err = cmp.Or(err, say.failed)
	}()
	return t.cfg.Agent.Turn(t.ctx, turn, say.emit)
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// begin notes that the tasks are being worked on, and gives the first of them what
// was said about the session.
func (t *Talk) begin(session string, ids []string) ([]task, error) {
	rows := make([]task, len(ids))
	var changes []disk.Change
	for i, id := range ids {
		raw, _ := t.table.Get("t/" + id)
		if err := json.Unmarshal(raw, &rows[i]); err != nil {
			return nil, err
		}
		rows[i].Begun++
	}
	if raw, ok := t.table.Get("p/" + session); ok && json.Unmarshal(raw, &rows[0].Context) == nil {
		changes = append(changes, disk.Change{Key: "p/" + session})
	}
	for i, id := range ids {
		changes = append(changes, put("t/"+id, rows[i]))
	}
	return rows, t.table.Apply(changes...)
}

// end notes in one step that the tasks are done and what is left to say about them.
func (t *Talk) end(say *speech, ids []string, rows []task, failed error) error {
	if rows == nil {
		return failed // they cannot even be read
	}
	var out []outgoing
	if say.kind == Reasoning && failed == nil && strings.TrimSpace(say.last) != "" {
		out = say.rows(say.last)
	}
	if failed != nil {
		out = append(out, say.failure(failed))
	}
	var changes []disk.Change
	for i, id := range ids {
		changes = append(changes, put("t/"+id, task{To: Route{}, At: t.now(), Begun: rows[i].Begun, Done: true}))
	}
	if err := t.post(out, changes...); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open -= len(ids)
	for _, id := range ids {
		t.done = append(t.done, finished{id, t.now()})
	}
	if len(out) == 0 && say.row.Said == 0 && say.kind == Chat {
		c := say.callback(byo.StatusSilent)
		t.box(say.session).show(say.row.To, &c)
	}
	return nil
}

// speech is what an agent says in one turn.
type speech struct {
	talk    *Talk
	kind    Kind
	session string
	id      string // of the task that the answers belong to
	taken   func()

	mu     sync.Mutex
	row    task
	nth    int    // messages of this beginning; row.Said counts those of all
	over   bool   // the turn has ended: what comes now is too late
	last   string // message, of a reasoning turn
	label  string
	failed error
}

func (s *speech) emit(o Output) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
	case o.Taken:
		s.taken()
	case s.kind == Reasoning:
		if strings.TrimSpace(o.Message) != "" {
			s.last = o.Message // only the final text counts
		}
	case o.Typing != "":
		s.label = o.Typing
		s.show()
	case o.Delta != "":
		if s.nth >= s.row.Said {
			s.talk.draft(s.row.To, s.callback(byo.StatusStream), messageID(s.id, s.nth), o.Delta)
		}
	case strings.TrimSpace(o.Message) != "":
		if o.Fresh {
			s.nth = max(s.nth, s.row.Said)
		}
		if err := s.say(o.Message); err != nil && s.failed == nil {
			s.failed = err
		}
	}
}

// say puts a message into the outbox, unless an earlier beginning of this turn did.
func (s *speech) say(text string) error {
	var fresh []outgoing
	for _, row := range s.rows(text) {
		if s.nth++; s.nth > s.row.Said {
			fresh = append(fresh, row)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	row := s.row
	row.Said = s.nth
	if err := s.talk.post(fresh, put("t/"+s.id, row)); err != nil {
		return err
	}
	s.row = row
	return nil
}

// rows returns the parts of a message, numbered from the next.
func (s *speech) rows(text string) []outgoing {
	var rows []outgoing
	for i, part := range split(text, byo.MaxReplyPart) {
		c := s.callback(byo.StatusMessage)
		c.MessageID, c.ReplyText = messageID(s.id, s.nth+i), part
		rows = append(rows, outgoing{s.row.To, c, s.talk.now()})
	}
	return rows
}

func (s *speech) failure(err error) outgoing {
	c := s.callback(byo.StatusErrored)
	c.MessageID = s.id + ":err"
	var turn *TurnError
	if errors.As(err, &turn) {
		c.ErrorCode, c.ErrorMessage = turn.Code, logs.Redact(turn.Text)
	} else {
		s.talk.log.Warn("a turn failed", "task", s.id, "err", err)
		c.ErrorCode, c.ErrorMessage = byo.FailAgent, "The assistant could not answer. Its log says why."
	}
	return outgoing{s.row.To, c, s.talk.now()}
}

func (s *speech) callback(status string) byo.Callback {
	c := byo.Callback{SessionID: s.session, TaskID: s.id, Status: status}
	if s.row.In != nil {
		c.UserMessageID, c.ChatID = s.row.In.Payload.UserMessageID, s.row.In.ChatID
	}
	return c
}

// show tells what the agent does; the caller holds s.mu.
func (s *speech) show() {
	c := s.callback(byo.StatusTyping)
	c.Label = s.label
	s.talk.mu.Lock()
	defer s.talk.mu.Unlock()
	s.talk.box(s.session).show(s.row.To, &c)
}

// keepTyping shows that the agent works, again and again, until stop is called.
func (s *speech) keepTyping(ctx context.Context) (stop func()) {
	if s.kind != Chat {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	show := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.show()
	}
	show()
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(byo.TypingEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				show()
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); group.Wait() }
}

package assistant

import (
	"encoding/json"
	"errors"
	"time"

	"openclaw/byo"
	"openclaw/internal/disk"
	"openclaw/internal/relayclient"
)

// box is what waits for delivery in one session: the next message goes out when the
// one before has arrived or never will. Its fields belong to Talk.mu.
type box struct {
	waiting []string // message ids, in order

	// Of what is only worth showing now, the newest waits.
	passing *byo.Callback
	draft   *draft
	to      Route // of passing and draft
}

// draft is the part of a message in the making that nobody has seen yet.
type draft struct {
	callback byo.Callback
	id, text string
	begun    bool
}

func (b *box) add(id string) {
	b.waiting = append(b.waiting, id)
	b.passing, b.draft = nil, nil // overtaken
}

func (b *box) show(to Route, c *byo.Callback) { b.to, b.passing = to, c }

func (b *box) empty() bool {
	return len(b.waiting) == 0 && b.passing == nil && (b.draft == nil || b.draft.text == "")
}

// box returns the box of a session, with somebody who empties it; the caller holds
// t.mu and puts something in.
func (t *Talk) box(session string) *box {
	b := t.boxes[session]
	if b == nil {
		b = &box{}
		t.boxes[session] = b
		if t.running {
			t.group.Go(func() { t.deliver(session, b) })
		}
	}
	return b
}

// draft adds a piece of a message that is being said.
func (t *Talk) draft(to Route, c byo.Callback, id, delta string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.box(c.SessionID)
	if b.draft == nil || b.draft.id != id {
		b.draft = &draft{callback: c, id: id}
	}
	b.to = to
	b.draft.text += delta
}

// deliver empties a box.
func (t *Talk) deliver(session string, b *box) {
	for t.ctx.Err() == nil {
		t.mu.Lock()
		if b.empty() {
			delete(t.boxes, session)
			t.mu.Unlock()
			return
		}
		to, passing := b.to, b.takePassing()
		var id string
		if passing == nil {
			id = b.waiting[0]
		}
		t.mu.Unlock()
		if passing != nil {
			for _, c := range passing {
				if to == (Route{}) {
					t.Events.pass(&c)
				} else if err := t.cfg.Courier(t.ctx, to, &c); err != nil {
					t.log.Debug("a sign of work did not arrive", "task", c.TaskID, "err", err)
				}
			}
			continue
		}
		if !t.deliverOne(id) {
			return // the process ends
		}
		t.mu.Lock()
		b.waiting = b.waiting[1:]
		t.mu.Unlock()
	}
}

// takePassing returns what is to be shown before the next message, nil for nothing.
func (b *box) takePassing() []byo.Callback {
	switch d := b.draft; {
	case b.passing != nil:
		c := *b.passing
		b.passing = nil
		return []byo.Callback{c}
	case d != nil && d.text != "":
		var list []byo.Callback
		add := func(chunk byo.Chunk) {
			c := d.callback
			c.Chunk = &chunk
			list = append(list, c)
		}
		if !d.begun {
			add(byo.Chunk{Type: byo.ChunkStart, MessageID: d.id})
			add(byo.Chunk{Type: byo.ChunkTextStart, ID: d.id})
		}
		add(byo.Chunk{Type: byo.ChunkTextDelta, ID: d.id, Delta: d.text})
		d.begun, d.text = true, ""
		return list
	}
	return nil
}

// deliverOne delivers one message, however long it takes, or gives it up. It returns
// false when the process ends first.
func (t *Talk) deliverOne(id string) bool {
	raw, _ := t.table.Get("o/" + id)
	var row outgoing
	if err := json.Unmarshal(raw, &row); err != nil {
		t.log.Error("an answer cannot be read", "message", id, "err", err)
		return true
	}
	if row.To == (Route{}) {
		t.forget(t.Events.keep(id, &row.Callback))
		return true
	}
	wait := 5 * time.Second
	for {
		err := t.cfg.Courier(t.ctx, row.To, &row.Callback)
		switch {
		case t.ctx.Err() != nil && err != nil:
			return false
		case err == nil:
			t.forget([]string{id})
			return true
		case errors.Is(err, ErrRefused), t.now().Sub(row.At) >= giveUpAfter:
			t.log.Warn("an answer is given up", "message", id, "err", err)
			t.forget([]string{id})
			return true
		}
		t.log.Info("an answer waits for the desktop", "message", id, "retry", wait, "err", err)
		if !relayclient.Sleep(t.ctx, min(wait, row.At.Add(giveUpAfter).Sub(t.now()))) {
			return false
		}
		wait = min(2*wait, time.Minute)
	}
}

// forget takes delivered answers off the disk. When that fails they are delivered
// again after the next start, and dropped there by their ids.
func (t *Talk) forget(ids []string) {
	changes := make([]disk.Change, len(ids))
	for i, id := range ids {
		changes[i] = disk.Change{Key: "o/" + id}
	}
	if err := t.table.Apply(changes...); err != nil {
		t.log.Warn("a delivered answer stays on the disk", "err", err)
	}
}

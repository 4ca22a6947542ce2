package desktop

import (
	"context"
	"errors"
	"net/url"

	"openclaw/byo"
)

func queryEscape(s string) string { return url.QueryEscape(s) }

// Watch returns a function that waits for the next events, and one to call at the end.
func (d *Desk) Watch() (next func(done <-chan struct{}) []Event, leave func()) { return d.hub.watch() }

// Store is where the conversations are.
func (d *Desk) Store() *Store { return d.store }

// attend starts what an assistant needs while the desk runs: its tunnel, and the event
// streams of its sessions when it cannot call back.
func (d *Desk) attend(rec record) {
	if rec.Topology != byo.TopologyDirect {
		return
	}
	if rec.Tunnel != nil {
		d.tunnel(rec)
	}
	for _, s := range d.store.Sessions() {
		if s.AssistantID == rec.ID {
			d.read(rec.ID, s.ID)
		}
	}
}

func (d *Desk) tunnel(rec record) {
	program := d.cfg.SSH
	if program == "" {
		program = "ssh"
	}
	ctx, ok := d.begin(rec.ID + "/tunnel")
	if !ok {
		return
	}
	err := d.background(func(context.Context) {
		if err := rec.Tunnel.keep(ctx, program, d.log); err != nil && ctx.Err() == nil {
			d.log.Error("no ssh tunnel", "assistant", rec.ID, "err", err)
		}
	})
	if err != nil {
		d.log.Error("no ssh tunnel", "assistant", rec.ID, "err", err)
	}
}

// begin reserves a piece of background work by its name; ok is false when it runs.
func (d *Desk) begin(key string) (ctx context.Context, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running || d.closing || d.reading[key] != nil {
		return nil, false
	}
	ctx, d.reading[key] = context.WithCancel(d.ctx)
	return ctx, true
}

// read follows the event streams of a session, chat and insights, when answers do not
// come to the callback listener.
func (d *Desk) read(assistantID, sessionID string) {
	rec, ok := d.config.assistant(assistantID)
	if !ok || rec.Topology != byo.TopologyDirect || d.CallbackURL() != "" {
		return
	}
	for _, session := range []string{sessionID, byo.InsightsPrefix + sessionID} {
		ctx, ok := d.begin(assistantID + "/" + session)
		if !ok {
			continue
		}
		l := d.directLine(rec)
		err := d.background(func(context.Context) {
			l.follow(ctx, session, d.log, func(c *byo.Callback) error {
				task := c.TaskID
				if c.Validate(task) != nil {
					return nil
				}
				_, err := d.receiver.receive(assistantID, task, c)
				return err
			}, func(epoch string) { d.heard(rec.ID, epoch) })
		})
		if err != nil {
			d.log.Error("no event stream", "assistant", assistantID, "err", err)
		}
	}
}

// heard notes in which life an assistant is; a new one has forgotten what was said
// about the calls that go on.
func (d *Desk) heard(assistantID, epoch string) {
	rec, ok := d.config.assistant(assistantID)
	if !ok || rec.Generation == epoch {
		return
	}
	first := rec.Generation == ""
	rec.Generation = epoch
	if err := d.config.put(rec); err != nil {
		d.log.Warn("settings", "err", err)
	}
	if first {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		if c.assistant == assistantID {
			c.retell()
		}
	}
}

// PairDirect pairs with an assistant's listener and waits until it has answered once.
// The pairing stays, not verified, when no answer comes.
func (d *Desk) PairDirect(ctx context.Context, code string, tunnel *Tunnel) (Assistant, error) {
	c, err := byo.ParseDirectCode(code)
	if err != nil {
		return Assistant{}, err
	}
	id, err := byo.NewID(d.cfg.Rand)
	if err != nil {
		return Assistant{}, err
	}
	if tunnel != nil {
		if _, err := tunnel.Args(); err != nil {
			return Assistant{}, err
		}
	}
	rec := record{Assistant: Assistant{ID: id, Label: c.Label, Topology: byo.TopologyDirect, URL: c.URL, PairedAt: d.now().UTC()}, Token: c.Token, Tunnel: tunnel}
	for _, old := range d.config.get().Assistants {
		if old.URL == c.URL && old.Topology == byo.TopologyDirect {
			rec.ID = old.ID // paired again
		}
	}
	if err := d.config.put(rec); err != nil {
		return Assistant{}, err
	}
	d.attend(rec)
	if err := d.Probe(ctx, rec.ID); err != nil {
		return rec.Assistant, err
	}
	rec, _ = d.config.assistant(rec.ID)
	return rec.Assistant, nil
}

// ErrNoAnswer says that a probe was not answered in time.
var ErrNoAnswer = errors.New("the assistant did not answer within 20 seconds; the pairing waits until it does")

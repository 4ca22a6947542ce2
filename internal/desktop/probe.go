package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"openclaw/byo"
	"openclaw/internal/relayclient"
)

// Probe finds out whether an assistant answers, and over a relay what it can do.
func (d *Desk) Probe(ctx context.Context, id string) error {
	rec, ok := d.config.assistant(id)
	if !ok {
		return fmt.Errorf("no assistant %q is paired", id)
	}
	if rec.Topology == byo.TopologyRelay {
		return d.probeRelay(ctx, rec)
	}
	if err := d.probeDirect(ctx, rec); err != nil {
		return err
	}
	rec, _ = d.config.assistant(id)
	rec.Verified = "probe"
	return d.config.put(rec)
}

// probeDirect says one thing in a session of its own and waits for any answer.
func (d *Desk) probeDirect(ctx context.Context, rec record) error {
	ctx, cancel := context.WithTimeoutCause(ctx, byo.ProbeWithin, ErrNoAnswer)
	defer cancel()
	session, err := byo.NewID(d.cfg.Rand)
	if err != nil {
		return err
	}
	task, err := byo.NewID(d.cfg.Rand)
	if err != nil {
		return err
	}
	got := make(chan struct{}, 1)
	defer d.receiver.expect(task, got)()
	l := d.directLine(rec)
	if d.CallbackURL() == "" {
		if err := d.background(func(context.Context) {
			l.follow(ctx, session, d.log, func(c *byo.Callback) error {
				_, err := d.receiver.receive(rec.ID, c.TaskID, c)
				return err
			}, func(string) {})
		}); err != nil {
			return err
		}
	}
	in := byo.Incoming{TaskID: task, SessionID: session, Reason: byo.ReasonChatMessage, OccurredAt: byo.FormatTime(d.now()),
		Payload: byo.IncomingPayload{Text: "This is a test of the connection. Please answer with the word ok and nothing else.", UserMessageID: task}}
	for {
		if err = l.send(ctx, &in); err == nil {
			break
		}
		if final := fmt.Errorf("say hello to the assistant: %w", err); isRefused(err) || !relayclient.Sleep(ctx, time.Second) {
			return final
		}
	}
	select {
	case <-got:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// probeRelay has the assistant describe itself and keeps what it says.
func (d *Desk) probeRelay(ctx context.Context, rec record) error {
	r, err := d.Ask(ctx, rec.ID, Question{Purpose: byo.PurposeCapabilityProbe,
		Input: byo.ReasoningInput{UserPrompt: "Describe in a few sentences what you can help with during and after a call.", ResponseSchema: byo.ResponseSchema(byo.PurposeCapabilityProbe)}})
	if err != nil {
		return err
	}
	var p byo.Profile
	if err := json.Unmarshal(r.Result, &p); err != nil {
		return fmt.Errorf("read what the assistant says about itself: %w", err)
	}
	p = p.Clamp()
	if rec.Profile, err = json.Marshal(p); err != nil {
		return err
	}
	return d.config.put(rec)
}

// Test sends a message without content over the relay to the assistant and back.
func (d *Desk) Test(ctx context.Context, id string) (time.Duration, error) {
	b := d.bond(id)
	if b == nil {
		return 0, fmt.Errorf("no assistant %q is paired over a relay", id)
	}
	ctx, cancel := context.WithTimeout(ctx, byo.TestWithin+lateResult)
	defer cancel()
	got := make(chan byo.IntegrationTest, 1)
	d.mu.Lock()
	busy := d.tests[id] != nil
	if !busy {
		d.tests[id] = got
	}
	d.mu.Unlock()
	if busy {
		return 0, errors.New("a test of this assistant is under way")
	}
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.tests, id)
	}()
	err := b.relay.Call(ctx, http.MethodPost, b.path("/test"), struct{}{}, nil)
	if err != nil {
		return 0, err
	}
	select {
	case t := <-got:
		if !t.OK {
			return 0, ErrNoAnswer
		}
		return time.Duration(t.RoundTripMS) * time.Millisecond, nil
	case <-ctx.Done():
		return 0, ErrNoAnswer
	}
}

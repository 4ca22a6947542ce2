package assistant

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"openclaw/byo"
	"openclaw/byo/seal"
	"openclaw/internal/relayclient"
)

// framesFor is how long a frame is known by its id; the relay keeps them for a day.
const framesFor = 25 * time.Hour

type seenFrame struct {
	At time.Time `json:"at"`
}

// frame takes a sealed message outside of jobs, once.
func (c *Client) frame(ctx context.Context, data []byte, act func(context.Context, *byo.Frame) error) {
	var f byo.Frame
	if err := json.Unmarshal(data, &f); err != nil || byo.CheckMeta("frame_id", f.FrameID) != nil {
		c.log.Warn("a frame cannot be read")
		return
	}
	if _, seen := c.table.Get("f/" + f.FrameID); seen {
		return
	}
	if err := act(ctx, &f); err != nil {
		c.log.Warn("a frame was refused", "frame", f.FrameID, "err", err)
		if !seal.Refused(err) {
			return // it may work the next time
		}
	}
	if err := c.keepKeys(put("f/"+f.FrameID, seenFrame{c.now()})); err != nil {
		c.log.Error("a frame could not be written down", "frame", f.FrameID, "err", err)
	}
}

// hear takes what the desktop said over the relay.
func (c *Client) hear(_ context.Context, f *byo.Frame) error {
	plain, err := c.duplex.Open(f.Envelope, seal.Binding{ContentType: byo.ContentChatIn})
	if err != nil {
		return err
	}
	in, err := byo.ParseIncoming(plain)
	if err != nil {
		return err
	}
	in.Callback = nil // over the relay answers go back over the relay
	_, _, err = c.Talk.Accept(in, Route{Relay: true})
	return err
}

// carry is the courier of this pairing: it seals a callback and posts it.
func (c *Client) carry(ctx context.Context, _ Route, cb *byo.Callback) error {
	plain, err := json.Marshal(cb)
	if err != nil {
		return errors.Join(ErrRefused, err)
	}
	env, err := c.duplex.Seal(seal.Header{SessionID: metaOf(cb.SessionID), CorrelationID: cb.TaskID, ContentType: byo.ContentChatOut}, plain)
	if err != nil {
		return err
	}
	err = c.sendFrame(ctx, env)
	if err != nil && relayclient.Code(err) != "" && !byo.Retryable(relayclient.Code(err)) {
		return errors.Join(ErrRefused, err)
	}
	return err
}

// metaOf keeps a session id out of the envelope that its rules do not allow there; the
// content has the real one.
func metaOf(sessionID string) string {
	if byo.CheckMeta("session_id", sessionID) != nil {
		return ""
	}
	return sessionID
}

func (c *Client) sendFrame(ctx context.Context, env byo.Envelope) error {
	id, err := byo.NewID(c.cfg.Rand)
	if err != nil {
		return err
	}
	return c.relay.Call(ctx, http.MethodPost, "/integrations/"+c.pairing.IntegrationID+"/control", byo.ControlFrame{FrameID: id, Envelope: env}, nil)
}

// control takes a message about keys.
func (c *Client) control(ctx context.Context, f *byo.Frame) error {
	back, err := c.duplex.Control(f.Envelope)
	if err != nil || back == nil {
		return err
	}
	return c.sendFrame(ctx, *back)
}

// rekey changes the keys when they are old or much used.
func (c *Client) rekey(ctx context.Context) error {
	for relayclient.Sleep(ctx, rekeyCheck) {
		if c.duplex.RekeyDue() {
			c.offerKeys(ctx)
		}
	}
	return ctx.Err()
}

func (c *Client) offerKeys(ctx context.Context) {
	env, err := c.duplex.Offer()
	if err == nil {
		err = c.sendFrame(ctx, env)
	}
	if err != nil && ctx.Err() == nil {
		c.log.Warn("new keys could not be offered", "err", err)
	}
}

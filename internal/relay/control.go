package relay

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"openclaw/byo"
)

// Kinds of messages.
const (
	msgChat  = "chat"  // of a desktop under static_v1
	msgReply = "reply" // of an assistant under static_v1
	msgFrame = "frame" // sealed by duplex_v2, either way
	msgTask  = "task"
	msgTest  = "test"
)

// inKey and outKey are keys of Messages to the assistant and to the desktop.
func inKey(integration, kind, id string) string {
	return integration + ".in." + hash(kind+" "+id)
}
func outKey(integration, kind, id string) string {
	return integration + ".out." + hash(kind+" "+id)
}

// control answers POST /integrations/{id}/control: a sealed frame for the other
// side, once for each frame id.
func (c *call) control() (answer, error) {
	b, err := c.bond()
	if err != nil {
		return answer{}, err
	}
	var req byo.ControlFrame
	if err := c.decode(&req, false); err != nil {
		return answer{}, err
	}
	if err := byo.CheckUUID("frame_id", req.FrameID); err != nil {
		return answer{}, err
	}
	if err := c.checkFrame(b, req.Envelope); err != nil {
		return answer{}, err
	}
	if err := c.flood(b); err != nil {
		return answer{}, err
	}
	return answer{http.StatusAccepted, struct{}{}}, c.forward(b, req.Event(), req.FrameID, req.Envelope, "")
}

// checkFrame looks at the outside of an envelope that is no job.
func (c *call) checkFrame(b bond, e byo.Envelope) error {
	switch {
	case e.Ciphertext == "":
		return errPlaintext
	case e.Version != byo.DuplexV2 || b.Scheme != byo.DuplexV2:
		return byo.Errorf(byo.CodeEnvelopeMismatch, "frames are sealed by duplex_v2")
	}
	if err := e.CheckShape(); err != nil {
		return byo.Errorf(byo.CodeInvalidEnvelope, "envelope: %v", err)
	}
	want := byo.PluginToDesktop
	if c.who.Kind == kindDesktop {
		want = byo.DesktopToPlugin
	}
	if e.Direction != want {
		return byo.Errorf(byo.CodeInvalidEnvelope, "envelope: direction must be %s", want)
	}
	return nil
}

// flood bounds what one integration may send besides jobs.
func (c *call) flood(b bond) error {
	perNode := max(framesPerMinute/c.nodes.count(), 1)
	if wait := c.limits.take("frame "+c.who.Kind+" "+b.ID, perNode, time.Minute); wait > 0 {
		return limited(byo.CodeRateLimited, "too many frames in a minute", wait)
	}
	size := int(max(c.req.ContentLength, 0))
	if wait := c.limits.takeSome("bytes "+c.who.Kind+" "+b.ID, size, messageBytes/c.nodes.count(), byo.EventsFor); wait > 0 {
		return limited(byo.CodeRateLimited, "too much content in a day", wait)
	}
	return nil
}

const (
	framesPerMinute = 1200      // leaves room for an answer that streams
	messageBytes    = 256 << 20 // of each side, since they are kept for a day
)

// forward stores a frame for the other side and publishes it.
func (c *call) forward(b bond, event, id string, e byo.Envelope, sum string) error {
	frame := byo.Frame{EventType: event, FrameID: id, Envelope: e}
	t, key := Topic{ToAssistant, b.ID}, inKey(b.ID, msgFrame, id)
	if c.who.Kind == kindAssistant {
		frame.IntegrationID = b.ID
		t, key = Topic{ToDesktop, b.Desktop}, outKey(b.ID, msgFrame, id)
	}
	ctx := c.req.Context()
	if e.ContentType == byo.ContentRekeyAnswer {
		if err := c.rekeyed(ctx, b.ID); err != nil {
			return err
		}
	}
	return c.post(ctx, t, key, message{ID: id, Kind: msgFrame, Event: event, Session: e.SessionID, Digest: sum}, b.ID, frame)
}

// rekeyed notes that an epoch of content keys began.
func (c *call) rekeyed(ctx context.Context, integration string) error {
	_, err := change(ctx, c.store, Integrations, integration, func(v *bond, exists bool) error {
		if !exists {
			return ErrNotFound
		}
		v.Rekeyed = millis(c.now())
		return nil
	})
	c.tell(ctx, signalChanged, integration, nil)
	return err
}

// post stores a message that does not exist yet and publishes its reference. A
// repeat changes nothing.
func (r *Relay) post(ctx context.Context, t Topic, key string, m message, integration string, frame any) error {
	data, err := json.Marshal(frame)
	if err != nil {
		return errBody
	}
	m.Integration, m.Created, m.Data = integration, r.now().UnixNano(), data
	if err := create(ctx, r.store, Messages, key, m); err != nil && !errors.Is(err, ErrConflict) {
		return err
	}
	return r.publishRef(t, "message:"+key, ref{Kind: refMessage, Integration: integration, ID: key}, byo.EventsFor)
}

package assistant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"openclaw/byo"
	"openclaw/internal/relayclient"
)

// beat tells the relay every half minute that the assistant lives, and how it is.
type beat struct {
	c *Client

	mu       sync.Mutex
	state    string
	failures int // of jobs, in a row
	reason   string
	up       bool
	cursor   string
}

func newBeat(c *Client) *beat { return &beat{c: c, state: byo.HostUnverified} }

// Status is how the assistant is: a host status of package byo, and a code when
// something is wrong.
func (c *Client) Status() (status, reason string) {
	c.beat.mu.Lock()
	defer c.beat.mu.Unlock()
	if !c.beat.up {
		return byo.HostDisconnected, ""
	}
	return c.beat.state, c.beat.reason
}

// worked and failed tell how a question to the agent went.
func (b *beat) worked() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state, b.failures, b.reason = byo.HostHealthy, 0, ""
}

func (b *beat) failed(code string, auth bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	switch {
	case auth:
		b.state, b.reason = byo.HostAuthRequired, "model_auth"
	case b.failures >= 3 && b.state != byo.HostAuthRequired:
		b.state, b.reason = byo.HostDegraded, code
	}
}

func (b *beat) stream(up bool, err error) {
	b.mu.Lock()
	b.up = up
	b.mu.Unlock()
	if up {
		b.c.log.Info("connected to the relay", "integration", b.c.pairing.IntegrationID)
	} else {
		b.c.log.Info("the connection to the relay ended", "integration", b.c.pairing.IntegrationID, "err", err)
	}
}

func (b *beat) at(id string) {
	if id == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cursor = id
}

// run posts the first heartbeat at once and then one as often as the relay asks.
func (b *beat) run(ctx context.Context) error {
	for {
		next := byo.HeartbeatEvery
		answer, err := b.post(ctx)
		switch {
		case relayclient.Gone(err):
			return err // unpaired: the stream would say the same
		case err == nil && answer.NextInMS > 0:
			next = max(byo.HeartbeatMinGap, time.Duration(answer.NextInMS)*time.Millisecond)
		case err != nil && ctx.Err() == nil:
			b.c.log.Debug("a heartbeat did not arrive", "err", err)
		}
		if err == nil && answer.RekeyDue {
			b.c.offerKeys(ctx)
		}
		if !relayclient.Sleep(ctx, next) {
			return ctx.Err()
		}
	}
}

func (b *beat) post(ctx context.Context) (byo.HeartbeatAnswer, error) {
	b.mu.Lock()
	h := byo.Heartbeat{
		SupportsReasoning: true, ReasoningTransport: b.c.cfg.Transport, ProviderRef: b.c.pairing.ProviderKind, Status: b.state, StreamCursor: b.cursor,
		Protocol: &byo.HeartbeatProtocol{PluginVersion: b.c.cfg.Version, EnvelopeVersions: []int{byo.EnvelopeVersion2}, SupportsAck: true},
	}
	if b.reason != "" {
		reason := b.reason
		h.DegradedReason = &reason
	}
	b.mu.Unlock()
	h.CapabilityHash = b.capabilities(ctx)
	var answer byo.HeartbeatAnswer
	err := b.c.relay.Call(ctx, http.MethodPost, "/integrations/"+b.c.pairing.IntegrationID+"/heartbeat", h, &answer)
	return answer, err
}

// capabilities is a hash that changes when the agent learns or forgets a skill. It
// says nothing else to who does not know the pairing's key.
func (b *beat) capabilities(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	profile, err := b.c.cfg.Agent.Describe(ctx)
	if err != nil {
		return ""
	}
	data, err := json.Marshal(profile)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(append([]byte(b.c.pairing.SecretKey), data...))
	return hex.EncodeToString(sum[:8])
}

package assistant_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"openclaw/byo"
	"openclaw/internal/assistant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent is an agent made of functions; a nil one fails the test's turn.
type agent struct {
	reason func(context.Context, assistant.Question) (assistant.Answer, error)
	turn   func(context.Context, assistant.Turn, func(assistant.Output)) error
	about  byo.Profile
}

func (a *agent) Reason(ctx context.Context, q assistant.Question) (assistant.Answer, error) {
	return a.reason(ctx, q)
}

func (a *agent) Turn(ctx context.Context, t assistant.Turn, emit func(assistant.Output)) error {
	return a.turn(ctx, t, emit)
}

func (a *agent) Describe(context.Context) (byo.Profile, error) { return a.about, nil }

// echo answers a turn with its own text.
func echo(_ context.Context, t assistant.Turn, emit func(assistant.Output)) error {
	emit(assistant.Output{Message: "re: " + t.Prompt()})
	return nil
}

// desk is a desktop's callback listener without a network.
type desk struct {
	mu   sync.Mutex
	got  []byo.Callback
	fail func(n int, c *byo.Callback) error // n counts from 0
	n    int
}

func (d *desk) deliver(_ context.Context, _ assistant.Route, c *byo.Callback) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	if d.fail != nil {
		if err := d.fail(d.n-1, c); err != nil {
			return err
		}
	}
	d.got = append(d.got, *c)
	return nil
}

// said lists what arrived, one word for its status and its text.
func (d *desk) said(status ...string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for _, c := range d.got {
		if len(status) > 0 && !strings.Contains(strings.Join(status, " "), c.Status) {
			continue
		}
		text := c.ReplyText + c.Label + c.ErrorCode
		list = append(list, c.Status+"("+text+")")
	}
	return strings.Join(list, " ")
}

func task(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func chat(n int, session, text string) byo.Incoming {
	return byo.Incoming{TaskID: task(n), SessionID: session, Reason: byo.ReasonChatMessage,
		Payload:  byo.IncomingPayload{Text: text, UserMessageID: fmt.Sprint("u-", n)},
		Callback: &byo.CallbackTarget{URL: "http://127.0.0.1:9", Token: "0123456789abcdef"}}
}

func transcript(n int, session, text string) byo.Incoming {
	in, final := chat(n, session, text), true
	in.Reason, in.Payload.IsFinal = byo.ReasonTranscriptChunk, &final
	return in
}

func prelude(n int, session, text string) byo.Incoming {
	in := chat(n, session, text)
	in.Reason = byo.ReasonSystemPrelude
	return in
}

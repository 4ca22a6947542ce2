package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/tool"
	"openclaw/internal/turn"
)

const (
	maxRetries   = 3
	firstBackoff = 2 * time.Second // doubled for each further retry
	// maxServerDelay is the longest wait a server may ask for; beyond it the run
	// fails at once instead of looking dead.
	maxServerDelay = time.Minute
)

// attempt is one try of a run with one model: model calls and tool calls until
// the model has nothing left to do. See docs/runtime.md#loop.
type attempt struct {
	model   model.Endpoint
	think   string
	tried   []string // thinking levels that the model refused
	system  string
	session string // id
	tools   map[string]tool.Tool
	specs   []model.Tool
	// view repairs the conversation for the model's family; the transcript stays
	// as it is.
	view func([]turn.Message) []turn.Message
	home string
	// retries bounds the repetitions of one model call.
	retries int

	record func(turn.Message) error // writes to the transcript
	events *emitter
	box    *mailbox
	log    *slog.Logger
	now    func() time.Time

	messages []turn.Message // what the model sees
	guard    guard
	result   result
}

// result is what an attempt has to say for itself.
type result struct {
	replies []reply
	usage   *turn.Usage // of the last answer, nil before the first
	// failed and failure are about the last tool call.
	failed  bool
	failure string
	silent  bool // the last answer was silence
}

// reply is one assistant message with something to show.
type reply struct{ text, reasoning string }

// run works until the model is done. The error is a [*model.Error] when the
// model failed for good, the cause of ctx when the run was aborted, and anything
// else when the machine failed.
func (a *attempt) run(ctx context.Context) error {
	for failures := 0; ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := a.readSteer(); err != nil {
			return err
		}
		before := a.result
		msg, raw, err := a.ask(ctx)
		if err != nil {
			wait, again := a.again(ctx, err, failures)
			if !again {
				return reason(ctx, err)
			}
			failures++
			a.result = before // the repetition says it again
			if err := sleep(ctx, wait); err != nil {
				return err
			}
			continue
		}
		failures = 0
		calls := msg.ToolCalls()
		if len(calls) == 0 {
			if a.box.closeIfEmpty() {
				return nil
			}
			continue
		}
		if err := a.execute(ctx, calls, raw); err != nil {
			return err
		}
	}
}

// reason prefers the cause of an abort over the error it produced.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// readSteer puts one steered message into the conversation, if there is one.
func (a *attempt) readSteer() error {
	s, ok := a.box.take()
	if !ok {
		return nil
	}
	return a.append(userMessage(s.Prompt, s.Images, s.At))
}

func userMessage(text string, images []turn.Block, at time.Time) turn.Message {
	m := turn.User(text, at)
	m.Content = append(m.Content, images...)
	return m
}

// append adds m to the transcript and to what the model sees.
func (a *attempt) append(m turn.Message) error {
	if err := a.record(m); err != nil {
		return fmt.Errorf("save the conversation: %w", err)
	}
	a.messages = append(a.messages, m)
	return nil
}

// ask makes one model call. raw holds the arguments of the calls in msg as the
// model wrote them, by position.
func (a *attempt) ask(ctx context.Context) (msg turn.Message, raw []string, err error) {
	began := a.now()
	ans := answer{show: a.events.assistant}
	done, err := a.stream(ctx, &ans)
	text, silent := ans.finish()
	if err != nil {
		return turn.Message{}, nil, a.failed(ctx, &ans, text, silent, began, err)
	}
	msg = complete(*done, a.model.Info, began)
	for _, c := range ans.calls {
		raw = append(raw, c.Arguments)
	}
	a.result.usage, a.result.silent = msg.Usage, silent
	a.reply(text, reasoning(msg.Content), silent)
	return msg, raw, a.append(msg)
}

// failed records a stream that broke. An abort that came before the first word
// leaves no trace, as if the question had not been answered yet.
func (a *attempt) failed(ctx context.Context, ans *answer, text string, silent bool, began time.Time, err error) error {
	reason := turn.StopError
	if ctx.Err() != nil {
		if text == "" {
			return err
		}
		reason = turn.StopAborted
	}
	m := ans.broken(a.model.Info, reason, err.Error(), began)
	if rerr := a.record(m); rerr != nil {
		return fmt.Errorf("save the conversation: %w", errors.Join(rerr, err))
	}
	if reason == turn.StopError {
		a.result.usage = m.Usage
	}
	a.reply(text, "", silent)
	return err
}

func (a *attempt) reply(text, reasoning string, silent bool) {
	if silent {
		text = ""
	}
	if text != "" || reasoning != "" {
		a.result.replies = append(a.result.replies, reply{text: text, reasoning: reasoning})
	}
}

// stream runs one call and feeds ans. It returns the finished message.
func (a *attempt) stream(ctx context.Context, ans *answer) (*turn.Message, error) {
	req := model.Request{
		Ref: a.model.Info.Ref, SessionID: a.session, System: a.system,
		Messages: a.view(a.messages), Tools: a.specs, Think: a.think,
		MaxTokens: a.model.Params.MaxTokens, Temperature: a.model.Params.Temperature,
		CacheRetention: a.model.Params.CacheRetention,
	}
	for part, err := range a.model.Model.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		switch p := part.(type) {
		case model.Text:
			ans.text(p.Delta)
		case model.Thinking:
			ans.thinking(p.Delta)
		case model.ToolCall:
			ans.call(p)
		case model.Done:
			return &p.Message, nil
		}
	}
	return nil, &model.Error{Kind: model.KindBadReply, Ref: a.model.Info.Ref, Text: "The model's answer ended without an end."}
}

// complete fills what a message must have in a transcript and repairs what
// could not be stored.
func complete(m turn.Message, info model.Info, began time.Time) turn.Message {
	m.Role = turn.RoleAssistant
	if m.API == "" {
		m.API = string(info.API)
	}
	if m.Provider == "" {
		m.Provider, m.Model = info.Ref.Provider, info.Ref.ID
	}
	if m.Usage == nil {
		m.Usage = &turn.Usage{}
	}
	if m.Timestamp == 0 {
		m.Timestamp = began.UnixMilli()
	}
	for i, b := range m.Content {
		if b.Type != turn.BlockToolCall {
			continue
		}
		m.Content[i].Arguments = object(string(b.Arguments))
		if b.ID == "" {
			m.Content[i].ID = fmt.Sprintf("call_%d_%d", began.UnixMilli(), i)
		}
	}
	return m
}

// again says whether a failed call is worth repeating, and after what wait.
func (a *attempt) again(ctx context.Context, err error, failures int) (wait time.Duration, ok bool) {
	var e *model.Error
	if !errors.As(err, &e) || ctx.Err() != nil {
		return 0, false
	}
	if effort, ok := a.otherEffort(e.Efforts); ok {
		a.log.Info("model refused the thinking level, trying another", "refused", a.think, "next", effort)
		a.think = effort
		return 0, true
	}
	if !e.Retryable() || failures >= a.retries || e.RetryAfter > maxServerDelay {
		return 0, false
	}
	a.log.Info("model call failed, trying again", "kind", e.Kind, "status", e.Status, "try", failures+1)
	return max(firstBackoff<<failures, e.RetryAfter), true
}

// otherEffort picks the first thinking level that the model says it supports and
// that was not tried yet.
func (a *attempt) otherEffort(supported []string) (string, bool) {
	if len(supported) == 0 {
		return "", false
	}
	a.tried = append(a.tried, a.think)
	for _, s := range supported {
		if level, ok := run.ThinkLevel(s); ok && !slices.Contains(a.tried, level) {
			return level, true
		}
	}
	return "", false
}

// sleep waits, or returns the cause of ctx when it ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reasoning joins the thoughts of an answer.
func reasoning(content turn.Content) string {
	text := ""
	for _, b := range content {
		if b.Type == turn.BlockThinking && b.Thinking != "" {
			if text != "" {
				text += "\n"
			}
			text += b.Thinking
		}
	}
	return text
}

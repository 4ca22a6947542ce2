package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"openclaw/byo"
	"openclaw/internal/assistant"
)

// API is a server that completes a conversation and remembers nothing.
type API interface {
	// complete asks once. delta, when it is not nil, gets the pieces of the answer.
	complete(ctx context.Context, ask *request, delta func(string)) (assistant.Answer, error)
}

// request is one question to an API.
type request struct {
	System    string
	Talk      []Message
	Model     string
	MaxTokens int
}

// ModelConfig joins a [Model] to the rest.
type ModelConfig struct {
	API    API
	Memory Memory // of conversations
	// Name is the model's; empty leaves the choice to the server.
	Name string
	// ProviderKind and Version describe the assistant to the desktop.
	ProviderKind, Version string
	Log                   *slog.Logger // default: discarded
}

// Model is an agent behind a server that completes conversations. It uses no tools.
type Model struct {
	cfg ModelConfig
	log *slog.Logger
}

// NewModel returns the agent.
func NewModel(cfg ModelConfig) *Model {
	return &Model{cfg: cfg, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))}
}

// Reason implements assistant.Agent.
func (m *Model) Reason(ctx context.Context, q assistant.Question) (assistant.Answer, error) {
	return m.ask(ctx, &request{System: q.System, Talk: []Message{{Role: User, Text: q.Input}}, Model: cmp.Or(q.Model, m.cfg.Name), MaxTokens: q.MaxTokens}, nil)
}

// Turn implements assistant.Agent.
func (m *Model) Turn(ctx context.Context, t assistant.Turn, emit func(assistant.Output)) error {
	talk, answered, err := m.cfg.Memory.hear(&t)
	if err != nil {
		return err
	}
	if answered != "" { // an earlier try got that far
		emit(assistant.Output{Message: answered})
		return nil
	}
	emit(assistant.Output{Typing: "Thinking"})
	answer, err := m.ask(ctx, &request{Talk: talk, Model: m.cfg.Name, MaxTokens: byo.MaxOutputTokens}, func(piece string) {
		emit(assistant.Output{Delta: piece})
	})
	if err != nil {
		m.log.Warn("a turn failed at the model's server", "task", t.ID, "err", err)
		return turnError(ctx, err)
	}
	text := strings.TrimSpace(answer.Text)
	if text == "" {
		return nil
	}
	if err := m.cfg.Memory.reply(&t, talk, text); err != nil {
		return err
	}
	emit(assistant.Output{Message: text})
	return nil
}

// Describe implements assistant.Agent.
func (m *Model) Describe(context.Context) (byo.Profile, error) {
	p := profile(m.cfg.ProviderKind, m.cfg.Version)
	if m.cfg.Name != "" {
		p.Models = []string{m.cfg.Name}
	}
	return p, nil
}

// profile is what every backend can say about itself.
func profile(kind, version string) byo.Profile {
	return byo.Profile{
		Agent:    &byo.ProfileAgent{Name: kind, ProviderKind: kind, Version: version},
		Features: &byo.ProfileFeatures{Streaming: true, Typing: true, Insights: true},
		Limits:   &byo.ProfileLimits{MaxInputChars: byo.MaxText, MaxConcurrent: byo.MaxConcurrentJobs},
	}
}

// Tries of one question, as long as nothing was said yet.
const (
	maxTries  = 4
	firstWait = 500 * time.Millisecond
)

// ask tries again what is worth it.
func (m *Model) ask(ctx context.Context, r *request, delta func(string)) (assistant.Answer, error) {
	said := false
	heard := func(piece string) {
		said = true
		if delta != nil {
			delta(piece)
		}
	}
	for try, wait := 1, firstWait; ; try, wait = try+1, 2*wait {
		answer, err := m.cfg.API.complete(ctx, r, heard)
		var refused *statusError
		again := err != nil && !said && (!errors.As(err, &refused) || refused.temporary())
		if !again || try == maxTries || ctx.Err() != nil {
			return answer, err
		}
		if refused != nil {
			wait = max(wait, refused.after)
		}
		m.log.Info("the model's server is asked again", "err", err, "wait", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return answer, err
		}
	}
}

// turnError says in words for a person why a turn failed.
func turnError(ctx context.Context, err error) error {
	var refused *statusError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, assistant.ErrAuth):
		return fail(err, "The assistant's model does not accept its key. Whoever runs the assistant has to look at it.")
	case errors.As(err, &refused) && refused.status == 429:
		return fail(err, "The assistant's model has too much to do right now. Please try again in a while.")
	case errors.As(err, &refused) && refused.temporary():
		return fail(err, "The assistant's model has a problem right now. Please try again in a while.")
	case errors.As(err, &refused):
		return fail(err, "The assistant's model refuses the request. Whoever runs the assistant finds the reason in its log.")
	}
	return fail(err, "The assistant cannot reach its model. Please try again in a while.")
}

// failure is a *assistant.TurnError with its cause, for the log.
type failure struct {
	turn  *assistant.TurnError
	cause error
}

func fail(cause error, text string) error {
	return &failure{turn: &assistant.TurnError{Code: byo.FailAgent, Text: text}, cause: cause}
}

// Error implements error.
func (f *failure) Error() string { return f.cause.Error() }

// Unwrap returns both what the person is told and what happened.
func (f *failure) Unwrap() []error { return []error{f.turn, f.cause} }

// usage is how the wire counts tokens.
func usage(in, out int64) json.RawMessage {
	if in == 0 && out == 0 {
		return nil
	}
	data, err := json.Marshal(byo.Usage{InputTokens: in, OutputTokens: out})
	if err != nil {
		return nil // numbers can always be written
	}
	return data
}

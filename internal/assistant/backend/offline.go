package backend

import (
	"context"
	"strconv"

	"openclaw/byo"
	"openclaw/internal/assistant"
)

// Offline is an agent of a few rules, without a model, a key or a network: for trying
// things out. It says so whenever it is asked something that would need a model.
type Offline struct {
	Memory Memory // so that an answer to a message is given once

	ProviderKind, Version string
}

const offlineNote = "I work by a few rules and without a language model, so I can only note this down"

// Reason implements assistant.Agent.
func (o *Offline) Reason(_ context.Context, q assistant.Question) (assistant.Answer, error) {
	return assistant.ByRules(q)
}

// Turn implements assistant.Agent.
func (o *Offline) Turn(_ context.Context, t assistant.Turn, emit func(assistant.Output)) error {
	talk, answered, err := o.Memory.hear(&t)
	if err != nil {
		return err
	}
	if answered == "" {
		emit(assistant.Output{Typing: "Reading"})
		answered = o.answer(&t)
		if err := o.Memory.reply(&t, talk, answered); err != nil {
			return err
		}
	}
	emit(assistant.Output{Message: answered})
	return nil
}

func (o *Offline) answer(t *assistant.Turn) string {
	if t.Kind == assistant.Chat {
		return offlineNote + ": " + strconv.Quote(t.Text)
	}
	return assistant.InsightByRules(t.Text)
}

// Describe implements assistant.Agent.
func (o *Offline) Describe(context.Context) (byo.Profile, error) {
	p := profile(o.ProviderKind, o.Version)
	p.Models = []string{"offline/rules"}
	return p, nil
}

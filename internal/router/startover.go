package router

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"openclaw/internal/chat"
	"openclaw/internal/config"
	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
)

// startOver is /new and /reset: what the session was doing is stopped, a new one
// begins under the same key, and what follows the trigger is its first message.
// With nothing to follow the agent greets.
func (rt *Router) startOver(ctx context.Context, m message, rest string) (ChatResult, error) {
	rt.Stop(m.key, run.AbortStop)
	ref, rest, err := rt.pickModel(m.agentID, rest)
	if err != nil {
		reply := err.Error()
		if e, jerr := rt.join(ctx, &m, false, nil); jerr == nil {
			rt.inject(ctx, m, e, reply)
		}
		rt.runs.settle(m.id)
		return ChatResult{ID: m.id, Answered: true, Reply: reply}, nil
	}
	e, err := rt.join(ctx, &m, true, ref)
	if err != nil {
		return ChatResult{}, err
	}
	m.text = rest
	prompt := rt.prompt(m)
	if rest == "" && len(m.images) == 0 {
		prompt = chat.AddMessageID(rt.greeting(m.agentID, ref), string(m.id))
	}
	r := rt.newChat(m, e, prompt)
	return ChatResult{ID: m.id, Run: r}, rt.submit(ctx, r)
}

func (rt *Router) greeting(agentID string, ref *model.Ref) string {
	if ref == nil {
		return greeting
	}
	return fmt.Sprintf("%s This session uses the model %s instead of the default %s; say so.", greeting, ref, rt.cfg.Models(agentID).Default())
}

// pickModel takes a model off the front of the text behind /new: provider/model,
// an alias, or provider and model as two words. Text that names no model that
// exists here is left alone. The error is for the user.
func (rt *Router) pickModel(agentID, text string) (*model.Ref, string, error) {
	models := rt.cfg.Models(agentID)
	first, rest := cutWord(text)
	if first == "" {
		return nil, text, nil
	}
	if ref, err := models.Parse(first); err == nil && names(models, first, ref) {
		return selected(models, ref, rest)
	}
	second, rest := cutWord(rest)
	ref := model.Ref{Provider: model.NormalizeProvider(first), ID: second}
	if second != "" && slices.ContainsFunc(models.List(), func(i model.Info) bool { return i.Ref == ref }) {
		return selected(models, ref, rest)
	}
	return nil, text, nil
}

// names reports whether word, read as ref, means a model: it is an alias, or a
// provider that is known here and a model.
func names(models *model.Directory, word string, ref model.Ref) bool {
	if !strings.Contains(word, "/") {
		return !strings.EqualFold(ref.ID, word)
	}
	_, err := models.Lookup(ref)
	return err == nil
}

func selected(models *model.Directory, ref model.Ref, rest string) (*model.Ref, string, error) {
	if _, err := models.Select(ref.String()); err != nil {
		return nil, rest, err
	}
	if ref == models.Default() {
		return &model.Ref{}, rest, nil // no override needed
	}
	return &ref, rest, nil
}

func cutWord(s string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimSpace(s), " ")
	return word, strings.TrimSpace(rest)
}

// resetRules are the configured rules of freshness.
func resetRules(s config.Session) session.ResetConfig {
	rule := func(r config.Reset) session.ResetRule {
		out := session.ResetRule{Mode: r.Mode, AtHour: r.AtHour}
		if r.IdleMinutes != nil {
			out.IdleMinutes = *r.IdleMinutes
		}
		return out
	}
	rules := func(m map[string]config.Reset) map[string]session.ResetRule {
		out := make(map[string]session.ResetRule, len(m))
		for name, r := range m {
			out[name] = rule(r)
		}
		return out
	}
	c := session.ResetConfig{ByType: rules(s.ResetByType), ByChannel: rules(s.ResetByChannel), IdleMinutes: s.IdleMinutes}
	if s.Reset != nil {
		c.Reset = new(rule(*s.Reset))
	}
	return c
}

package stagewhisper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/config"
	"openclaw/internal/model"
	"openclaw/internal/turn"
)

// agent is the gateway's agent of one pairing.
type agent struct {
	plugin *Plugin
	name   string // of the pairing
	kind   string
}

// id returns the agent that answers now; the configuration may have changed.
func (a *agent) id() (string, error) { return AgentOf(a.plugin.cfg.Config(), a.name) }

// Reason implements [assistant.Agent].
func (a *agent) Reason(ctx context.Context, q assistant.Question) (assistant.Answer, error) {
	id, err := a.id()
	if err != nil {
		return assistant.Answer{}, err
	}
	q.Model = a.wanted(a.plugin.cfg.Models(id), q.Model)
	return a.plugin.asker.Reason(ctx, id, q)
}

// wanted is the model that a job names, else the one that was named last; empty for
// the agent's own. A model that may not be chosen is not used.
func (a *agent) wanted(models *model.Directory, named string) string {
	p := a.plugin
	p.mu.Lock()
	defer p.mu.Unlock()
	if named = strings.TrimSpace(named); named != "" {
		if _, err := models.Select(named); err != nil {
			p.log.Info("a job names a model that it does not get", "pairing", a.name, "err", err)
			return ""
		}
		p.seen[a.name] = named
	}
	return p.seen[a.name]
}

// Asker asks the models of agents single questions.
type Asker struct {
	Config func() *config.Config
	Models func(agentID string) *model.Directory
	// Strict has no other model stand in for one that a question names.
	Strict bool
	Log    *slog.Logger
}

// Reason is one call of a model of an agent, without tools, session or memory.
// Fallbacks are tried as for every run; a model that the question names must be one
// that may be chosen. Rules answer when no model is connected.
func (k *Asker) Reason(ctx context.Context, agentID string, q assistant.Question) (assistant.Answer, error) {
	models, choice := k.Models(agentID), k.Config().AgentModel(agentID)
	if q.Model != "" {
		if _, err := models.Select(q.Model); err != nil {
			return assistant.Answer{}, err
		}
	}
	refs, err := models.Candidates(cmp.Or(q.Model, choice.Primary), choice.Fallbacks)
	if err != nil {
		return assistant.Answer{}, err
	}
	if k.Strict && q.Model != "" {
		refs = refs[:1]
	}
	var failures []model.Attempt
	for _, ref := range refs {
		if ref == model.OfflineRef() {
			return assistant.ByRules(q)
		}
		answer, err := k.ask(ctx, models, ref, q)
		if err == nil {
			return answer, nil
		}
		if ctx.Err() != nil {
			return assistant.Answer{}, ctx.Err()
		}
		k.Log.Warn("a model did not answer a question", "agent", agentID, "model", ref, "err", err)
		failures = append(failures, model.Attempt{Ref: ref, Err: err})
	}
	err = model.AllFailed(failures)
	if len(failures) > 0 && model.KindOf(failures[0].Err) == model.KindAuth {
		err = fmt.Errorf("%w: %w", assistant.ErrAuth, err)
	}
	return assistant.Answer{}, err
}

const (
	maxTries  = 3
	firstWait = 300 * time.Millisecond
)

// ask puts the question to one model, again when that can help.
func (k *Asker) ask(ctx context.Context, models *model.Directory, ref model.Ref, q assistant.Question) (assistant.Answer, error) {
	endpoint, err := models.Resolve(ref.String())
	if err != nil {
		return assistant.Answer{}, err
	}
	for try, wait := 1, firstWait; ; try, wait = try+1, 2*wait {
		m, err := complete(ctx, endpoint, q)
		if err == nil {
			used, err := json.Marshal(byo.Usage{InputTokens: int64(m.Usage.Input + m.Usage.CacheRead + m.Usage.CacheWrite), OutputTokens: int64(m.Usage.Output)})
			return assistant.Answer{Text: m.Text(), ModelRef: ref.String(), Usage: used}, err
		}
		failed := new(model.Error)
		if try == maxTries || !errors.As(err, &failed) || !failed.Retryable() {
			return assistant.Answer{}, err
		}
		select {
		case <-time.After(max(wait, failed.RetryAfter)):
		case <-ctx.Done():
			return assistant.Answer{}, err
		}
	}
}

// complete is one call.
func complete(ctx context.Context, endpoint model.Endpoint, q assistant.Question) (turn.Message, error) {
	limit := cmp.Or(q.MaxTokens, byo.MaxOutputTokens)
	if most := cmp.Or(endpoint.Params.MaxTokens, endpoint.Info.MaxTokens); most > 0 {
		limit = min(limit, most)
	}
	request := model.Request{
		Ref: endpoint.Info.Ref, System: q.System, Messages: []turn.Message{turn.User(q.Input, time.Now())}, Think: "off",
		MaxTokens: limit, Temperature: endpoint.Params.Temperature, CacheRetention: endpoint.Params.CacheRetention,
	}
	for part, err := range endpoint.Model.Stream(ctx, request) {
		if err != nil {
			return turn.Message{}, err
		}
		if done, ok := part.(model.Done); ok {
			return done.Message, nil
		}
	}
	return turn.Message{}, model.ErrTruncated
}

// Describe implements [assistant.Agent].
func (a *agent) Describe(context.Context) (byo.Profile, error) {
	id, err := a.id()
	if err != nil {
		return byo.Profile{}, err
	}
	settings, _ := a.plugin.cfg.Config().Agent(id)
	p := byo.Profile{
		Agent:    &byo.ProfileAgent{Name: cmp.Or(settings.Identity.Name, settings.Name, id), ProviderKind: a.kind, Version: a.plugin.cfg.Version},
		Features: &byo.ProfileFeatures{Streaming: true, Typing: true, Insights: true},
		Limits:   &byo.ProfileLimits{MaxInputChars: byo.MaxText, MaxConcurrent: byo.MaxConcurrentJobs},
		Tools:    a.plugin.cfg.Tools(id),
	}
	p.Models = a.models(id)
	return p.Clamp(), nil
}

// models lists what a job may name, the agent's own first: not all that the catalogue
// knows, because most of it has no key here.
func (a *agent) models(id string) []string {
	conf, models := a.plugin.cfg.Config(), a.plugin.cfg.Models(id)
	choice := conf.AgentModel(id)
	refs, err := models.Candidates(choice.Primary, choice.Fallbacks)
	if err != nil {
		return nil // the agent has no model that works, and its runs say so
	}
	for _, text := range slices.Sorted(maps.Keys(conf.Agents.Defaults.Models)) {
		if ref, err := models.Select(text); err == nil && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	var list []string
	for _, ref := range refs {
		list = append(list, ref.String())
	}
	return list
}

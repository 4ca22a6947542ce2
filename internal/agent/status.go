package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/tool"
	"openclaw/internal/turn"
)

// Status returns the status card of a session, for /status and the
// session_status tool. The key must be canonical; a session that does not exist
// yet is described by the agent's defaults.
func (a *Agent) Status(agentID, key string) (run.Card, error) {
	store, err := a.cfg.Sessions(agentID)
	if err != nil {
		return run.Card{}, err
	}
	e, _ := store.Get(key)
	s, models := a.cfg.Settings(agentID), a.cfg.Models(agentID)
	levels := levelsOf(run.Request{}, e, s)
	zone := s.Zone
	if zone == nil {
		zone = time.Local
	}
	card := run.Card{
		Version: a.cfg.Version, Now: a.now().In(zone), SessionKey: key, Runtime: "direct",
		Verbose: levels.verbose, Reasoning: levels.reasoning, Elevated: levels.elevated,
		Activation: e.GroupActivation, QueueMode: cmp.Or(e.QueueMode, s.QueueMode, "collect"),
		Input: value(e.InputTokens), Output: value(e.OutputTokens), Context: value(e.TotalTokens),
		Compactions: value(e.CompactionCount), DefaultModel: models.Default().String(),
	}
	if e.UpdatedAt > 0 {
		card.Updated = time.UnixMilli(e.UpdatedAt)
	}
	a.describeModel(&card, models, wantedModel(run.Request{}, e, s), levels.think, e)
	return card, nil
}

// describeModel fills what depends on the model the session would use now.
func (a *Agent) describeModel(card *run.Card, models *model.Directory, wanted, think string, e session.Entry) {
	endpoint, err := models.ResolveAs(wanted, e.AuthProfileOverride)
	if err != nil {
		card.Model, card.Auth, card.Think = cmp.Or(wanted, models.Default().String()), "missing", orOff(think)
		return
	}
	info := endpoint.Info
	card.Model, card.Auth, card.Window = info.Ref.String(), endpoint.KeySource, info.ContextWindow
	card.Offline = info.API == model.APIOffline
	card.Think = thinkFor(think, info)
	if info.Cost != (model.Cost{}) && e.Model == info.Ref.ID {
		price := info.Cost.Price(turn.Usage{Input: card.Input, Output: card.Output})
		card.Cost = price.Cost.Total
	}
}

// wantedModel is the ref a run asks for: of the request, the session or the
// agent; empty for the default.
func wantedModel(req run.Request, e session.Entry, s Settings) string {
	switch {
	case req.Model != "":
		return model.Ref{Provider: req.Provider, ID: req.Model}.String()
	case e.ModelOverride != "":
		return model.Ref{Provider: e.ProviderOverride, ID: e.ModelOverride}.String()
	}
	return s.Model
}

// statusParams are the parameters of the session_status tool.
type statusParams struct {
	SessionKey string `json:"sessionKey,omitempty"`
	Model      string `json:"model,omitempty"`
}

// Meta says what a call is about.
func (p statusParams) Meta() string { return strings.TrimSpace(p.SessionKey + " " + p.Model) }

// statusDetails is what session_status tells besides the card.
type statusDetails struct {
	OK           bool   `json:"ok"`
	SessionKey   string `json:"sessionKey"`
	ChangedModel bool   `json:"changedModel"`
	StatusText   string `json:"statusText"`
}

// statusTool shows the status card of a session and changes its model. A run
// sees sessions of its own agent only.
func (a *Agent) statusTool(agentID, ownKey string) tool.Tool {
	return tool.New(tool.Spec{
		Name: "session_status", Label: "Session Status",
		Summary:     "Show the status card of a session (model, tokens, time) and optionally set its model",
		Description: "Show the status card of this session: model, token use, context, levels, and the current date and time. Call it whenever you need the time. Set model to a provider/model or an alias to change the session's model, or to \"default\" to undo that. sessionKey names another session of yours.",
	}, func(ctx context.Context, _ tool.Call, p statusParams) (tool.Result, error) {
		key := ownKey
		if strings.TrimSpace(p.SessionKey) != "" {
			key = chat.CanonicalKey(p.SessionKey, agentID, false)
		}
		if key == "" {
			return tool.Result{}, fmt.Errorf("sessionKey required: this run has no session of its own")
		}
		return a.status(ctx, agentID, key, ownKey, strings.TrimSpace(p.Model))
	})
}

func (a *Agent) status(ctx context.Context, agentID, key, ownKey, wanted string) (tool.Result, error) {
	store, err := a.cfg.Sessions(agentID)
	if err != nil {
		return tool.Result{}, err
	}
	if owner, _, ok := chat.ParseKey(key); ok && owner != agentID {
		return tool.Result{}, fmt.Errorf("session %s belongs to another agent", key)
	}
	if _, ok := store.Get(key); !ok && key != ownKey {
		return tool.Result{}, fmt.Errorf("no session %s", key)
	}
	changed := false
	if wanted != "" {
		if changed, err = a.chooseModel(ctx, store, agentID, key, wanted); err != nil {
			return tool.Result{}, err
		}
	}
	card, err := a.Status(agentID, key)
	if err != nil {
		return tool.Result{}, err
	}
	text := card.String()
	return tool.Result{Content: turn.Text(text),
		Details: statusDetails{OK: true, SessionKey: key, ChangedModel: changed, StatusText: text}}, nil
}

// chooseModel sets or, with "default", removes a session's model.
func (a *Agent) chooseModel(ctx context.Context, store *session.Store, agentID, key, wanted string) (changed bool, err error) {
	var ref model.Ref
	if !strings.EqualFold(wanted, "default") {
		if ref, err = a.cfg.Models(agentID).Select(wanted); err != nil {
			return false, err
		}
	}
	_, err = store.Update(ctx, key, func(e *session.Entry) error {
		changed = e.ProviderOverride != ref.Provider || e.ModelOverride != ref.ID
		if e.SessionID == "" || !changed {
			return session.Skip
		}
		e.ProviderOverride, e.ModelOverride = ref.Provider, ref.ID
		return nil
	})
	return changed, err
}

func value(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}

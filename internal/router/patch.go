package router

import (
	"context"
	"fmt"
	"strings"

	"openclaw/internal/chat"
	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/protocol"
)

// PatchResult is a session after a change.
type PatchResult struct {
	Path  string // of the session index
	Key   string // canonical
	Entry session.Entry
	// Model is what the session will use.
	Model model.Ref
}

// PatchSession changes stored fields of a session, which is made when missing.
// Either all changes are stored or none; a value that is refused gives an
// [*Error]. See docs/runtime.md#session-settings.
func (rt *Router) PatchSession(ctx context.Context, p protocol.SessionsPatchParams) (PatchResult, error) {
	d, err := rt.open(p.Key)
	if err != nil {
		return PatchResult{}, err
	}
	models := rt.cfg.Models(d.agentID)
	e, err := d.store.Update(ctx, d.key, func(e *session.Entry) error {
		if e.SessionID == "" {
			e.SessionID = session.NewID()
		}
		e.UpdatedAt = max(e.UpdatedAt, rt.now().UnixMilli())
		return patch{p, d.key, models, rt.agentModel(d)}.apply(e)
	})
	if err != nil {
		return PatchResult{}, refusal(err, p.Label.Value)
	}
	return PatchResult{Path: d.store.Path(), Key: d.key, Entry: e, Model: modelOf(e, models, rt.agentModel(d))}, nil
}

// ResetSession starts a session over: what it was doing is stopped, it gets a new
// id and empty counters, and keeps its settings. See
// docs/runtime.md#session-settings.
func (rt *Router) ResetSession(ctx context.Context, sessionKey string) (key string, e session.Entry, err error) {
	d, err := rt.open(sessionKey)
	if err != nil {
		return "", e, err
	}
	rt.Stop(d.key, run.AbortRPC)
	e, err = d.store.Update(ctx, d.key, func(e *session.Entry) error {
		*e = e.Reset(session.NewID(), rt.now())
		return nil
	})
	return d.key, e, err
}

// agentModel is the model an agent uses unless a session chose another; empty
// for the directory's default.
func (rt *Router) agentModel(d door) string {
	a, _ := d.config.Agent(d.agentID)
	return a.Model.Primary
}

// modelOf is the model a session uses.
func modelOf(e session.Entry, models *model.Directory, ofAgent string) model.Ref {
	if e.ModelOverride != "" {
		return model.Ref{Provider: e.ProviderOverride, ID: e.ModelOverride}
	}
	if ref, err := models.Parse(ofAgent); ofAgent != "" && err == nil {
		return ref
	}
	return models.Default()
}

// patch is one set of changes to one session.
type patch struct {
	protocol.SessionsPatchParams
	key     string
	models  *model.Directory
	ofAgent string
}

func (p patch) apply(e *session.Entry) error {
	steps := []func(*session.Entry) error{p.spawnedBy, p.label, p.levels, p.exec, p.model, p.rest, p.think}
	for _, step := range steps {
		if err := step(e); err != nil {
			return err
		}
	}
	return nil
}

// enum sets a field from a list of values; null clears it.
func enum(name string, n protocol.Nullable[string], field *string, values ...string) error {
	switch v := strings.ToLower(strings.TrimSpace(n.Value)); {
	case !n.Set:
	case n.Null:
		*field = ""
	default:
		for _, known := range values {
			if v == known {
				*field = v
				return nil
			}
		}
		return &Error{fmt.Sprintf("invalid %s (use %s)", name, strings.Join(values, "|"))}
	}
	return nil
}

// level sets a field from a level that has synonyms; clear is the value that
// stands for no override, empty for none.
func level(name string, n protocol.Nullable[string], field *string, read func(string) (string, bool), clear string, values ...string) error {
	if !n.Set {
		return nil
	}
	v, ok := read(n.Value)
	switch {
	case n.Null:
		v = ""
	case !ok:
		return &Error{fmt.Sprintf("invalid %s (use %s)", name, strings.Join(values, "|"))}
	case v == clear:
		v = ""
	}
	*field = v
	return nil
}

func (p patch) spawnedBy(e *session.Entry) error {
	n := p.SpawnedBy
	v := strings.TrimSpace(n.Value)
	switch {
	case !n.Set:
	case n.Null:
		if e.SpawnedBy != "" {
			return &Error{"spawnedBy cannot be cleared once set"}
		}
	case v == "":
		return &Error{"invalid spawnedBy: empty"}
	case !chat.IsSubagent(p.key):
		return &Error{"spawnedBy is only supported for subagent:* sessions"}
	case e.SpawnedBy != "" && e.SpawnedBy != v:
		return &Error{"spawnedBy cannot be changed once set"}
	default:
		e.SpawnedBy = v
	}
	return nil
}

func (p patch) label(e *session.Entry) error {
	n := p.Label
	v := strings.TrimSpace(n.Value)
	switch {
	case !n.Set:
	case n.Null:
		e.Label = ""
	case v == "":
		return &Error{"invalid label: empty"}
	case len([]rune(v)) > 64:
		return &Error{"invalid label: too long (max 64)"}
	default:
		e.Label = v
	}
	return nil
}

func (p patch) levels(e *session.Entry) error {
	if err := level("verboseLevel", p.VerboseLevel, &e.VerboseLevel, run.VerboseLevel, "", "on", "off", "full"); err != nil {
		return err
	}
	if err := level("reasoningLevel", p.ReasoningLevel, &e.ReasoningLevel, run.ReasoningLevel, "off", "on", "off", "stream"); err != nil {
		return err
	}
	return level("elevatedLevel", p.ElevatedLevel, &e.ElevatedLevel, run.ElevatedLevel, "", "on", "off", "ask", "full")
}

func (p patch) exec(e *session.Entry) error {
	if err := enum("execHost", p.ExecHost, &e.ExecHost, "sandbox", "gateway", "node"); err != nil {
		return err
	}
	if err := enum("execSecurity", p.ExecSecurity, &e.ExecSecurity, "deny", "allowlist", "full"); err != nil {
		return err
	}
	if err := enum("execAsk", p.ExecAsk, &e.ExecAsk, "off", "on-miss", "always"); err != nil {
		return err
	}
	if n := p.ExecNode; n.Set {
		v := strings.TrimSpace(n.Value)
		if v == "" && !n.Null {
			return &Error{"invalid execNode: empty"}
		}
		e.ExecNode = v
	}
	return nil
}

// model sets the model; the default needs no override. A model is not checked
// beyond the allowlist, since its provider may be set up later.
func (p patch) model(e *session.Entry) error {
	n := p.Model
	if !n.Set {
		return nil
	}
	ref := model.Ref{}
	if !n.Null {
		var err error
		if ref, err = p.models.Select(n.Value); err != nil {
			return &Error{err.Error()}
		}
		if ref == modelOf(session.Entry{}, p.models, p.ofAgent) {
			ref = model.Ref{}
		}
	}
	e.ProviderOverride, e.ModelOverride = ref.Provider, ref.ID
	e.AuthProfileOverride, e.AuthProfileOverrideSource, e.AuthProfileOverrideCompactions = "", "", nil
	return nil
}

func (p patch) rest(e *session.Entry) error {
	if n := p.ResponseUsage; n.Set {
		if n.Value == "on" {
			n.Value = "tokens"
		}
		if n.Value == "off" {
			n = protocol.Null[string]()
		}
		if err := enum("responseUsage", n, &e.ResponseUsage, "tokens", "full"); err != nil {
			return err
		}
	}
	if err := enum("sendPolicy", p.SendPolicy, &e.SendPolicy, "allow", "deny"); err != nil {
		return err
	}
	return enum("groupActivation", p.GroupActivation, &e.GroupActivation, "mention", "always")
}

// think comes last, because the model decides which levels there are.
func (p patch) think(e *session.Entry) error {
	ref := modelOf(*e, p.models, p.ofAgent)
	values := []string{"off", "minimal", "low", "medium", "high"}
	if model.SupportsXHigh(ref) {
		values = append(values, "xhigh")
	}
	if err := level("thinkingLevel", p.ThinkingLevel, &e.ThinkingLevel, run.ThinkLevel, "off", values...); err != nil {
		return err
	}
	if e.ThinkingLevel != "xhigh" || model.SupportsXHigh(ref) {
		return nil
	}
	if p.ThinkingLevel.Set {
		return &Error{fmt.Sprintf("thinkingLevel \"xhigh\" is not supported by %s (use %s)", ref, strings.Join(values, "|"))}
	}
	e.ThinkingLevel = "high"
	return nil
}

package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"openclaw/internal/model"
	"openclaw/internal/session"
	"openclaw/protocol"
)

// setting is a level that a command shows and changes.
type setting struct {
	what    string // for people
	current func(session.Entry) string
	change  func(value string) protocol.SessionsPatchParams
	said    func(value string) string // after a change
	values  []string
}

// set shows the setting, or changes it as sessions.patch would.
func (rt *Router) set(ctx context.Context, m message, s setting, args string) (string, error) {
	if args == "" {
		e, _ := m.store.Get(m.key)
		return fmt.Sprintf("Current %s: %s.\nOptions: %s.", s.what, s.current(e), strings.Join(s.values, ", ")), nil
	}
	p := s.change(args)
	p.Key = m.key
	res, err := rt.PatchSession(ctx, p)
	if refused := (*Error)(nil); errors.As(err, &refused) {
		return fmt.Sprintf("Unrecognized %s %q. Valid: %s.", s.what, args, strings.Join(s.values, ", ")), nil
	}
	if err != nil {
		return "", err
	}
	return s.said(s.current(res.Entry)), nil
}

func (rt *Router) think(ctx context.Context, m message, args string) (string, error) {
	e, _ := m.store.Get(m.key)
	values := []string{"off", "minimal", "low", "medium", "high"}
	if model.SupportsXHigh(modelOf(e, rt.cfg.Models(m.agentID), rt.agentModel(m.door))) {
		values = append(values, "xhigh")
	}
	return rt.set(ctx, m, setting{
		what: "thinking level", values: values,
		current: func(e session.Entry) string { return cmp.Or(e.ThinkingLevel, "off") },
		change: func(v string) protocol.SessionsPatchParams {
			return protocol.SessionsPatchParams{ThinkingLevel: protocol.Value(v)}
		},
		said: func(v string) string {
			if v == "off" {
				return "Thinking disabled."
			}
			return "Thinking level set to " + v + "."
		},
	}, args)
}

func (rt *Router) verbose(ctx context.Context, m message, args string) (string, error) {
	return rt.set(ctx, m, setting{
		what: "verbose level", values: []string{"off", "on", "full"},
		current: func(e session.Entry) string {
			return cmp.Or(e.VerboseLevel, m.config.Agents.Defaults.VerboseDefault, "off")
		},
		change: func(v string) protocol.SessionsPatchParams {
			return protocol.SessionsPatchParams{VerboseLevel: protocol.Value(v)}
		},
		said: func(v string) string {
			return map[string]string{"off": "⚙️ Verbose logging disabled.", "on": "⚙️ Verbose logging enabled.", "full": "⚙️ Verbose logging set to full."}[v]
		},
	}, args)
}

func (rt *Router) reasoning(ctx context.Context, m message, args string) (string, error) {
	return rt.set(ctx, m, setting{
		what: "reasoning level", values: []string{"off", "on", "stream"},
		current: func(e session.Entry) string { return cmp.Or(e.ReasoningLevel, "off") },
		change: func(v string) protocol.SessionsPatchParams {
			return protocol.SessionsPatchParams{ReasoningLevel: protocol.Value(v)}
		},
		said: func(v string) string {
			return map[string]string{"off": "⚙️ Reasoning is hidden.", "on": "⚙️ Reasoning is shown before the answer.", "stream": "⚙️ Reasoning is shown live where the surface can do it."}[v]
		},
	}, args)
}

// chooseModel shows or chooses the model of the session. Unlike sessions.patch it
// takes only models that exist here: a typing error must not cost the next reply.
func (rt *Router) chooseModel(ctx context.Context, m message, args string) (string, error) {
	models := rt.cfg.Models(m.agentID)
	e, _ := m.store.Get(m.key)
	standard := modelOf(session.Entry{}, models, rt.agentModel(m.door))
	if args == "" || strings.EqualFold(args, "status") || strings.EqualFold(args, "list") {
		text := fmt.Sprintf("Current model: %s (default %s).\nChange it with /model <provider/model> or an alias; /model default goes back.",
			modelOf(e, models, rt.agentModel(m.door)), standard)
		if strings.EqualFold(args, "list") {
			text += "\n" + strings.Join(modelNames(models), "\n")
		}
		return text, nil
	}
	p := protocol.SessionsPatchParams{Key: m.key, Model: protocol.Null[string]()}
	if !strings.EqualFold(args, "default") {
		ref, err := models.Select(args)
		if err == nil {
			_, err = models.Lookup(ref)
		}
		if err != nil {
			return "Model not changed: " + err.Error(), nil
		}
		p.Model = protocol.Value(ref.String())
	}
	res, err := rt.PatchSession(ctx, p)
	if err != nil {
		return "", err
	}
	if res.Model == standard {
		return fmt.Sprintf("Model set to the default, %s.", standard), nil
	}
	return fmt.Sprintf("Model set to %s.", res.Model), nil
}

// maxModelNames bounds the list that a chat shows.
const maxModelNames = 60

// modelNames lists the models that may be chosen.
func modelNames(models *model.Directory) []string {
	var list []string
	for _, info := range models.List() {
		if models.Allowed(info.Ref) {
			list = append(list, "- "+info.Ref.String())
		}
	}
	slices.Sort(list)
	if more := len(list) - maxModelNames; more > 0 {
		list = append(list[:maxModelNames], fmt.Sprintf("… and %d more", more))
	}
	return list
}

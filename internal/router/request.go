package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/config"
	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/turn"
	"openclaw/protocol"
)

// AgentRequest asks for a run. See docs/protocol.md#agent.
type AgentRequest struct {
	protocol.AgentParams
	// Owner is who asks: the same key of another owner is another request.
	Owner string
	// Plain keeps the message exactly as it is, without the time in front.
	Plain bool
}

// errNoTarget is how a run ends whose request named no session.
var errNoTarget = errors.New("Error: Pass --to <E.164>, --session-id, or --agent to choose a session")

// channels are the surfaces that may be named whether or not they are set up;
// the rest comes from the configuration.
var channels = []string{"telegram", "whatsapp", "discord", "googlechat", "slack", "signal", "imessage", "stagewhisper", webchat, "last"}

// webchat is the gateway's own surface.
const webchat = "webchat"

// Agent accepts a request and starts its run. The run goes on when ctx ends. A
// request that is refused gives an [*Error]; one that names no session is
// accepted and fails, as clients expect.
func (rt *Router) Agent(ctx context.Context, q AgentRequest) (*Run, error) {
	pictures, dropped, err := images(q.Attachments)
	if err != nil {
		return nil, err
	}
	if dropped > 0 {
		rt.log.Info("attachments that are no images are left out", "run", q.IdempotencyKey, "count", dropped)
	}
	t, err := rt.target(q)
	if err != nil {
		return nil, err
	}
	req := run.Request{
		ID: run.ID(q.IdempotencyKey), AgentID: t.agentID, SessionKey: t.key, EventKey: t.eventKey, SessionID: q.SessionID,
		Prompt: rt.stamped(q, t.config), Images: pictures, ExtraSystemPrompt: q.ExtraSystemPrompt,
		Thinking: q.Thinking, Lane: q.Lane, Timeout: seconds(q.Timeout), Channel: surface(q),
	}
	if req.Provider, req.Model, err = rt.model(t.agentID, q.Provider, q.Model); err != nil {
		return nil, err
	}
	r := &Run{req: req, kind: kindAgent, owner: q.Owner, acceptedAt: rt.now()}
	if t.none {
		return r, rt.failAtOnce(r, errNoTarget)
	}
	if t.key != "" {
		if r.req.SessionID, r.req.NewSession, err = rt.enter(ctx, t.door, q); err != nil {
			return nil, err
		}
	}
	return r, rt.submit(ctx, r)
}

func (rt *Router) stamped(q AgentRequest, c *config.Config) string {
	if q.Plain {
		return q.Message
	}
	return chat.Stamp(q.Message, rt.now().In(rt.zone(c)))
}

// failAtOnce accepts a run that is over before it began.
func (rt *Router) failAtOnce(r *Run, why error) error {
	r.cancel = func(error) {}
	if err := rt.runs.add(r); err != nil {
		return err
	}
	rt.enroll(r)
	out := run.Outcome{Payloads: []run.Payload{}}
	if err := rt.admit(r); err != nil {
		rt.runs.finish(r, out, err)
		return err
	}
	rt.record(r, out, why)
	rt.runs.finish(r, out, why)
	return nil
}

// target is where an agent request goes.
type target struct {
	door
	eventKey string // the key as the requester wrote it
	none     bool   // nothing was named
}

// target checks the addressing of a request, in the order clients know.
func (rt *Router) target(q AgentRequest) (target, error) {
	c := rt.cfg.Config()
	t := target{door: door{config: c}}
	for _, name := range []string{q.Channel, q.ReplyChannel} {
		if !knownChannel(name, c.Channels) {
			return t, invalid("unknown channel: %s", strings.TrimSpace(name))
		}
	}
	agent := strings.TrimSpace(q.AgentID)
	if agent != "" && !slices.Contains(c.AgentIDs(), chat.NormalizeAgentID(agent)) {
		return t, invalid("unknown agent id %q", agent)
	}
	key := strings.TrimSpace(q.SessionKey)
	if owner, _, ok := chat.ParseKey(key); ok && agent != "" && owner != chat.NormalizeAgentID(agent) {
		return t, invalid("agent %q does not match session key agent %q", chat.NormalizeAgentID(agent), owner)
	}
	if _, ok := run.ThinkLevel(q.Thinking); !ok && strings.TrimSpace(q.Thinking) != "" {
		return t, invalid("unknown thinking level %q (use off|minimal|low|medium|high)", q.Thinking)
	}
	switch {
	case key != "":
	case agent != "":
		key = chat.MainKey(agent)
	case q.SessionID != "":
		return rt.targetByID(t, q.SessionID)
	case strings.TrimSpace(q.To) != "":
		key = chat.MainKey(c.DefaultAgentID())
	default:
		t.agentID, t.none = c.DefaultAgentID(), true
		return t, nil
	}
	d, err := rt.open(key)
	if e := (*Error)(nil); errors.As(err, &e) {
		err = invalid("%s", e.Text)
	}
	return target{door: d, eventKey: cmp.Or(q.SessionKey, key)}, err
}

// targetByID finds the session of an id. A run that was addressed by id alone
// carries no key in its events.
func (rt *Router) targetByID(t target, id string) (target, error) {
	t.agentID = t.config.DefaultAgentID()
	store, err := rt.cfg.Sessions(t.agentID)
	if err != nil {
		return t, err
	}
	t.store = store
	t.key, _, _ = store.FindByID(id)
	return t, nil
}

func invalid(format string, args ...any) *Error {
	return &Error{"invalid agent params: " + fmt.Sprintf(format, args...)}
}

func knownChannel(name string, configured map[string]any) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	_, ok := configured[name]
	return name == "" || ok || slices.Contains(channels, name)
}

// surface is the channel a request came from, as the prompt names it.
func surface(q AgentRequest) string {
	name := strings.ToLower(strings.TrimSpace(cmp.Or(q.Channel, q.ReplyChannel)))
	if name == "last" {
		return ""
	}
	return name
}

// seconds reads a timeout: absent is the default, zero no practical limit.
func seconds(n *int64) time.Duration {
	switch {
	case n == nil:
		return 0
	case *n == 0 || *n > int64(run.MaxTimeout/time.Second):
		return run.MaxTimeout
	}
	return time.Duration(*n) * time.Second
}

// model reads the model a request asks for.
func (rt *Router) model(agentID, provider, id string) (string, string, error) {
	if id = strings.TrimSpace(id); id == "" {
		return "", "", nil
	}
	text := id
	if provider = strings.TrimSpace(provider); provider != "" && !strings.HasPrefix(id, provider+"/") {
		text = model.Ref{Provider: provider, ID: id}.String()
	}
	ref, err := rt.cfg.Models(agentID).Select(text)
	if err != nil {
		return "", "", invalid("%v", err)
	}
	return ref.Provider, ref.ID, nil
}

// enter loads or makes the session of an agent request and stores what the
// request says about it. It applies no reset rule: whoever calls for an agent
// means the session as it is.
func (rt *Router) enter(ctx context.Context, d door, q AgentRequest) (sessionID string, fresh bool, err error) {
	parent, _ := d.store.Get(chat.CanonicalKey(q.SpawnedBy, d.config.DefaultAgentID(), d.config.Session.Global()))
	e, err := d.store.Update(ctx, d.key, func(e *session.Entry) error {
		fresh = e.SessionID == ""
		if fresh {
			e.SessionID = session.NewID()
		}
		e.Label = cmp.Or(strings.TrimSpace(q.Label), e.Label)
		e.SpawnedBy = cmp.Or(e.SpawnedBy, strings.TrimSpace(q.SpawnedBy))
		e.GroupID = cmp.Or(strings.TrimSpace(q.GroupID), e.GroupID, parent.GroupID)
		e.GroupChannel = cmp.Or(strings.TrimSpace(q.GroupChannel), e.GroupChannel, parent.GroupChannel)
		e.Space = cmp.Or(strings.TrimSpace(q.GroupSpace), e.Space, parent.Space)
		e.Channel = cmp.Or(e.Channel, surface(q))
		e.UpdatedAt = max(e.UpdatedAt, rt.now().UnixMilli())
		return nil
	})
	if err != nil {
		return "", false, refusal(err, q.Label)
	}
	if !allows(d.config.Session.SendPolicy, d.key, e) {
		return "", false, &Error{"send blocked by session policy"}
	}
	return e.SessionID, fresh, nil
}

// refusal turns a store's refusal into one for the requester.
func refusal(err error, label string) error {
	if errors.Is(err, session.ErrLabelInUse) {
		return &Error{"label already in use: " + strings.TrimSpace(label)}
	}
	return err
}

// usage of a message that no model wrote.
func injected(text string, at time.Time) turn.Message {
	return turn.Message{Role: turn.RoleAssistant, Content: turn.Text(text), StopReason: turn.StopInjected,
		Usage: &turn.Usage{}, Timestamp: at.UnixMilli()}
}

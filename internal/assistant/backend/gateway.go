package backend

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"openclaw/byo"
	"openclaw/client"
	"openclaw/internal/assistant"
	"openclaw/protocol"
)

const (
	gatewayDial   = 15 * time.Second
	gatewayEvents = 4096
	forgetWithin  = 10 * time.Second
)

// GatewayConfig says how to reach a gateway and which agents of it to use.
type GatewayConfig struct {
	Options client.Options
	// Agent gets what people write; default main.
	Agent string
	// Quiet is the agent that gets reasoning jobs and what was said in calls: other
	// people's words. It must be one whose tools have no side effects.
	Quiet string

	ProviderKind, Version string
	Log                   *slog.Logger // default: discarded
}

// Gateway is an agent behind a gateway, which keeps the memory of conversations
// itself. It dials when it is needed first, and again after the connection was lost.
type Gateway struct {
	cfg GatewayConfig
	log *slog.Logger

	mu   sync.Mutex
	conn *client.Client
}

// NewGateway returns the agent. Close it when done.
func NewGateway(cfg GatewayConfig) *Gateway {
	cfg.Agent = cmp.Or(cfg.Agent, "main")
	cfg.Options.Caps = []string{protocol.CapToolEvents}
	return &Gateway{cfg: cfg, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))}
}

// Close ends the connection.
func (g *Gateway) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.conn == nil {
		return nil
	}
	return g.conn.Close()
}

// dial returns the connection, which is shared.
func (g *Gateway) dial(ctx context.Context) (*client.Client, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.conn != nil {
		select {
		case <-g.conn.Done():
			_ = g.conn.Close() // it is over already
		default:
			return g.conn, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, gatewayDial)
	defer cancel()
	conn, err := client.Dial(ctx, g.cfg.Options)
	if err != nil {
		return nil, fmt.Errorf("reach the gateway: %w", err)
	}
	g.conn = conn
	return conn, nil
}

// Reason implements assistant.Agent. The session of a job is deleted after it.
func (g *Gateway) Reason(ctx context.Context, q assistant.Question) (assistant.Answer, error) {
	key := assistant.SessionKey(g.cfg.Quiet, "job:"+q.ID, assistant.Reasoning)
	// A question that corrects an earlier answer belongs to the same job.
	sum := sha256.Sum256([]byte(q.Input))
	params := protocol.AgentParams{Message: q.Input, ExtraSystemPrompt: q.System, AgentID: g.cfg.Quiet, SessionKey: key, Model: q.Model,
		IdempotencyKey: q.ID + ":" + hex.EncodeToString(sum[:4])}
	result, err := g.run(ctx, params, nil)
	forget, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetWithin)
	defer cancel()
	if conn, dialed := g.dial(forget); dialed == nil {
		if gone := conn.Call(forget, protocol.MethodSessionsDelete, protocol.SessionsDeleteParams{Key: key}, nil); gone != nil {
			g.log.Debug("the session of a job stays", "job", q.ID, "err", gone)
		}
	}
	if err != nil {
		return assistant.Answer{}, err
	}
	answer := assistant.Answer{Text: joinedPayloads(result), RunID: result.RunID}
	if meta := result.Result.Meta.AgentMeta; meta != nil {
		answer.ModelRef = strings.Trim(meta.Provider+"/"+meta.Model, "/")
		if meta.Usage != nil {
			answer.Usage = usage(int64(meta.Usage.Input), int64(meta.Usage.Output))
		}
	}
	return answer, nil
}

// Turn implements assistant.Agent.
func (g *Gateway) Turn(ctx context.Context, t assistant.Turn, emit func(assistant.Output)) error {
	agent := g.cfg.Agent
	if t.Kind == assistant.Reasoning {
		agent = g.cfg.Quiet
	}
	// A turn that is begun again under the same id gets the answer of the first run.
	params := protocol.AgentParams{Message: t.Prompt(), AgentID: agent, SessionKey: assistant.SessionKey(agent, t.SessionID, t.Kind), IdempotencyKey: t.ID}
	emit(assistant.Output{Typing: "Thinking"})
	result, err := g.run(ctx, params, emit)
	if err != nil {
		g.log.Warn("a turn failed at the gateway", "task", t.ID, "err", err)
		return gatewayError(ctx, err)
	}
	for _, p := range result.Result.Payloads {
		switch {
		case p.IsError:
			return fail(errors.New("the agent reports an error"), cmp.Or(p.Text, "The assistant could not finish this."))
		case strings.TrimSpace(p.Text) != "":
			emit(assistant.Output{Message: p.Text})
		}
	}
	return nil
}

// Describe implements assistant.Agent.
func (g *Gateway) Describe(ctx context.Context) (byo.Profile, error) {
	p := profile(g.cfg.ProviderKind, g.cfg.Version)
	conn, err := g.dial(ctx)
	if err != nil {
		return p, err
	}
	var models protocol.ModelsListResult
	if err := conn.Call(ctx, protocol.MethodModelsList, nil, &models); err == nil { // a gateway that does not tell has none to show
		for _, m := range models.Models {
			p.Models = append(p.Models, m.Provider+"/"+m.ID)
		}
	}
	return p.Clamp(), nil
}

// run starts a run, passes on what it does while it runs, and returns how it ended.
func (g *Gateway) run(ctx context.Context, params protocol.AgentParams, emit func(assistant.Output)) (*protocol.AgentResult, error) {
	conn, err := g.dial(ctx)
	if err != nil {
		return nil, err
	}
	var listener sync.WaitGroup
	if emit != nil {
		events := conn.Subscribe(protocol.EventAgent)
		listener.Go(func() {
			for {
				ev, err := events.Next(ctx)
				if err != nil {
					return
				}
				show(ev, params.IdempotencyKey, emit)
			}
		})
		defer listener.Wait()
		defer events.Close()
	}
	var result protocol.AgentResult
	if err := conn.CallFinal(ctx, protocol.MethodAgent, params, &result); err != nil {
		return nil, err
	}
	if result.Result == nil {
		result.Result = &protocol.RunResult{}
	}
	return &result, nil
}

// show passes an event of a run on.
func show(ev client.Event, run string, emit func(assistant.Output)) {
	var e protocol.AgentEvent
	if ev.Decode(&e) != nil || e.RunID != run {
		return
	}
	switch e.Stream {
	case protocol.StreamLifecycle:
		emit(assistant.Output{Taken: true})
	case protocol.StreamAssistant:
		var d protocol.AssistantData
		if json.Unmarshal(e.Data, &d) == nil && d.Delta != "" {
			emit(assistant.Output{Delta: d.Delta})
		}
	case protocol.StreamTool:
		var d protocol.ToolData
		if json.Unmarshal(e.Data, &d) == nil && d.Phase == "start" {
			emit(assistant.Output{Typing: "Using " + d.Name})
		}
	}
}

func joinedPayloads(r *protocol.AgentResult) string {
	var texts []string
	for _, p := range r.Result.Payloads {
		if p.Text != "" && !p.IsError {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

func gatewayError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refused := new(protocol.Error); errors.As(err, &refused) {
		return fail(err, "The assistant could not finish this. Whoever runs it finds the reason in its log.")
	}
	return fail(err, "The assistant's gateway cannot be reached. Please try again in a while.")
}

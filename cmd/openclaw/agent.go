package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"openclaw/client"
	"openclaw/internal/chat"
	"openclaw/internal/cli"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/protocol"
)

// agentFlags are the flags of agent.
type agentFlags struct {
	gatewayFlags
	message, to, sessionID, agentID           string
	thinking, verbose                         string
	channel, replyTo, replyChannel, replyAcct string
	local, deliver                            bool
	seconds                                   int64
}

// agentCommand runs one agent turn. See docs/commands/agent.md.
func agentCommand(p *program) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run one agent turn and print the reply as it is written",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			params, err := f.params(cmd)
			if err != nil {
				return err
			}
			return p.runAgent(cmd.Context(), &f, params)
		},
	}
	fl := cmd.Flags()
	f.registerTarget(cmd)
	fl.StringVarP(&f.message, "message", "m", "", "what to say to the agent")
	fl.StringVarP(&f.to, "to", "t", "", "the recipient whose session is used")
	fl.StringVar(&f.sessionID, "session-id", "", "the session with this id")
	fl.StringVar(&f.agentID, "agent", "", "the agent whose main session is used")
	fl.StringVar(&f.thinking, "thinking", "", "off, minimal, low, medium, high or xhigh")
	fl.StringVar(&f.verbose, "verbose", "", "off, on or full: how much of the tools is told; kept for the session")
	fl.StringVar(&f.channel, "channel", "", "the channel the message counts as coming from")
	fl.StringVar(&f.replyTo, "reply-to", "", "where the reply is delivered")
	fl.StringVar(&f.replyChannel, "reply-channel", "", "the channel the reply is delivered on")
	fl.StringVar(&f.replyAcct, "reply-account", "", "the account the reply is delivered with")
	fl.BoolVar(&f.local, "local", false, "run the turn in this process, without a gateway")
	fl.BoolVar(&f.deliver, "deliver", false, "also deliver the reply")
	fl.BoolVar(&f.json, "json", false, "print only the final response, as JSON")
	fl.Int64Var(&f.seconds, "timeout", 600, "seconds the turn may take, 0 for no limit (default: the configured one, 600)")
	fl.Lookup("timeout").DefValue = "0" // is not shown: the text above says it
	return cmd
}

// params checks the flags and makes the request of them. CLI-011.
func (f *agentFlags) params(cmd *cobra.Command) (protocol.AgentParams, error) {
	var none protocol.AgentParams
	if strings.TrimSpace(f.message) == "" {
		return none, cli.Fail("--message is missing or empty", `say something: --message "hello"`)
	}
	if f.to == "" && f.sessionID == "" && f.agentID == "" {
		return none, cli.Fail("no session is chosen: one of --to, --session-id and --agent is needed",
			"for your own conversation with the default agent type --agent main")
	}
	if level, ok := run.ThinkLevel(f.thinking); f.thinking != "" && !ok {
		return none, cli.Fail(fmt.Sprintf("--thinking %q is unknown (use off, minimal, low, medium, high or xhigh)", f.thinking))
	} else if ok {
		f.thinking = level
	}
	if level, ok := run.VerboseLevel(f.verbose); f.verbose != "" && !ok {
		return none, cli.Fail(fmt.Sprintf("--verbose %q is unknown (use off, on or full)", f.verbose))
	} else if ok {
		f.verbose = level
	}
	params := protocol.AgentParams{
		Message: f.message, AgentID: f.agentID, To: f.to, SessionID: f.sessionID, Thinking: f.thinking,
		Channel: f.channel, ReplyTo: f.replyTo, ReplyChannel: f.replyChannel, ReplyAccountID: f.replyAcct,
		Deliver: f.deliver, IdempotencyKey: session.NewID(),
	}
	if cmd.Flags().Changed("timeout") {
		if f.seconds < 0 {
			return none, cli.Fail("--timeout must be 0 or more (seconds)")
		}
		params.Timeout = &f.seconds
	}
	return params, nil
}

// wait is how long the command waits for the gateway: the turn's own limit and
// half a minute more.
func (f *agentFlags) wait(params protocol.AgentParams, configured int) time.Duration {
	limit := time.Duration(configured) * time.Second
	if params.Timeout != nil {
		limit = time.Duration(*params.Timeout) * time.Second
		if *params.Timeout == 0 || limit > run.MaxTimeout {
			limit = run.MaxTimeout
		}
	}
	return max(10*time.Second, limit+30*time.Second)
}

// runAgent runs the turn on a gateway, or here when there is none.
func (p *program) runAgent(ctx context.Context, f *agentFlags, params protocol.AgentParams) error {
	if f.local {
		return p.agentHere(ctx, f, params)
	}
	f.timeout = 10_000
	t, err := p.target(f.gatewayFlags)
	if err != nil {
		return err
	}
	conn, err := p.dialAs(ctx, f.gatewayFlags, t, dialOptions{
		caps: []string{protocol.CapToolEvents, protocol.CapOpenClawGo, protocol.CapToolStatus}, events: 4096,
	})
	if err == nil {
		defer conn.Close()
		err = p.agentThere(ctx, conn, f, params)
		var soft *notAccepted
		if !errors.As(err, &soft) {
			return err
		}
		err = soft.err
	}
	if ctx.Err() != nil || t.Explicit {
		return err
	}
	cli.Report(p.io.Err, p.name, err)
	p.io.Say("%s: running the turn in this process instead", p.name)
	return p.agentHere(ctx, f, params)
}

// notAccepted marks a gateway's failure before it took the turn on, so that
// nothing was started there.
type notAccepted struct{ err error }

func (n *notAccepted) Error() string { return n.err.Error() }
func (n *notAccepted) Unwrap() error { return n.err }

// agentThere runs the turn on the gateway at the other end of conn.
func (p *program) agentThere(ctx context.Context, conn *link, f *agentFlags, params protocol.AgentParams) error {
	key := p.openSession(ctx, conn, f, &params)
	if f.verbose != "" && key != "" {
		if err := conn.call(ctx, protocol.MethodSessionsPatch,
			map[string]string{"key": key, "verboseLevel": f.verbose}, nil); err != nil {
			return err
		}
	}
	out := &printer{io: p.io, silent: f.json}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	w := &watcher{out: out, runID: params.IdempotencyKey}
	var following sync.WaitGroup
	following.Go(func() { w.follow(watching, conn.Events()) })

	limit, cancel := context.WithTimeout(ctx, f.wait(params, p.snapshot().Config.Agents.Defaults.TimeoutSeconds))
	defer cancel()
	var doc json.RawMessage
	err := conn.CallFinal(limit, protocol.MethodAgent, params, &doc)
	conn.Events().Close() // what has arrived is still read
	following.Wait()
	if ctx.Err() != nil {
		p.stopTurn(ctx, conn, key, w.started)
		return ctx.Err()
	}
	if err != nil {
		return p.agentFailed(conn, limit, params, doc, err, out)
	}
	if f.json {
		return errors.Join(p.io.RawJSON(doc), failedTurn(w.failure))
	}
	var res protocol.AgentResult
	if err := json.Unmarshal(doc, &res); err != nil {
		return fmt.Errorf("read the gateway's answer: %w", err)
	}
	return p.finishTurn(out, res.Result, w.failure)
}

// finishTurn prints what was not streamed. failure is why the turn is no success,
// "" if it is one: on the wire a model's failure is a reply like any other.
func (p *program) finishTurn(out *printer, res *protocol.RunResult, failure string) error {
	var replies []reply
	told, aborted := failure == "", false
	if res != nil {
		aborted = res.Meta.Aborted
		for _, pl := range res.Payloads {
			replies = append(replies, reply{Text: pl.Text, MediaURL: pl.MediaURL, MediaURLs: pl.MediaURLs, IsError: pl.IsError})
			told = told || pl.Text == failure
		}
	}
	summary := ""
	switch {
	case !told:
		summary = p.name + ": " + failure
	case aborted:
		summary = p.name + ": the turn was stopped before it was done"
	}
	if out.finish(replies, summary) || aborted {
		return cli.Exit(1)
	}
	return failedTurn(failure)
}

// failedTurn is the exit code of a turn that failed.
func failedTurn(failure string) error {
	if failure != "" {
		return cli.Exit(1)
	}
	return nil
}

// agentFailed explains a turn that ended with an error.
func (p *program) agentFailed(conn *link, limit context.Context, params protocol.AgentParams, doc json.RawMessage, err error, out *printer) error {
	out.endMessage()
	var refused *protocol.Error
	var closed *client.CloseError
	switch {
	case errors.As(err, &refused):
		if refused.Code == protocol.CodeUnavailable && len(doc) == 0 {
			return &notAccepted{conn.explain(protocol.MethodAgent, err)}
		}
		return conn.explain(protocol.MethodAgent, err)
	case errors.As(err, &closed):
		return cli.Fail("the connection to the gateway was lost during the turn: "+closeText(closed),
			"the turn may still be running there: "+p.waitHint(params.IdempotencyKey))
	case limit.Err() != nil:
		return cli.Fail("the gateway did not finish the turn in time", p.waitHint(params.IdempotencyKey))
	}
	return err
}

func (p *program) waitHint(id string) string {
	return fmt.Sprintf(`%s gateway call agent.wait --params '{"runId":%q}'`, p.name, id)
}

// openSession tells the gateway which session this command looks at, which lets
// tools be reported, and finds the key of a session id. It returns the key, ""
// when it is not known.
func (p *program) openSession(ctx context.Context, conn *link, f *agentFlags, params *protocol.AgentParams) string {
	defaults := conn.Hello().Snapshot.SessionDefaults
	var key string
	switch {
	case f.agentID != "":
		key = chat.MainKey(f.agentID)
	case f.sessionID != "":
		key = p.keyOf(ctx, conn, f.sessionID)
		params.SessionKey = key
	case defaults != nil:
		key = defaults.MainSessionKey
	}
	if defaults != nil && defaults.Scope == "global" {
		key = "global"
	}
	if key != "" {
		// An older gateway, or one that has never seen the session, is fine too.
		_ = conn.call(ctx, protocol.MethodChatHistory, protocol.ChatHistoryParams{SessionKey: key, Limit: new(1)}, nil)
	}
	return key
}

// keyOf asks the gateway for the session that owns an id.
func (p *program) keyOf(ctx context.Context, conn *link, id string) string {
	var list protocol.SessionsListResult
	if err := conn.call(ctx, protocol.MethodSessionsList, protocol.SessionsListParams{Search: id, IncludeGlobal: true}, &list); err != nil {
		return ""
	}
	for _, row := range list.Sessions {
		if row.SessionID == id {
			return row.Key
		}
	}
	return ""
}

// stopTurn asks the gateway to end the turn of an interrupted command. A turn
// that has not begun stays queued, since stopping a session would take the turns
// of others with it.
func (p *program) stopTurn(ctx context.Context, conn *link, key string, started bool) {
	if key == "" || !started {
		p.io.Say("%s: interrupted; the gateway goes on with the turn", p.name)
		return
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	err := conn.Call(within, protocol.MethodChatSend,
		protocol.ChatSendParams{SessionKey: key, Message: "/stop", IdempotencyKey: session.NewID()}, nil)
	if err != nil {
		p.io.Say("%s: interrupted; the gateway could not be told to stop the turn: %v", p.name, err)
		return
	}
	p.io.Say("%s: interrupted; the turn was stopped", p.name)
}

// watcher prints the events of one run.
type watcher struct {
	out     *printer
	runID   string
	started bool
	failure string // why the turn is no success
}

// follow prints events until the subscription ends.
func (w *watcher) follow(ctx context.Context, events *client.Subscription) {
	for {
		e, err := events.Next(ctx)
		if err != nil {
			return
		}
		switch e.Name {
		case protocol.EventAgent:
			var ev protocol.AgentEvent
			if e.Decode(&ev) == nil && ev.RunID == w.runID {
				w.show(ev)
			}
		case protocol.EventChat:
			var ev protocol.ChatEvent
			if e.Decode(&ev) == nil && ev.RunID == w.runID && ev.ErrorMessage != "" {
				w.failure = ev.ErrorMessage
			}
		}
	}
}

func (w *watcher) show(ev protocol.AgentEvent) {
	switch ev.Stream {
	case protocol.StreamLifecycle:
		w.started = true
	case protocol.StreamAssistant:
		var d protocol.AssistantData
		if json.Unmarshal(ev.Data, &d) == nil {
			w.out.assistant(d.Text, d.Delta)
		}
	case protocol.StreamTool:
		var d protocol.ToolData
		if json.Unmarshal(ev.Data, &d) == nil {
			w.tool(d)
		}
	case protocol.StreamCompaction:
		var d protocol.CompactionData
		if json.Unmarshal(ev.Data, &d) == nil && d.Phase == "start" {
			w.out.note("making room: the older part of the conversation is being summarised")
		}
	}
}

func (w *watcher) tool(d protocol.ToolData) {
	switch d.Phase {
	case string(run.PhaseStart):
		w.out.toolStart(d.Name, string(d.Args))
	case string(run.PhaseResult):
		var took time.Duration
		if d.DurationMs != nil {
			took = time.Duration(*d.DurationMs) * time.Millisecond
		}
		var res run.ToolOutput
		_ = json.Unmarshal(d.Result, &res) // absent at most levels
		w.out.toolResult(d.Name, firstOf(res.Content.Text(), d.Meta), d.IsError != nil && *d.IsError, took)
	}
}

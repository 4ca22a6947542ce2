package router

import (
	"context"
	"fmt"
	"strings"

	"openclaw/internal/chat"
	"openclaw/internal/session"
)

// command is one slash command that is answered without a run.
type command struct {
	name    string
	aliases []string
	args    string // as /help shows them
	about   string
	// words bounds how many words may follow; a longer text is for the agent.
	words int
	run   func(rt *Router, ctx context.Context, m message, args string) (string, error)
}

// commands are all of them, in the order of /help. /new, /reset and /stop are
// not among them, because they reach into what runs.
func commands() []command {
	return []command{
		{name: "help", aliases: []string{"commands"}, about: "show this list", run: (*Router).help},
		{name: "status", about: "show model, tokens and settings of this session", run: (*Router).status},
		{name: "whoami", aliases: []string{"id"}, about: "show who you are here", run: (*Router).whoami},
		{name: "model", args: "[provider/model | alias | default]", about: "show or choose the model of this session", words: 1, run: (*Router).chooseModel},
		{name: "think", aliases: []string{"thinking", "t"}, args: "[off | minimal | low | medium | high]", about: "show or set how hard the model thinks", words: 1, run: (*Router).think},
		{name: "verbose", aliases: []string{"v"}, args: "[off | on | full]", about: "show or set how much of tool calls you see", words: 1, run: (*Router).verbose},
		{name: "reasoning", aliases: []string{"reason"}, args: "[off | on | stream]", about: "show or set whether you see the model's thoughts", words: 1, run: (*Router).reasoning},
		{name: "queue", args: "[mode] [debounce:…] [cap:…] [drop:…]", about: "show or set what happens to messages while a run is on", words: 8, run: (*Router).queue},
	}
}

// command answers a message that is a slash command. It reports false for
// anything else, which is then for the agent.
func (rt *Router) command(ctx context.Context, m message) (reply string, ok bool, err error) {
	c, args, ok := findCommand(m.text)
	if !ok || len(m.images) > 0 {
		return "", false, nil
	}
	e, err := rt.join(ctx, &m, false, nil)
	if err != nil {
		return "", true, err
	}
	if reply, err = c.run(rt, ctx, m, args); err != nil {
		return "", true, err
	}
	rt.inject(ctx, m, e, reply)
	rt.runs.settle(m.id)
	return reply, true, nil
}

func findCommand(text string) (c command, args string, ok bool) {
	parsed, ok := chat.ParseCommand(text)
	if !ok {
		return c, "", false
	}
	for _, c := range commands() {
		names := append([]string{c.name}, c.aliases...)
		for _, name := range names {
			if name == parsed.Name && len(strings.Fields(parsed.Args)) <= c.words {
				return c, parsed.Args, true
			}
		}
	}
	return c, "", false
}

// inject writes a command's answer into the transcript. The answer itself does
// not depend on that.
func (rt *Router) inject(ctx context.Context, m message, e session.Entry, text string) {
	opts := session.TranscriptOptions{SessionID: e.SessionID, Path: e.SessionFile, Cwd: rt.cfg.Workspace(m.agentID)}
	if _, err := m.store.Inject(ctx, opts, injected(text, rt.now()), true); err != nil {
		rt.log.Error("answer of a command not written to the transcript", "session", m.key, "err", err)
	}
}

func (rt *Router) help(context.Context, message, string) (string, error) {
	lines := []string{
		"Commands:",
		"/new [model] [message]: start a new session",
		"/reset [message]: the same",
		"/stop: stop what is running",
	}
	for _, c := range commands() {
		lines = append(lines, strings.TrimSpace("/"+c.name+" "+c.args)+": "+c.about)
	}
	return strings.Join(lines, "\n"), nil
}

func (rt *Router) status(_ context.Context, m message, _ string) (string, error) {
	card, err := rt.cfg.Status(m.agentID, m.key)
	if err != nil {
		return "", err
	}
	card.Running = rt.runs.running(m.key) != nil
	card.QueueDepth = len(rt.runs.queued(m.key))
	return card.String(), nil
}

func (rt *Router) whoami(_ context.Context, m message, _ string) (string, error) {
	return fmt.Sprintf("You are an operator of this gateway.\nChannel: %s\nAgent: %s\nSession: %s", webchat, m.agentID, m.key), nil
}

// queue shows or changes the queue settings of the session.
func (rt *Router) queue(ctx context.Context, m message, args string) (string, error) {
	change, complaint := parseQueue(args)
	if complaint != "" {
		return complaint, nil
	}
	if args == "" {
		e, _ := m.store.Get(m.key)
		return queueOf(m.config.Messages.Queue, e, webchat).say(len(rt.runs.queued(m.key))), nil
	}
	_, err := m.store.Update(ctx, m.key, func(e *session.Entry) error { change.apply(e); return nil })
	return change.say(), err
}

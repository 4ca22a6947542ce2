package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"openclaw/byo"
	"openclaw/internal/cli"
	"openclaw/internal/desktop"
)

// settles is how long after a message more may follow before a command ends.
const settles = time.Second

func sessionPath(session, rest string) string {
	return "/v1/sessions/" + url.PathEscape(session) + rest
}

func profileOf(a *desktop.Assistant) (*byo.Profile, error) {
	if len(a.Profile) == 0 {
		return nil, nil
	}
	var profile byo.Profile
	err := json.Unmarshal(a.Profile, &profile)
	return &profile, err
}

// desktopChatCommand says something and prints what comes back.
func desktopChatCommand(p *program) *cobra.Command {
	var name, session string
	var within time.Duration
	cmd := &cobra.Command{
		Use:   "chat [TEXT]",
		Short: "Say something to an assistant and print what it answers",
		Long: `Says something to an assistant, in a conversation that goes on as long as you like, and
prints what comes back. Without a text each line of standard input is one message.`,
		Args: wantArgs("[text]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := byo.CheckSessionID(session); err != nil {
				return cli.Hint(err, "choose another --session")
			}
			return p.with(cmd, func(ctx context.Context, d *desk) error {
				a, err := d.assistant(ctx, name)
				if err != nil {
					return err
				}
				if len(args) > 0 {
					return p.say(ctx, d, a.ID, session, args[0], within)
				}
				lines := bufio.NewScanner(p.io.In)
				for lines.Scan() {
					if strings.TrimSpace(lines.Text()) == "" {
						continue
					}
					if err := p.say(ctx, d, a.ID, session, lines.Text(), within); err != nil {
						return err
					}
				}
				return lines.Err()
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&name, "assistant", "", "id or label of the assistant (default: the only one)")
	fl.StringVar(&session, "session", "chat", "the conversation")
	fl.DurationVar(&within, "wait", 2*time.Minute, "how long to wait for an answer; it may still come later")
	return cmd
}

// say sends one message and prints the answers until the assistant has no more.
func (p *program) say(ctx context.Context, d *desk, assistant, session, text string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	answered := false
	var failed error
	quiet := time.AfterFunc(within, cancel)
	defer quiet.Stop()
	err := d.watch(ctx, func() error {
		return d.call(ctx, http.MethodPost, sessionPath(session, "/messages"), map[string]string{"assistant_id": assistant, "text": text}, nil)
	}, func(e *desktop.Event) bool {
		switch {
		case e.Kind == desktop.EventTyping && e.Session == session && e.Tab != desktop.TabInsights:
			if p.io.ErrTTY {
				p.io.Say("… %s", plain(e.Text))
			}
		case e.Kind == desktop.EventIdle && e.Session == session && e.Tab != desktop.TabInsights:
			return !answered
		case e.Kind != desktop.EventMessage || e.Message == nil || e.Message.SessionID != session || e.Message.Tab != desktop.TabChat:
		case e.Message.Role == desktop.RoleUser && e.Message.Status == desktop.MessageFailed:
			failed = cli.Fail("the assistant does not take the message: " + plain(e.Message.ErrorMessage))
			return false
		case e.Message.Role == desktop.RoleUser && e.Message.Status == desktop.MessageUnanswered:
			return false
		case e.Message.Role == desktop.RoleAssistant && e.Message.Status == desktop.MessageErrored:
			failed = cli.Fail(plain(fmt.Sprintf("%s (%s)", e.Message.ErrorMessage, e.Message.ErrorCode)))
			return false
		case e.Message.Role == desktop.RoleAssistant:
			answered = true
			fmt.Fprintln(p.io.Out, plain(e.Message.Content))
			quiet.Reset(settles)
		}
		return true
	})
	switch {
	case failed != nil:
		return failed
	case answered:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return cli.Fail(fmt.Sprintf("no answer within %s; it may still come", within), "look later: stagewhisper desktop insights --tab chat --session "+session, "is the assistant there? stagewhisper desktop probe")
	}
	return err
}

// desktopInsightsCommand prints what was found in a call.
func desktopInsightsCommand(p *program) *cobra.Command {
	var session, tab string
	var json bool
	cmd := &cobra.Command{
		Use:   "insights",
		Short: "Print what the assistant found in a call",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.with(cmd, func(ctx context.Context, d *desk) error {
				var list struct {
					Messages []desktop.Message `json:"messages"`
				}
				if tab != desktop.TabInsights && tab != desktop.TabChat {
					return cli.Fail(fmt.Sprintf("--tab %q is unknown (use insights or chat)", tab))
				}
				if err := d.call(ctx, http.MethodGet, sessionPath(session, "/messages?tab="+tab), nil, &list); err != nil {
					return err
				}
				if json {
					return p.io.JSON(list)
				}
				for i := range list.Messages {
					p.printMessage(&list.Messages[i])
				}
				return nil
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&session, "session", defaultCall, "the call")
	fl.StringVar(&tab, "tab", desktop.TabInsights, "insights, or chat for the conversation")
	fl.BoolVar(&json, "json", false, "print JSON")
	return cmd
}

func (p *program) printMessage(m *desktop.Message) {
	who := m.Severity
	if who == "" {
		who = m.Role
	}
	text := m.Content
	if m.ErrorCode != "" {
		text = m.ErrorMessage + " (" + m.ErrorCode + ")"
	}
	fmt.Fprintf(p.io.Out, "%s  %-9s %s\n", m.CreatedAt.Local().Format("15:04:05"), plain(who), plain(text))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"openclaw/byo"
	"openclaw/internal/cli"
	"openclaw/internal/desktop"
	"openclaw/internal/disk"
)

const (
	defaultCall   = "call"
	maxTranscript = 64 << 20
)

// callFlags say which call, and what it is about.
type callFlags struct {
	desktop.CallRequest
	name string // of the assistant
}

func (f *callFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.name, "assistant", "", "id or label of the assistant (default: the only one)")
	fl.StringVar(&f.SessionID, "session", defaultCall, "the call")
	fl.StringVar(&f.Title, "title", "", "name of the call")
	fl.StringVar(&f.Situation, "situation", "", "what the call is about, told to the assistant once")
	fl.StringVar(&f.Playbook, "playbook", "", "what the assistant shall watch for")
}

// start begins the call.
func (f *callFlags) start(ctx context.Context, d *desk) error {
	if err := byo.CheckSessionID(f.SessionID); err != nil {
		return cli.Hint(err, "choose another --session")
	}
	a, err := d.assistant(ctx, f.name)
	if err != nil {
		return err
	}
	f.AssistantID = a.ID
	return d.call(ctx, http.MethodPost, "/v1/calls", &f.CallRequest, nil)
}

func (d *desk) endCall(ctx context.Context, session string) error {
	return d.call(ctx, http.MethodPost, "/v1/calls/"+url.PathEscape(session)+"/end", struct{}{}, nil)
}

// desktopCallCommand begins and ends calls.
func desktopCallCommand(p *program) *cobra.Command {
	var f callFlags
	start := &cobra.Command{
		Use:   "start",
		Short: "Begin a call: what is fed into it from now on is looked at",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.with(cmd, func(ctx context.Context, d *desk) error {
				if d.own {
					return cli.Fail("a call needs a desktop that stays", "start one: stagewhisper desktop listen", "or feed a whole call at once: stagewhisper desktop feed FILE")
				}
				if err := f.start(ctx, d); err != nil {
					return err
				}
				fmt.Fprintf(p.io.Out, "Call %s has begun\n", f.SessionID)
				return nil
			})
		},
	}
	f.register(start)
	var session string
	stop := &cobra.Command{
		Use:   "stop",
		Short: "End a call; the conversation stays",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.with(cmd, func(ctx context.Context, d *desk) error {
				if err := d.endCall(ctx, session); err != nil {
					return err
				}
				fmt.Fprintf(p.io.Out, "Call %s has ended\n", session)
				return nil
			})
		},
	}
	stop.Flags().StringVar(&session, "session", defaultCall, "the call")
	return group("call", "Begin or end a call", start, stop)
}

// desktopFeedCommand feeds a transcript into a call.
func desktopFeedCommand(p *program) *cobra.Command {
	var f callFlags
	var speed float64
	var settle time.Duration
	cmd := &cobra.Command{
		Use:   "feed FILE",
		Short: "Feed a transcript into a call and print what the assistant finds",
		Long: `Feeds a transcript into a call, as it would come from a live transcriber, and prints what
the assistant finds. FILE is WebVTT, SRT, or JSON lines of
{"speaker","text","start_ms","end_ms","final"}; "-" reads such lines from standard input
as they come. Speakers other than "Me" are the other side. The call is begun when it does
not go on yet, and then ended at the end.`,
		Args: wantArgs("file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if speed < 0 {
				return cli.Fail("--speed must be 0 or more")
			}
			play, err := p.transcript(args[0], speed)
			if err != nil {
				return err
			}
			return p.with(cmd, func(ctx context.Context, d *desk) error { return p.feed(ctx, d, &f, play, settle) })
		},
	}
	f.register(cmd)
	cmd.Flags().Float64Var(&speed, "speed", 1, "how many times faster than it was said; 0 is at once")
	cmd.Flags().DurationVar(&settle, "settle", 12*time.Second, "how long to wait at the end for what is still being looked at")
	return cmd
}

// player hands segments on as they come.
type player func(ctx context.Context, take func(desktop.Segment) error) error

// transcript opens what is to be fed.
func (p *program) transcript(file string, speed float64) (player, error) {
	if file == "-" {
		return func(_ context.Context, take func(desktop.Segment) error) error {
			return desktop.ReadLive(p.io.In, take)
		}, nil
	}
	data, err := disk.ReadFile(file, maxTranscript)
	if err != nil {
		return nil, fmt.Errorf("read the transcript: %w", err)
	}
	segments, err := desktop.ParseFeed(data)
	if err != nil {
		return nil, fmt.Errorf("read the transcript %s: %w", file, err)
	}
	return func(ctx context.Context, take func(desktop.Segment) error) error {
		return desktop.Play(ctx, segments, speed, take)
	}, nil
}

func (p *program) feed(ctx context.Context, d *desk, f *callFlags, play player, settle time.Duration) error {
	var s desktop.Status
	if err := d.call(ctx, http.MethodGet, "/v1/status", nil, &s); err != nil {
		return err
	}
	mine := !slices.Contains(s.Calls, f.SessionID)
	if mine {
		if err := f.start(ctx, d); err != nil {
			return err
		}
	}
	watching, leave := context.WithCancel(ctx)
	quiet := make(chan struct{}, 1)
	var watcher sync.WaitGroup
	ready := make(chan error, 1)
	watcher.Go(func() {
		err := d.watch(watching, func() error { ready <- nil; return nil }, func(e *desktop.Event) bool {
			p.found(e, f.SessionID, quiet)
			return true
		})
		ready <- err
	})
	err := <-ready
	fed := 0
	if err == nil {
		err = play(ctx, func(seg desktop.Segment) error {
			fed++
			return d.call(ctx, http.MethodPost, "/v1/calls/"+url.PathEscape(f.SessionID)+"/segments", map[string]any{"segments": []desktop.Segment{seg}}, nil)
		})
	}
	if err == nil && mine && fed > 0 {
		settled(ctx, quiet, settle)
	}
	leave()
	watcher.Wait()
	if mine {
		err = errors.Join(err, d.endCall(context.WithoutCancel(ctx), f.SessionID))
	}
	if err == nil {
		p.io.Say("%d segments fed", fed)
	}
	return err
}

// settled waits until nothing was found for as long as pieces are collected.
func settled(ctx context.Context, quiet <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case <-quiet:
			timer.Reset(limit)
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// found prints what a call brought.
func (p *program) found(e *desktop.Event, session string, heard chan<- struct{}) {
	switch {
	case e.Kind == desktop.EventBadge && e.Session == session:
		p.io.Say("no insight: %s", plain(e.Text))
	case e.Kind == desktop.EventMessage && e.Message != nil && e.Message.SessionID == session && e.Message.Tab == desktop.TabInsights && e.Message.Role == desktop.RoleAssistant:
		p.printMessage(e.Message)
	default:
		return
	}
	select {
	case heard <- struct{}{}:
	default:
	}
}

// desktopSummaryCommand has a call summed up.
func desktopSummaryCommand(p *program) *cobra.Command {
	var session string
	var json bool
	cmd := &cobra.Command{
		Use:   "summary",
		Short: "Have the assistant sum a call up",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.with(cmd, func(ctx context.Context, d *desk) error {
				var s *byo.SessionSummary
				if err := d.call(ctx, http.MethodPost, sessionPath(session, "/summary"), struct{}{}, &s); err != nil {
					return err
				}
				switch {
				case s == nil:
					p.io.Say("the summary comes as a message of the conversation: stagewhisper desktop insights --tab chat --session %s", session)
					return nil
				case json:
					return p.io.JSON(s)
				}
				printSummary(p.io.Out, s)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&session, "session", defaultCall, "the call")
	cmd.Flags().BoolVar(&json, "json", false, "print JSON")
	return cmd
}

func printSummary(out io.Writer, s *byo.SessionSummary) {
	fmt.Fprintln(out, plain(s.Summary))
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(out, "\n%s\n- %s\n", title, plain(strings.Join(lines, "\n- ")))
		}
	}
	section("Key points", s.KeyPoints)
	var items []string
	for _, i := range s.ActionItems {
		line := i.Text
		if i.Owner != "" {
			line = i.Owner + ": " + line
		}
		if i.Due != "" {
			line += " (" + i.Due + ")"
		}
		items = append(items, line)
	}
	section("To do", items)
	section("Open", s.FollowUps)
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"openclaw/byo"
	"openclaw/internal/cli"
	"openclaw/internal/desktop"
	"openclaw/internal/disk"
	"openclaw/internal/sse"
)

const (
	desktopFolder = "desktop"
	apiFile       = "api.json"
	apiAnswers    = 3 * time.Minute // the longest: a summary
)

// desktopCommand is the desktop without a window. See
// docs/commands/stagewhisper/desktop.md.
func desktopCommand(p *program) *cobra.Command {
	return group("desktop", "Be the desktop: pair, talk, follow a call",
		desktopListenCommand(p), desktopPairCommand(p), desktopUnpairCommand(p), desktopAssistantsCommand(p), desktopStatusCommand(p),
		desktopChatCommand(p), desktopCallCommand(p), desktopFeedCommand(p), desktopInsightsCommand(p), desktopSummaryCommand(p), desktopProbeCommand(p))
}

// address is what api.json holds.
type address struct {
	URL   string     `json:"url"`
	Token byo.Secret `json:"token"`
}

// desk is the desktop that a command talks to: the daemon, or one of its own that
// lives as long as the command.
type desk struct {
	address
	http   *http.Client
	own    bool
	cancel context.CancelFunc
	group  *errgroup.Group
}

// openDesk finds the daemon or starts a desktop for this command.
func (p *program) openDesk(ctx context.Context) (*desk, error) {
	dir, err := p.folder(desktopFolder)
	if err != nil {
		return nil, err
	}
	d := &desk{http: &http.Client{Transport: &http.Transport{Proxy: nil}}}
	if data, err := disk.ReadFile(filepath.Join(dir, apiFile), 64<<10); err == nil && json.Unmarshal(data, &d.address) == nil {
		ask, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if d.call(ask, http.MethodGet, "/v1/status", nil, nil) == nil {
			return d, nil
		}
	}
	s, err := p.startDesk(ctx, desktop.Config{Dir: dir}, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return s, nil
}

// startDesk runs a desktop with its API until close.
func (p *program) startDesk(ctx context.Context, cfg desktop.Config, addr string) (*desk, error) {
	main, err := desktop.Open(cfg)
	if errors.Is(err, desktop.ErrInUse) {
		return nil, cli.Fail("the desktop runs in another process, which does not answer", "stop it, or choose another state folder with --state")
	}
	if err != nil {
		return nil, fmt.Errorf("open the desktop: %w", err)
	}
	d := &desk{own: true, http: &http.Client{Transport: &http.Transport{Proxy: nil}}}
	run, cancel := context.WithCancel(ctx)
	d.cancel = cancel
	d.group, run = errgroup.WithContext(run)
	ready := make(chan struct{})
	d.group.Go(func() error { close(ready); return main.Run(run) })
	<-ready
	l, err := listen("--api", addr)
	if err == nil {
		d.URL = "http://" + l.Addr().String()
		d.Token, err = byo.NewToken(nil, "")
	}
	if err != nil {
		cancel()
		return nil, errors.Join(err, d.group.Wait())
	}
	log := cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	server := &http.Server{Handler: desktop.NewAPI(main, d.Token), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return run }, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	d.group.Go(func() error { return cleanEnd(server.Serve(l)) })
	d.group.Go(func() error {
		<-run.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(run), 2*time.Second)
		defer cancel()
		if server.Shutdown(stop) != nil {
			server.Close()
		}
		return nil
	})
	return d, nil
}

// close ends a desktop of this command's own.
func (d *desk) close() error {
	d.http.CloseIdleConnections()
	if !d.own {
		return nil
	}
	d.cancel()
	return d.group.Wait()
}

// call calls the API.
func (d *desk) call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, apiAnswers)
	defer cancel()
	resp, err := d.do(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read the desktop's answer: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		var body struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		_ = json.Unmarshal(data, &body) // another program may listen there
		return errors.New(cmp.Or(body.Error.Message, "the desktop answers "+resp.Status))
	}
	if out == nil || len(data) == 0 {
		return nil
	}
	return json.Unmarshal(data, out)
}

func (d *desk) do(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.URL+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+string(d.Token))
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reach the desktop: %w", err)
	}
	return resp, nil
}

// watch hands on what happens until take returns false or ctx ends. ready is called
// once nothing can be missed any more.
func (d *desk) watch(ctx context.Context, ready func() error, take func(*desktop.Event) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := d.do(ctx, http.MethodGet, "/v1/events", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the desktop answers %s", resp.Status)
	}
	if err := ready(); err != nil {
		return err
	}
	r := sse.NewReader(resp.Body, sse.Config{MaxLine: 4 << 20, MaxEvent: 4 << 20})
	for {
		ev, err := r.Next()
		if err != nil {
			return err
		}
		var e desktop.Event
		if json.Unmarshal(ev.Data, &e) == nil && !take(&e) {
			return nil
		}
	}
}

// assistants lists what is paired.
func (d *desk) assistants(ctx context.Context) ([]desktop.Assistant, error) {
	var list struct {
		Assistants []desktop.Assistant `json:"assistants"`
	}
	err := d.call(ctx, http.MethodGet, "/v1/assistants", nil, &list)
	return list.Assistants, err
}

// assistant finds the one that is meant by its id or label; none means the only one.
func (d *desk) assistant(ctx context.Context, name string) (*desktop.Assistant, error) {
	list, err := d.assistants(ctx)
	if err != nil {
		return nil, err
	}
	var found []*desktop.Assistant
	for i := range list {
		if a := &list[i]; name == "" || a.ID == name || strings.EqualFold(a.Label, name) {
			found = append(found, a)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(list) == 0:
		return nil, cli.Fail("no assistant is paired", "over a relay: stagewhisper desktop pair --api-url URL", "directly: stagewhisper desktop pair CODE")
	case len(found) == 0:
		return nil, cli.Fail(fmt.Sprintf("no assistant %q is paired", name), "list them: stagewhisper desktop assistants")
	}
	return nil, cli.Fail("several assistants are paired: which one?", "choose with --assistant ID; list them: stagewhisper desktop assistants")
}

// with runs f with the desktop and closes it.
func (p *program) with(cmd *cobra.Command, f func(ctx context.Context, d *desk) error) error {
	d, err := p.openDesk(cmd.Context())
	if err != nil {
		return err
	}
	err = f(cmd.Context(), d)
	return errors.Join(err, d.close())
}

// desktopListenCommand is the daemon.
func desktopListenCommand(p *program) *cobra.Command {
	var api, callback, advertised, ssh string
	var log logFlags
	cmd := &cobra.Command{
		Use:   "listen",
		Short: "Stay: listen for what assistants say, and serve the API for the other commands",
		Long: `Runs the desktop until Ctrl-C: it follows the relays, listens on this machine for the
callbacks of assistants that are paired directly, and serves an API for the other desktop
commands and for a page. Where the API is and its token stand in api.json of the state
folder. Without it each command runs a desktop of its own while it lasts.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			for flag, addr := range map[string]string{"--api": api, "--callback": callback} {
				if addr == "" && flag == "--callback" {
					continue
				}
				if loopback, err := checkBind(flag, addr); err != nil {
					return err
				} else if !loopback {
					return cli.Fail(fmt.Sprintf("%s %s is reached from other machines", flag, addr), "stay on this machine: 127.0.0.1:PORT")
				}
			}
			logger, closeLog, err := p.logger(log)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closeLog()) }()
			dir, err := p.folder(desktopFolder)
			if err != nil {
				return err
			}
			if port := p.env("STAGEWHISPER_CALLBACK_PORT"); port != "" && !cmd.Flags().Changed("callback") {
				callback = net.JoinHostPort("127.0.0.1", port)
			}
			d, err := p.startDesk(cmd.Context(), desktop.Config{Dir: dir, Listen: callback, SSH: ssh, Log: logger,
				CallbackURL: cmp.Or(advertised, p.env("STAGEWHISPER_CALLBACK_URL"))}, api)
			if err != nil {
				return err
			}
			data, err := json.Marshal(map[string]string{"url": d.URL, "token": string(d.Token)})
			if err == nil {
				err = disk.WriteFile(filepath.Join(dir, apiFile), append(data, '\n'), 0o600)
			}
			if err != nil {
				return errors.Join(err, d.close())
			}
			logger.Info("desktop is ready", "api", d.URL)
			err = d.group.Wait()
			return errors.Join(err, os.Remove(filepath.Join(dir, apiFile)))
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&api, "api", "127.0.0.1:0", "address of the API, on this machine; port 0 takes a free one")
	fl.StringVar(&callback, "callback", "127.0.0.1:8766", "address where assistants call back, on this machine; empty for none")
	fl.StringVar(&advertised, "callback-url", "", "address told to assistants instead, when a tunnel leads there")
	fl.StringVar(&ssh, "ssh-program", "ssh", "program for tunnels")
	log.register(fl)
	return cmd
}

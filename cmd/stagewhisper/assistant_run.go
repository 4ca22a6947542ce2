package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/cli"
	"openclaw/internal/disk"
	"openclaw/internal/guard"
	"openclaw/internal/relayclient"
)

// newPairings is how often a running assistant looks for new pairings.
const newPairings = 2 * time.Second

// serveFlags are the flags of assistant run.
type serveFlags struct {
	backendFlags
	only      []string
	listen    string
	hosts     []string
	callbacks []string
	pin       string
	log       logFlags
}

// assistantRunCommand answers for an agent.
func assistantRunCommand(p *program) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "run [flags] [-- PROGRAM ARG…]",
		Short: "Answer desktops: all pairings over relays, and the listener of the direct code",
		Long: `Answers the desktops that are paired: over relays, and on the listener of the code that
pair-code made. Each pairing has a folder, a token and a memory of its own; nothing of
one is seen by another. New pairings are taken up while it runs.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.argv = args
			return p.serve(cmd.Context(), &f)
		},
	}
	f.backendFlags.register(cmd)
	fl := cmd.Flags()
	fl.StringSliceVar(&f.only, "pairing", nil, `serve only this pairing, or "direct"; may be repeated (default: all)`)
	fl.StringVar(&f.listen, "listen", "", "address of the direct listener (default 127.0.0.1 and the port of the code)")
	fl.StringSliceVar(&f.hosts, "allow-host", nil, "name beyond those of this machine that requests may be sent to; may be repeated")
	fl.StringSliceVar(&f.callbacks, "allow-callback", nil, "origin beyond loopback that may be called back; may be repeated")
	fl.StringVar(&f.pin, "pin", "", "SHA-256 of the relay's certificate")
	f.log.register(fl)
	return cmd
}

func (p *program) serve(ctx context.Context, f *serveFlags) (err error) {
	if err := f.check(p); err != nil {
		return err
	}
	parent, err := p.pairings()
	if err != nil {
		return err
	}
	log, closeLog, err := p.logger(f.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	s := &service{p: p, flags: f, parent: parent, log: log, started: map[string]bool{}}
	var run context.Context
	s.group, run = errgroup.WithContext(ctx)
	s.first = true
	if err := s.startAll(run); err != nil {
		return errors.Join(err, s.stop())
	}
	if len(s.started) == 0 {
		return noPairing()
	}
	s.group.Go(func() error {
		for relayclient.Sleep(run, newPairings) {
			if err := s.startAll(run); err != nil {
				log.Warn("a new pairing is not served", "err", err)
			}
		}
		return nil
	})
	return s.group.Wait()
}

// service answers for all pairings.
type service struct {
	p       *program
	flags   *serveFlags
	parent  string
	log     *slog.Logger
	group   *errgroup.Group
	first   bool            // nothing was started yet: then any problem is an error
	started map[string]bool // by folder
}

// stop ends what was started before something failed.
func (s *service) stop() error {
	s.group.Go(func() error { return errStopped })
	if err := s.group.Wait(); !errors.Is(err, errStopped) {
		return err
	}
	return nil
}

var errStopped = errors.New("stopped")

func (s *service) wanted(name string) bool {
	if len(s.flags.only) == 0 {
		return !s.started[name]
	}
	for _, o := range s.flags.only {
		if o == name {
			return !s.started[name]
		}
	}
	return false
}

// startAll starts what is paired and does not run yet.
func (s *service) startAll(ctx context.Context) error {
	all, err := listPairings(s.parent)
	if err != nil {
		return err
	}
	for _, o := range s.flags.only {
		if s.first && o != directFolder && all[o] == nil {
			return cli.Fail(fmt.Sprintf("no pairing %q", o), "list them: stagewhisper assistant status")
		}
	}
	for name, pairing := range all {
		if s.wanted(name) {
			if err := s.relay(ctx, name, pairing); err != nil {
				return err
			}
		}
	}
	if s.wanted(directFolder) {
		if err := s.direct(ctx); err != nil {
			return err
		}
	}
	s.first = false
	return nil
}

// think starts what an agent needs to run.
func (s *service) think(ctx context.Context, dir, provider string) (assistant.Agent, error) {
	agent, err := s.flags.build(s.p, dir, provider, s.log)
	if err != nil {
		return nil, err
	}
	switch a := agent.(type) {
	case interface{ Run(context.Context) error }:
		s.group.Go(func() error { return a.Run(ctx) })
	case interface{ Close() error }:
		s.group.Go(func() error { <-ctx.Done(); return a.Close() })
	}
	return agent, nil
}

// relay serves one pairing over a relay. Its end by the other side does not end the
// others.
func (s *service) relay(ctx context.Context, name string, pairing *assistant.Pairing) error {
	dir := filepath.Join(s.parent, name)
	ctx, cancel := context.WithCancel(ctx) // what thinks for a pairing ends with it
	agent, err := s.think(ctx, dir, pairing.ProviderKind)
	if err != nil {
		cancel()
		return err
	}
	client, err := assistant.OpenClient(assistant.ClientConfig{Dir: dir, Agent: agent, Version: version, Transport: s.flags.kind, HTTP: relayclient.NewHTTP(s.flags.pin), Log: s.log.With("integration", name)})
	if err != nil {
		cancel()
		return err
	}
	s.started[name] = true
	s.log.Info("answering over a relay", "integration", name, "relay", pairing.APIBaseURL, "backend", s.flags.kind)
	s.group.Go(func() error {
		defer cancel()
		err := client.Run(ctx)
		if errors.Is(err, relayclient.ErrRevoked) || relayclient.Gone(err) {
			s.log.Warn("the desktop has ended the pairing", "integration", name)
			return assistant.RemovePairing(dir)
		}
		return err
	})
	return nil
}

// direct serves the listener, when there is a token for it.
func (s *service) direct(ctx context.Context) error {
	dir := filepath.Join(s.parent, directFolder)
	env := s.p.env
	given := byo.Secret(cmp.Or(env("STAGEWHISPER_HTTP_TOKEN"), env("STAGEWHISPER_RELAY_TOKEN")))
	d, err := readDirect(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && given != "":
		d = &direct{Port: directPort}
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if given != "" && len(given) < byo.MinToken {
		return cli.Fail(fmt.Sprintf("the token in the environment is too short: want %d characters", byo.MinToken))
	}
	host := cmp.Or(env("STAGEWHISPER_HTTP_HOST"), env("STAGEWHISPER_LISTEN_HOST"), "127.0.0.1")
	port := cmp.Or(env("STAGEWHISPER_HTTP_PORT"), env("STAGEWHISPER_LISTEN_PORT"), strconv.Itoa(d.Port))
	addr := cmp.Or(s.flags.listen, net.JoinHostPort(host, port))
	if loopback, err := checkBind("--listen", addr); err != nil {
		return err
	} else if !loopback {
		return cli.Fail(fmt.Sprintf("--listen %s is reached from other machines", addr), "stay on this machine and let the desktop tunnel: stagewhisper desktop pair --ssh HOST CODE")
	}
	if err := disk.MkdirAll(dir); err != nil {
		return err
	}
	lock, err := disk.Lock(ctx, filepath.Join(dir, "lock"), disk.LockOptions{Timeout: -1})
	if err != nil {
		return cli.Fail("another process serves the direct listener already")
	}
	l, err := listen("--listen", addr)
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	token := func() byo.Secret {
		if given != "" {
			return given
		}
		if now, err := readDirect(dir); err == nil {
			return now.Token
		}
		return "" // unpaired: nobody gets in
	}
	if err := s.ingress(ctx, dir, d.Kind, l, lock, token); err != nil {
		return errors.Join(err, l.Close(), lock.Unlock())
	}
	s.started[directFolder] = true
	s.log.Info("answering on a listener", "addr", l.Addr().String(), "backend", s.flags.kind)
	return nil
}

// ingress starts the listener's server and its conversation.
func (s *service) ingress(ctx context.Context, dir, kind string, l net.Listener, lock *disk.FileLock, token func() byo.Secret) error {
	ctx, cancel := context.WithCancel(ctx)
	agent, err := s.think(ctx, dir, kind)
	if err != nil {
		cancel()
		return err
	}
	hosts := append(fields(s.p.env("STAGEWHISPER_ALLOW_INGRESS_HOSTS")), s.flags.hosts...)
	callbacks := assistant.Callbacks{Allowed: append(fields(s.p.env("STAGEWHISPER_ALLOW_CALLBACK_URLS")), s.flags.callbacks...), RemoteIngress: len(hosts) > 0}.Dial(guard.Dialer{})
	talk, err := assistant.OpenTalk(assistant.TalkConfig{Path: filepath.Join(dir, "talk.jsonl"), Agent: agent, Courier: callbacks.Deliver, Log: s.log})
	if err != nil {
		cancel()
		return err
	}
	server := &http.Server{Handler: assistant.NewIngress(assistant.IngressConfig{Token: token, Talk: talk, Callbacks: callbacks, Hosts: hosts, Version: version, Log: s.log}),
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	s.group.Go(func() error { return cleanEnd(server.Serve(l)) })
	s.group.Go(func() error {
		defer cancel()
		err := talk.Run(ctx)
		server.Close()
		return errors.Join(err, lock.Unlock())
	})
	return nil
}

// fields splits a list in the environment.
func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

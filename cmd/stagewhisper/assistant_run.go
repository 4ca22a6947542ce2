package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/cli"
	"openclaw/internal/relayclient"
)

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
	fl.StringVar(&f.pin, "pin", "", "SHA-256 of the relay's certificate, when it is another one than at the pairing")
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
	how, err := p.listening(f)
	if err != nil {
		return err
	}
	if err := f.known(parent); err != nil {
		return err
	}
	log, closeLog, err := p.logger(f.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	host := assistant.NewHost(assistant.HostConfig{
		Dir: parent, Strict: true, Version: version, Transport: f.kind, HTTP: pinned(f.pin), Log: log,
		Serves:    func(name string) bool { return len(f.only) == 0 || slices.Contains(f.only, name) },
		Listening: func() assistant.Listening { return how },
		Agent: func(_, dir, kind string) (assistant.Agent, error) {
			return f.build(p, dir, kind, log)
		},
	})
	err = host.Run(ctx)
	if errors.Is(err, assistant.ErrNothing) {
		return noPairing()
	}
	return err
}

// known refuses names of pairings that do not exist.
func (f *serveFlags) known(parent string) error {
	all, err := assistant.Pairings(parent)
	if err != nil {
		return err
	}
	for _, o := range f.only {
		if o != assistant.DirectName && all[o] == nil {
			return cli.Fail(fmt.Sprintf("no pairing %q", o), "list them: stagewhisper assistant status")
		}
	}
	return nil
}

// listening is how the direct listener is asked for, by flags and the environment.
func (p *program) listening(f *serveFlags) (assistant.Listening, error) {
	how := assistant.Listening{
		Host: cmp.Or(p.env("STAGEWHISPER_HTTP_HOST"), p.env("STAGEWHISPER_LISTEN_HOST")),
		// Hermes calls it the relay token; it is the one of the listener all the same.
		Token:     byo.Secret(cmp.Or(p.env("STAGEWHISPER_HTTP_TOKEN"), p.env("STAGEWHISPER_RELAY_TOKEN"))),
		Hosts:     append(fields(p.env("STAGEWHISPER_ALLOW_INGRESS_HOSTS")), f.hosts...),
		Callbacks: append(fields(p.env("STAGEWHISPER_ALLOW_CALLBACK_URLS")), f.callbacks...),
	}
	port := cmp.Or(p.env("STAGEWHISPER_HTTP_PORT"), p.env("STAGEWHISPER_LISTEN_PORT"))
	name := "the port in the environment"
	if f.listen != "" {
		name = "--listen"
		if loopback, err := checkBind(name, f.listen); err != nil {
			return how, err
		} else if !loopback {
			return how, cli.Fail(fmt.Sprintf("--listen %s is reached from other machines", f.listen), "stay on this machine and let the desktop tunnel: stagewhisper desktop pair --ssh HOST CODE")
		}
		var err error
		if how.Host, port, err = net.SplitHostPort(f.listen); err != nil {
			return how, err
		}
	}
	if port == "" {
		return how, nil
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 {
		return how, cli.Fail(fmt.Sprintf("%s is %q: want 1 to 65535", name, port))
	}
	how.Port = n
	return how, nil
}

// fields splits a list in the environment.
func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// pinned returns a client for a relay with that certificate; nil without one, for what
// the pairing says.
func pinned(pin string) *http.Client {
	if pin == "" {
		return nil
	}
	return relayclient.NewHTTP(pin)
}

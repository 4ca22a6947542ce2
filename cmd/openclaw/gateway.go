package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/internal/config"
	"openclaw/internal/gateway"
)

// runFlags are the flags of gateway and gateway run.
type runFlags struct {
	port              int
	bind, auth        string
	token, password   string
	allowUnconfigured bool
	allowLastGood     bool
	dev, reset        bool
	force             bool
	verbose           bool
}

// gatewayCommand runs the gateway, and holds the commands that ask one.
// See docs/commands/gateway.md.
func gatewayCommand(p *program) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Run the gateway, or ask a running one",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return p.runGateway(cmd, &f) },
	}
	f.register(cmd)
	cmd.AddCommand(gatewayRunCommand(p), gatewayCallCommand(p), gatewayHealthCommand(p), gatewayStatusCommand(p), gatewayProbeCommand(p))
	return cmd
}

func gatewayRunCommand(p *program) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the gateway in the foreground",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return p.runGateway(cmd, &f) },
	}
	f.register(cmd)
	return cmd
}

func (f *runFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.IntVar(&f.port, "port", 0, "port to listen on; 0 takes a free one (default: the configured one, else 18789)")
	fl.StringVar(&f.bind, "bind", "", "loopback, lan, tailnet, auto or custom")
	fl.StringVar(&f.auth, "auth", "", "token or password")
	fl.StringVar(&f.token, "token", "", "the token that clients must show")
	fl.StringVar(&f.password, "password", "", "the password that clients must show")
	fl.BoolVar(&f.allowUnconfigured, "allow-unconfigured", false, "start although gateway.mode is not local")
	fl.BoolVar(&f.allowLastGood, "allow-last-good", false, "start with the last valid copy when the config file is invalid")
	fl.BoolVar(&f.dev, "dev", false, "make a config and a workspace for trying things out, if there are none")
	fl.BoolVar(&f.reset, "reset", false, "with --dev: remove config, sessions and workspace of the profile first")
	fl.BoolVar(&f.force, "force", false, "end whoever listens on the port first")
	fl.BoolVar(&f.verbose, "verbose", false, "log more")
}

// check refuses wrong values, each with a line of its own. CLI-015.
func (f *runFlags) check(cmd *cobra.Command) error {
	if f.port < 0 || f.port > 65535 {
		return cli.Fail(fmt.Sprintf("--port %d is no port (use 1 to 65535, or 0 for a free one)", f.port))
	}
	if !slices.Contains([]string{"", "loopback", "lan", "tailnet", "auto", "custom"}, f.bind) {
		return cli.Fail(fmt.Sprintf("--bind %q is unknown (use loopback, lan, tailnet, auto or custom)", f.bind))
	}
	if !slices.Contains([]string{"", "token", "password"}, f.auth) {
		return cli.Fail(fmt.Sprintf("--auth %q is unknown (use token or password)", f.auth))
	}
	if f.reset && !f.dev {
		return cli.Fail("--reset works only together with --dev", "it removes the config, the sessions and the workspace of a dev profile")
	}
	return nil
}

// runGateway runs the gateway until a signal ends it.
func (p *program) runGateway(cmd *cobra.Command, f *runFlags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	// A reader of our output that goes away must not end the gateway.
	signal.Ignore(syscall.SIGPIPE)
	defer serveProfiles()()
	if f.dev {
		if err := p.prepareDev(ctx, f.reset); err != nil {
			return err
		}
	}
	file, err := p.startable(ctx, f)
	if err != nil || file == nil {
		return err
	}
	snap := file.Snapshot()
	log, err := p.openLog(snap.Config, p.io.Err, f.verbose)
	if err != nil {
		return err
	}
	defer log.close()
	h := &host{program: p, flags: f, log: log}
	h.port, _ = snap.Config.Port(os.Getenv)
	if cmd.Flags().Changed("port") {
		h.fixed, h.port = &f.port, f.port
	}
	if f.force {
		if err := p.freeTheWay(ctx, h.port); err != nil {
			return err
		}
	}
	if err := h.run(ctx); err != nil {
		log.fileOnly().Error("the gateway did not run", "subsystem", "gateway", "err", err)
		return p.startError(err, h.port)
	}
	return nil
}

// startError gives a refused start its words.
func (p *program) startError(err error, port int) error {
	var running *gateway.RunningError
	var inUse *gateway.InUseError
	switch {
	case errors.As(err, &running):
		return cli.Hint(err, fmt.Sprintf("see it with %q; stop it before you start another one", p.name+" gateway status"),
			"a gateway with a config of its own can run beside it: "+p.name+" --profile other gateway")
	case errors.As(err, &inUse):
		e := &cli.Error{Err: err}
		for _, l := range portListeners(port) {
			e.Details = append(e.Details, "listening there: "+l.String())
		}
		e.Hints = []string{"take another port with --port, or end that program (--force does both)"}
		return e
	}
	return p.explainStart(err)
}

// explainStart adds the next step to the texts by which a gateway refuses to start.
func (p *program) explainStart(err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "gateway.mode"):
		return cli.Hint(err, p.name+" config set gateway.mode local")
	case strings.Contains(text, "token"):
		return cli.Hint(err, p.name+" doctor --fix --generate-gateway-token")
	}
	return err
}

// quietLog is the log of commands that only write to the file.
func (p *program) quietLog(c *config.Config, debug bool) (*logger, error) {
	var console io.Writer
	if debug {
		console = p.io.Err
	}
	return p.openLog(c, console, debug)
}

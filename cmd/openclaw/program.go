package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"openclaw/internal/cli"
	"openclaw/internal/config"
)

// program is one execution of the command line. It exists before any command
// runs; whatever costs time is made on first use.
type program struct {
	io    *cli.Streams
	name  string // as invoked
	paths config.Paths
	// snapshot reads the config file once.
	snapshot func() *config.Snapshot
}

// env reads the process environment.
func (p *program) env(name string) string { return os.Getenv(name) }

// execute runs a command line and returns the exit code.
func execute(args []string, io *cli.Streams) int {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	globals, rest, err := cli.SplitGlobals(args[1:])
	if err != nil {
		cli.Report(io.Err, name, err)
		return cli.ExitCode(err)
	}
	if len(rest) == 1 && isVersionFlag(rest[0]) {
		fmt.Fprintln(io.Out, version)
		return 0
	}
	p := &program{io: io, name: name}
	if err := p.locate(globals); err != nil {
		cli.Report(io.Err, name, err)
		return cli.ExitCode(err)
	}
	ctx, stop := cli.SignalContext(context.Background())
	defer stop()
	root := rootCommand(p)
	root.SetArgs(rest)
	err = cli.Cause(ctx, root.ExecuteContext(ctx))
	cli.Report(io.Err, name, err)
	return cli.ExitCode(err)
}

func isVersionFlag(arg string) bool { return arg == "--version" || arg == "-V" || arg == "-v" }

// locate finds the folders of this profile and loads the .env files. Both take
// effect on the environment, so that children see them too.
func (p *program) locate(g cli.Globals) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return cli.Fail("cannot find your home folder: the environment does not name one", "set HOME")
	}
	p.io.Home = home
	vars, err := config.ProfileEnv(g.Profile, g.Dev, os.Getenv, home)
	if err != nil {
		return &cli.Error{Code: 2, Err: err}
	}
	if err := export(vars); err != nil {
		return err
	}
	if dir, err := os.Getwd(); err == nil {
		if err := export(config.DotEnv(os.Getenv, home, dir)); err != nil {
			return err
		}
	}
	p.paths = config.ResolvePaths(os.Getenv, home)
	p.io.NoColor = g.NoColor || os.Getenv("NO_COLOR") != ""
	p.io.ForceColor = !strings.Contains(" 0 false ", " "+os.Getenv("FORCE_COLOR")+" ") && os.Getenv("FORCE_COLOR") != ""
	p.snapshot = sync.OnceValue(func() *config.Snapshot { return config.Load(p.paths, os.Getenv) })
	return nil
}

func export(vars map[string]string) error {
	for name, value := range vars {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}

// now is the clock of commands that print ages.
func (p *program) now() time.Time { return time.Now() }

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

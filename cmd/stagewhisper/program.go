package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"openclaw/internal/cli"
	"openclaw/internal/disk"
	"openclaw/internal/logs"
)

// version is what --version prints and what both ends tell each other.
const version = "0.1.0"

// program is one execution of the command line.
type program struct {
	io    *cli.Streams
	name  string // as invoked
	state string // folder, from --state
}

// execute runs a command line and returns the exit code.
func execute(args []string, io *cli.Streams) int {
	p := &program{io: io, name: strings.TrimSuffix(filepath.Base(args[0]), ".exe")}
	p.io.NoColor = os.Getenv("NO_COLOR") != ""
	if home, err := os.UserHomeDir(); err == nil {
		p.io.Home = home
	}
	ctx, stop := cli.SignalContext(context.Background())
	defer stop()
	root := rootCommand(p)
	root.SetArgs(args[1:])
	err := cli.Cause(ctx, root.ExecuteContext(ctx))
	cli.Report(io.Err, p.name, err)
	return cli.ExitCode(err)
}

// env reads the process environment.
func (p *program) env(name string) string { return os.Getenv(name) }

// now is the clock of what is printed.
func (p *program) now() time.Time { return time.Now() }

// folder returns the state folder of one side, made when it is missing.
func (p *program) folder(parts ...string) (string, error) {
	base := cmp.Or(p.state, p.env("STAGEWHISPER_HOME"))
	if base == "" {
		if p.io.Home == "" {
			return "", cli.Fail("cannot find your home folder: the environment does not name one", "set HOME or STAGEWHISPER_HOME, or pass --state DIR")
		}
		base = filepath.Join(p.io.Home, ".stagewhisper")
	}
	base, err := filepath.Abs(base)
	if err != nil {
		return "", fmt.Errorf("find the state folder: %w", err)
	}
	dir := filepath.Join(append([]string{base}, parts...)...)
	if err := disk.MkdirAll(dir); err != nil {
		return "", cli.Hint(fmt.Errorf("make the state folder: %w", err), "choose another one with --state DIR")
	}
	return dir, nil
}

// logFlags are the flags of everything that stays.
type logFlags struct{ file, level string }

// logger writes to standard error, and as JSON lines to a file when one is asked for.
func (p *program) logger(f logFlags) (log *slog.Logger, closing func() error, err error) {
	level, err := logs.ParseLevel(f.level)
	if err != nil {
		return nil, nil, cli.Fail(fmt.Sprintf("--log-level %q is unknown (use error, warn, info, debug)", f.level))
	}
	cfg := logs.Config{Console: p.io.Err, ConsoleLevel: level, Level: level}
	if f.file == "" {
		return logs.New(cfg), func() error { return nil }, nil
	}
	file, err := disk.OpenLog(f.file)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	cfg.File, cfg.Console = file, nil
	return logs.New(cfg), file.Close, nil
}

// checkBind splits a listen address and says whether it is on this machine only.
func checkBind(flag, addr string) (loopback bool, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false, cli.Fail(fmt.Sprintf("%s %q is no address", flag, addr), "want HOST:PORT, such as 127.0.0.1:8790")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return false, cli.Fail(fmt.Sprintf("%s %q has no port: want 0 to 65535", flag, addr))
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

// listen opens a listener with an error that says what to do.
func listen(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("listen on %s: %w", addr, errors.Unwrap(err)), "choose another address with "+flag)
	}
	return l, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/internal/disk"
	"openclaw/protocol"
)

// demoCommand shows the product to somebody who has nothing yet: no key, no
// account, no config. See docs/commands/demo.md.
func demoCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Run one agent turn on a throw-away gateway, without any key",
		Long: `Starts a gateway of its own on a free port of this machine, with a new state
folder and a new workspace, and lets the built-in offline model read a file, run a
command and answer with what it saw. Nothing outside that folder is touched, keys
in the environment are not used, and the gateway is stopped at the end.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := newDemo(p)
			if err != nil {
				return err
			}
			return d.run(cmd.Context())
		},
	}
}

// demo drives child processes of this very binary, as a user would type them.
type demo struct {
	p     *program
	bin   string
	dir   string
	port  int
	token string
}

func newDemo(p *program) (*demo, error) {
	bin, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	d := &demo{p: p, bin: bin, token: "demo-" + rand.Text()}
	d.dir = filepath.Join(os.TempDir(), "openclaw-demo-"+strings.ToLower(rand.Text()[:8]))
	if err := disk.MkdirAll(filepath.Join(d.dir, "home")); err != nil {
		return nil, cli.Hint(fmt.Errorf("make a throw-away folder: %w", err), "set TMPDIR to a folder you may write to")
	}
	d.port, err = freePort()
	return d, err
}

func (d *demo) state() string     { return filepath.Join(d.dir, "state") }
func (d *demo) workspace() string { return filepath.Join(d.dir, "workspace") }

// env is the environment of the children: nothing of the user's own keys,
// profiles and folders gets through.
func (d *demo) env() []string {
	env := []string{
		"HOME=" + filepath.Join(d.dir, "home"),
		"OPENCLAW_STATE_DIR=" + d.state(),
		"OPENCLAW_GATEWAY_TOKEN=" + d.token,
		"OPENCLAW_GATEWAY_PORT=" + strconv.Itoa(d.port),
	}
	for _, name := range []string{"PATH", "TMPDIR", "TEMP", "TMP", "SystemRoot", "LANG", "TERM", "NO_COLOR", "FORCE_COLOR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

const (
	demoNote    = "The lobster's name is Clawdia.\n"
	demoMessage = `think I should look at the note and at the machine first ;; ` +
		`tool read {"path":"note.txt"} ;; tool exec {"command":"uname -s; echo six times seven is $((6*7))"} ;; report`
)

func (d *demo) run(ctx context.Context) error {
	began := time.Now()
	d.say("A throw-away gateway in %s", d.dir)
	if err := d.prepare(ctx); err != nil {
		return err
	}
	gw, err := d.startGateway(ctx)
	if err != nil {
		return err
	}
	defer gw.kill()
	d.say("\nGateway ready %s after its start, on ws://127.0.0.1:%d, with %s of memory.",
		gw.ready.Round(time.Millisecond), d.port, gw.memory())

	d.say("\nOne turn of the offline model: it reads a file, runs a command and reports.\n")
	d.say("$ %s agent --agent main --message '%s'", d.p.name, demoMessage)
	if err := d.child(ctx, "agent", "--agent", "main", "--verbose", "full", "--message", demoMessage); err != nil {
		return fmt.Errorf("run the agent turn: %w", err)
	}
	transcript, err := d.transcript(ctx)
	if err != nil {
		return err
	}
	memory := gw.memory()
	if err := gw.stop(ctx); err != nil {
		return err
	}
	d.say("\nTranscript:     %s", transcript)
	d.say("Gateway start:  %s from exec to the first handshake", gw.ready.Round(100*time.Microsecond))
	d.say("Gateway memory: %s after the turn", memory)
	d.say("Whole demo:     %s; the gateway has stopped. Remove the folder whenever you like:", time.Since(began).Round(10*time.Millisecond))
	d.say("                rm -r %s", d.dir)
	d.say("\n%s", d.nextSteps())
	return nil
}

// nextSteps is how to go on with a real model.
func (d *demo) nextSteps() string {
	bin := d.bin
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, bin); err == nil && !strings.HasPrefix(rel, "..") {
			bin = rel
		}
	}
	return strings.ReplaceAll(`To go on with a real model:
  BIN setup
  BIN config set gateway.mode local
  BIN doctor --fix --generate-gateway-token
  export ANTHROPIC_API_KEY=...    # or OPENAI_API_KEY, GEMINI_API_KEY, ...
  BIN gateway                     # leave it running, and in another terminal:
  BIN agent --agent main --message "hello"`, "BIN", bin)
}

// prepare writes the config and the workspace through the commands themselves.
func (d *demo) prepare(ctx context.Context) error {
	for _, args := range [][]string{
		{"setup", "--workspace", d.workspace()},
		{"config", "set", "gateway.mode", "local"},
		{"config", "set", "logging.file", filepath.Join(d.state(), "logs", "gateway.log")},
		{"config", "set", "agents.defaults.model.primary", "offline/offline"},
	} {
		if out, err := d.quiet(ctx, args...); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", d.p.name, strings.Join(args, " "), err, out)
		}
		d.say("$ %s %s", d.p.name, strings.Join(args, " "))
	}
	if err := disk.WriteFile(filepath.Join(d.workspace(), "note.txt"), []byte(demoNote), 0o600); err != nil {
		return fmt.Errorf("write a note into the workspace: %w", err)
	}
	return nil
}

// child runs a command whose output the user sees.
func (d *demo) child(ctx context.Context, args ...string) error {
	cmd := d.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = d.p.io.Out, d.p.io.Err
	return cmd.Run()
}

// quiet runs a command whose output is only wanted when it fails.
func (d *demo) quiet(ctx context.Context, args ...string) ([]byte, error) {
	return d.command(ctx, args...).CombinedOutput()
}

func (d *demo) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.bin, args...)
	cmd.Env = d.env()
	cmd.Dir = d.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// transcript asks the sessions command where the turn was written down.
func (d *demo) transcript(ctx context.Context) (string, error) {
	out, err := d.command(ctx, "sessions", "--json").Output()
	if err != nil {
		return "", fmt.Errorf("list the sessions: %w", err)
	}
	var list struct {
		Path     string `json:"path"`
		Sessions []struct {
			SessionID string `json:"sessionId"`
		} `json:"sessions"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return "", fmt.Errorf("list the sessions: %w", err)
	}
	if len(list.Sessions) == 0 {
		return "", errors.New("the turn left no session")
	}
	path := filepath.Join(filepath.Dir(list.Path), list.Sessions[0].SessionID+".jsonl")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find the transcript: %w", err)
	}
	return path, nil
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.p.io.Out, format+"\n", args...) }

// demoGateway is the gateway of a demo.
type demoGateway struct {
	cmd    *exec.Cmd
	output *bytes.Buffer
	exited chan error // one value, buffered
	wait   sync.WaitGroup
	ready  time.Duration
}

// startGateway starts the gateway and waits for the first handshake.
func (d *demo) startGateway(ctx context.Context) (*demoGateway, error) {
	gw := &demoGateway{output: new(bytes.Buffer), exited: make(chan error, 1)}
	gw.cmd = d.command(context.WithoutCancel(ctx), "gateway")
	gw.cmd.Stdout, gw.cmd.Stderr = gw.output, gw.output
	d.say("$ %s gateway &", d.p.name)
	began := time.Now()
	if err := gw.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the gateway: %w", err)
	}
	gw.wait.Go(func() { gw.exited <- gw.cmd.Wait() })
	limit, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := d.p.dialTarget(limit, target{URL: "ws://127.0.0.1:" + strconv.Itoa(d.port), Token: protocol.Secret(d.token)}, dialOptions{}); err == nil {
			gw.ready = time.Since(began)
			conn.Close()
			return gw, nil
		}
		select {
		case err := <-gw.exited:
			gw.exited <- err
			return nil, fmt.Errorf("the gateway ended before it was ready: %w\n%s", err, gw.output)
		case <-limit.Done():
			gw.kill()
			return nil, fmt.Errorf("wait for the gateway: %w\n%s", limit.Err(), gw.output)
		case <-tick.C:
		}
	}
}

// memory is the resident size of the gateway, as text.
func (gw *demoGateway) memory() string {
	kib, err := residentKiB(gw.cmd.Process.Pid)
	if err != nil {
		return "an unknown amount"
	}
	return cli.Bytes(kib * 1024)
}

// stop ends the gateway gracefully and wants exit code 0.
func (gw *demoGateway) stop(ctx context.Context) error {
	if err := gw.cmd.Process.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("stop the gateway: %w", err)
	}
	select {
	case err := <-gw.exited:
		gw.exited <- err
		if err != nil {
			return fmt.Errorf("stop the gateway: %w\n%s", err, gw.output)
		}
		return nil
	case <-time.After(10 * time.Second):
		return errors.New("stop the gateway: it is still there after 10 s")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kill makes sure that no process stays behind.
func (gw *demoGateway) kill() {
	_ = gw.cmd.Process.Kill() // already gone is fine
	gw.wait.Wait()
}

// residentKiB reads how much memory a process holds.
func residentKiB(pid int) (int64, error) {
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
		for line := range strings.Lines(string(status)) {
			if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				return strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			}
		}
	}
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

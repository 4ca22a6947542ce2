package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"openclaw/internal/cli"
	"openclaw/internal/disk"
	"openclaw/internal/relayclient"
)

const childReady = 15 * time.Second

// stage is a throw-away place with processes of this very program.
type stage struct {
	p   *program
	bin string
	dir string
}

func (p *program) newStage(name string) (*stage, error) {
	bin, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	dir := filepath.Join(os.TempDir(), "stagewhisper-"+name+"-"+strings.ToLower(rand.Text()[:8]))
	if err := disk.MkdirAll(dir); err != nil {
		return nil, cli.Hint(fmt.Errorf("make a throw-away folder: %w", err), "set TMPDIR to a folder you may write to")
	}
	return &stage{p: p, bin: bin, dir: dir}, nil
}

func (s *stage) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// command is this program with other arguments, and nothing of the user's own settings.
func (s *stage) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.bin, args...)
	cmd.Env = []string{"HOME=" + s.dir, "STAGEWHISPER_HOME=" + s.path("home"), "NO_COLOR=1", "GORACE=atexit_sleep_ms=0"}
	for _, name := range []string{"PATH", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// run runs a command to its end.
func (s *stage) run(args ...string) ([]byte, error) {
	out, err := s.command(args...).CombinedOutput()
	if err != nil {
		return out, fmt.Errorf("%s %s: %w\n%s", s.p.name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return out, nil
}

// process is one that stays.
type process struct {
	cmd    *exec.Cmd
	output bytes.Buffer
	wait   sync.WaitGroup
	ended  chan struct{}
	err    error // of the process, once ended is closed
}

func (s *stage) start(args ...string) (*process, error) {
	c := &process{cmd: s.command(args...), ended: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = &c.output, &c.output
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	c.wait.Go(func() { c.err = c.cmd.Wait(); close(c.ended) })
	return c, nil
}

// until waits for ok, as long as the process lives.
func (c *process) until(ctx context.Context, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, childReady)
	defer cancel()
	for !ok() {
		select {
		case <-c.ended:
			return fmt.Errorf("%s has ended: %w\n%s", what, errors.Join(c.err, errors.New("it said")), c.output.String())
		default:
		}
		if !relayclient.Sleep(ctx, 5*time.Millisecond) {
			return fmt.Errorf("%s does not get ready", what)
		}
	}
	return nil
}

// stop ends the process with a signal and waits for it.
func (c *process) stop(sig os.Signal) error {
	_ = c.cmd.Process.Signal(sig) // one that has ended already is what is wanted
	limit := time.AfterFunc(10*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer limit.Stop()
	c.wait.Wait()
	return c.err
}

func (c *process) end() { _ = c.stop(syscall.SIGINT) }

func answers(url string) bool {
	resp, err := http.Get(url)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const token = "bench-token-0123456789abcdef"

// world is a gateway process, and the model server it talks to.
type world struct {
	bin     string
	dir     string
	addr    string
	debug   string // where the gateway serves profiles, empty for nowhere
	connect []byte // the frame that begins every connection
	model   *model
	api     *httptest.Server
	cmd     *exec.Cmd
	ready   time.Duration // from exec to the first handshake
}

// newWorld makes a state folder; nothing runs yet. The model answers what cue asks
// for, whatever it is told.
func newWorld(o *options, cue string) (*world, error) {
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "openclaw-bench-")
	if err != nil {
		return nil, err
	}
	w := &world{bin: bin, dir: dir, connect: connectFrame()}
	if w.model, err = newModel(cue); err != nil {
		return nil, err
	}
	w.api = httptest.NewServer(w.model)
	if w.addr, err = freeAddr(); err != nil {
		return nil, err
	}
	if o.profile != "" {
		if w.debug, err = freeAddr(); err != nil {
			return nil, err
		}
	}
	return w, w.configure()
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (w *world) configure() error {
	_, port, err := net.SplitHostPort(w.addr)
	if err != nil {
		return err
	}
	config := map[string]any{
		"gateway": map[string]any{"mode": "local", "port": json.Number(port), "auth": map[string]any{"mode": "token", "token": token}},
		"models": map[string]any{"providers": map[string]any{"mock": map[string]any{
			"baseUrl": w.api.URL + "/v1", "apiKey": "none", "api": "openai-completions",
			"models": []any{map[string]any{"id": "mock-1", "name": "Mock", "contextWindow": 200000, "maxTokens": 8192}},
		}}},
		"agents":  map[string]any{"defaults": map[string]any{"model": map[string]any{"primary": "mock/mock-1"}, "workspace": filepath.Join(w.dir, "ws")}},
		"logging": map[string]any{"file": filepath.Join(w.dir, "gateway.log"), "consoleLevel": "warn"},
	}
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, "openclaw.json"), data, 0o600)
}

func (w *world) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "TMPDIR=" + w.dir, "OPENCLAW_STATE_DIR=" + w.dir, "OPENCLAW_PPROF=" + w.debug}
}

// command returns a command of the binary in this world.
func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.bin, args...)
	cmd.Env, cmd.Stderr = w.env(), os.Stderr
	return cmd
}

// start starts the gateway and waits for the first handshake.
func (w *world) start(ctx context.Context) error {
	w.cmd = w.command(context.WithoutCancel(ctx), "gateway")
	began := time.Now()
	if err := w.cmd.Start(); err != nil {
		w.cmd = nil
		return fmt.Errorf("start %s (run make build first): %w", w.bin, err)
	}
	limit, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		s, err := w.open(4096)
		if err == nil {
			w.ready = time.Since(began)
			return s.Close()
		}
		if limit.Err() != nil {
			return fmt.Errorf("wait for the gateway: %w", err)
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// stop ends the gateway gracefully.
func (w *world) stop() error {
	if w.cmd == nil {
		return nil
	}
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := w.cmd.Wait()
	w.cmd = nil
	return err
}

func (w *world) close() {
	if w.cmd != nil {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	}
	w.api.Close()
	_ = os.RemoveAll(w.dir)
}

// with runs a measurement on a running gateway; prepare, which may be nil, fills
// the state folder before.
func with(ctx context.Context, o *options, cue string, prepare func(*world) error, do func(*world) error) error {
	w, err := newWorld(o, cue)
	if err != nil {
		return err
	}
	defer w.close()
	if prepare != nil {
		if err := prepare(w); err != nil {
			return err
		}
	}
	if err := w.start(ctx); err != nil {
		return err
	}
	return errors.Join(do(w), w.stop())
}

// openMany opens n connections, a few at a time.
func (w *world) openMany(n, buffer int) ([]*socket, error) {
	conns := make([]*socket, n)
	errs := make([]error, 10)
	var wg sync.WaitGroup
	for k := range errs {
		wg.Go(func() {
			for i := k; i < n; i += len(errs) {
				if conns[i], errs[k] = w.open(buffer); errs[k] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("open %d connections (raise ulimit -n?): %w", n, err)
	}
	return conns, nil
}

func closeAll(conns []*socket) {
	for _, c := range conns {
		_ = c.Close() // nothing is expected of it any more
	}
}

// rest waits until the gateway has nothing left to do.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// memory reads the resident memory of the gateway and the part of it that is not
// the program file.
func (w *world) memory() (resident, anonymous int64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			resident = n << 10
		case "RssAnon:":
			anonymous = n << 10
		}
	}
	return resident, anonymous, nil
}

// cpu reads the processor time that the gateway has used.
func (w *world) cpu() (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(data), ") ")
	f := strings.Fields(rest)
	if !ok || len(f) < 13 {
		return 0, errors.New("/proc/PID/stat reads strangely")
	}
	user, err := strconv.ParseInt(f[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * (time.Second / 100), err // USER_HZ
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"openclaw/client"
	"openclaw/internal/mockllm"
	"openclaw/protocol"
)

const token = "bench-token-0123456789abcdef"

// world is a gateway process, and the mock model server it talks to.
type world struct {
	dir   string
	port  int
	model *timedModel
	api   *httptest.Server
	cmd   *exec.Cmd
	ready time.Duration // from exec to the first handshake
}

// timedModel is the mock model server; it adds up how long it took to answer.
type timedModel struct {
	http.Handler
	busy atomic.Int64 // nanoseconds
}

func (m *timedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	m.Handler.ServeHTTP(w, r)
	m.busy.Add(int64(time.Since(began)))
}

// newWorld makes a state folder; nothing runs yet.
func newWorld() (*world, error) {
	dir, err := os.MkdirTemp("", "openclaw-bench-")
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir, model: &timedModel{Handler: mockllm.New(mockllm.Config{ChunkSize: 8})}}
	w.api = httptest.NewServer(w.model)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.port = l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}
	config := map[string]any{
		"gateway": map[string]any{"mode": "local", "port": w.port, "auth": map[string]any{"mode": "token", "token": token}},
		"models": map[string]any{"providers": map[string]any{"mock": map[string]any{
			"baseUrl": w.api.URL + "/v1", "apiKey": "none", "api": "openai-completions",
			"models": []any{map[string]any{"id": "mock-1", "name": "Mock", "contextWindow": 200000, "maxTokens": 8192}},
		}}},
		"agents":  map[string]any{"defaults": map[string]any{"model": map[string]any{"primary": "mock/mock-1"}, "workspace": filepath.Join(dir, "ws")}},
		"logging": map[string]any{"file": filepath.Join(dir, "gateway.log"), "consoleLevel": "warn"},
	}
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, err
	}
	return w, os.WriteFile(filepath.Join(dir, "openclaw.json"), data, 0o600)
}

func (w *world) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "TMPDIR=" + w.dir, "OPENCLAW_STATE_DIR=" + w.dir}
}

// start starts the gateway and waits for the first handshake.
func (w *world) start(ctx context.Context, bin string) error {
	path, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	w.cmd = exec.Command(path, "gateway")
	w.cmd.Env, w.cmd.Stderr = w.env(), os.Stderr
	began := time.Now()
	if err := w.cmd.Start(); err != nil {
		return fmt.Errorf("start %s (run make build first): %w", bin, err)
	}
	limit, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		c, err := w.dial(limit, nil, 0)
		if err == nil {
			w.ready = time.Since(began)
			return c.Close()
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

func (w *world) dial(ctx context.Context, caps []string, events int) (*client.Client, error) {
	return client.Dial(ctx, client.Options{
		URL: "ws://127.0.0.1:" + strconv.Itoa(w.port), Token: token,
		Client: protocol.ClientInfo{ID: protocol.ClientCLI, Mode: protocol.ModeCLI, Version: "bench", Platform: "linux"},
		Scopes: []string{protocol.ScopeAdmin}, Caps: caps, EventQueue: events,
	})
}

// dialMany opens n connections, a few at a time.
func (w *world) dialMany(ctx context.Context, n, events int) ([]*client.Client, error) {
	conns := make([]*client.Client, n)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for k := range errs {
		wg.Go(func() {
			for i := k; i < n; i += len(errs) {
				if conns[i], errs[k] = w.dial(ctx, nil, events); errs[k] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("open %d connections (raise ulimit -n?): %w", n, err)
		}
	}
	return conns, nil
}

// memory reads the resident and the anonymous memory of the gateway in KiB.
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
			resident = n
		case "RssAnon:":
			anonymous = n
		}
	}
	return resident, anonymous, nil
}

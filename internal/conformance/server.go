package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is the real binary with a state folder of its own.
type Server struct {
	Target
	// Log is the file that the process writes its output to.
	Log string

	cmd    *exec.Cmd
	exited chan struct{}
	err    error // how the process ended; read after exited
	stop   sync.Once
}

// token is the shared secret of every scenario.
const token = "conformance-token-0123456789abcdef"

// Start runs `bin gateway` with the configuration of the recordings: token auth,
// no channels, and the model server at modelURL as the only provider. Home
// becomes the user's home folder. It returns when the gateway is ready.
// Scenario names the recording that will be played.
func Start(ctx context.Context, bin, home, modelURL, scenario string) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	state := filepath.Join(home, ".openclaw")
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	conf := recordedConfig(port, modelURL)
	maps.Copy(conf, touched[scenario])
	if scenario == "reads" {
		log := filepath.Join(home, "gateway.log")
		if err := writeLog(log); err != nil {
			return nil, err
		}
		conf["logging"] = object{"file": log}
	}
	config, err := json.MarshalIndent(conf, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(state, "openclaw.json"), config, 0o600); err != nil {
		return nil, err
	}
	out, err := os.Create(filepath.Join(home, "gateway.out"))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	s := &Server{
		Target: Target{URL: fmt.Sprintf("ws://127.0.0.1:%d", port), Token: token, Home: home},
		Log:    out.Name(),
		cmd:    exec.Command(bin, "gateway", "--port", strconv.Itoa(port)),
		exited: make(chan struct{}),
	}
	s.Target.Stop = s.Stop
	s.cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "TZ=UTC"}
	s.cmd.Dir = home
	s.cmd.Stdout, s.cmd.Stderr = out, out
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		s.err = s.cmd.Wait()
		close(s.exited)
	})
	if err := s.ready(ctx, port); err != nil {
		s.Stop()
		wait.Wait()
		text, _ := os.ReadFile(s.Log)
		return nil, fmt.Errorf("%w; its output:\n%s", err, text)
	}
	return s, nil
}

// writeLog makes a log file as long as the one of the recordings, which is more
// than one answer of logs.tail holds.
func writeLog(path string) error {
	line := fmt.Sprintf(`{"time":"2025-12-31T23:59:59.000Z","level":"info","msg":"an earlier day","note":%q}`+"\n", strings.Repeat("-", 870))
	return os.WriteFile(path, bytes.Repeat([]byte(line), 310), 0o600)
}

// ready polls the readiness probe.
func (s *Server) ready(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	url := fmt.Sprintf("http://127.0.0.1:%d/readyz", port)
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-s.exited:
			return fmt.Errorf("gateway ended: %v", s.err)
		case <-ctx.Done():
			return fmt.Errorf("wait for gateway: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// Stop asks the process to end as an operator would. It does not wait.
func (s *Server) Stop() {
	s.stop.Do(func() { _ = s.cmd.Process.Signal(syscall.SIGTERM) })
}

// Close ends the process and reports an end that was not clean.
func (s *Server) Close() error {
	s.Stop()
	select {
	case <-s.exited:
		return s.err
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.exited
		return fmt.Errorf("gateway did not end within 10 s of SIGTERM")
	}
}

func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

type object = map[string]any

// touched holds what earlier recordings had left in the configuration.
var touched = map[string]object{
	"config": {
		"meta":   object{"lastTouchedAt": "2025-12-31T23:59:59.474Z", "lastTouchedVersion": "2026.2.3"},
		"skills": object{"entries": object{"weather": object{"enabled": false}}},
	},
}

// recordedConfig is the configuration under which the recordings were made.
func recordedConfig(port int, modelURL string) object {
	provider := func(base, api, id, name string, reasoning bool) object {
		return object{
			"baseUrl": base, "apiKey": "mock-key", "api": api,
			"models": []object{{
				"id": id, "name": name, "reasoning": reasoning, "input": []string{"text"},
				"cost":          object{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
				"contextWindow": 200000, "maxTokens": 8192,
			}},
		}
	}
	return object{
		"update": object{"checkOnStart": false},
		"models": object{"mode": "merge", "providers": object{
			"mock":     provider(modelURL+"/v1", "openai-completions", "mock-1", "Mock 1", false),
			"mockanth": provider(modelURL, "anthropic-messages", "mock-2", "Mock 2", true),
			"mockresp": provider(modelURL+"/v1", "openai-responses", "mock-3", "Mock 3", true),
		}},
		"agents": object{"defaults": object{
			"model":          object{"primary": "mock/mock-1"},
			"compaction":     object{"mode": "safeguard"},
			"timeoutSeconds": 120, "maxConcurrent": 4,
			"subagents": object{"maxConcurrent": 8},
		}},
		"commands":  object{"native": "auto", "nativeSkills": "auto"},
		"messages":  object{"ackReactionScope": "group-mentions"},
		"discovery": object{"mdns": object{"mode": "off"}},
		"gateway": object{
			"port": port, "mode": "local", "bind": "loopback",
			"auth": object{"mode": "token", "token": token},
		},
	}
}

package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"openclaw/internal/mockllm"
	"openclaw/internal/testkit"
)

// scenarios are the recordings that are played, one line each.
var scenarios = []string{
	"connect-ok",
	"connect-bad-token",
	"connect-bad-first-frame",
	"connect-protocol-mismatch",
	"connect-device-signed",
	"device-tokens",
	"health-status",
	"reads",
	"errors",
	"models-skills-agents",
	"sessions",
	"chat-commands",
	"agent-run-tool",
	"agent-wait",
	"chat-send-history",
	"chat-abort",
	"config",
	"tick-shutdown",
}

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "openclaw-conformance-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "openclaw")
	build := exec.Command("go", "build", "-o", binary, "openclaw/cmd/openclaw")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the gateway: %v\n%s", err, out)
		os.Exit(1)
	}
	testkit.Main(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// play runs one recording against a gateway of its own.
func play(t *testing.T, name string) []Diff {
	t.Helper()
	rec, err := Load(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	model := httptest.NewServer(mockllm.New(mockllm.Config{}))
	defer model.Close()
	server, err := Start(ctx, binary, t.TempDir(), model.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Errorf("gateway ended with %v, want a clean end", err)
		}
		if t.Failed() {
			out, _ := os.ReadFile(server.Log)
			t.Logf("output of the gateway:\n%s", out)
		}
	}()
	diffs, err := Play(ctx, rec, server.Target)
	if err != nil {
		t.Fatal(err)
	}
	return diffs
}

func TestScenarios(t *testing.T) {
	used := map[int]bool{}
	played := 0
	var mu sync.Mutex
	t.Run("all", func(t *testing.T) {
		for _, name := range scenarios {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // they wait more than they work
				left, covered := Judge(play(t, name), tolerated)
				mu.Lock()
				defer mu.Unlock()
				played++
				maps.Copy(used, covered)
				for _, d := range left {
					t.Error(d)
				}
			})
		}
	})
	if t.Failed() || played < len(scenarios) {
		return // -run may have left some out
	}
	for i, tol := range tolerated {
		if !used[i] && !tol.Sometimes {
			t.Errorf("tolerance %+v is not needed any more", tol)
		}
	}
}

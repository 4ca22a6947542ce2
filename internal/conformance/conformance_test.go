package conformance

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	"agent-dedupe",
	"agent-run-cap",
	"agent-run-tool-verbose",
	"connect-device-errors",
	"connect-pairing-remote",
	"connect-scopes",
	"connect-timeout",
	"queue-collect",
	"queue-steer",
	"agent-anthropic",
	"agent-responses",
	"agent-errors",
	"connect-node-role",
	"client-cli-agent",
	"client-cli-gateway-call",
	"client-cli-health",
	"client-cli-status",
	"client-openclaw-node-0.1",
	"client-openclaw-node-0.14-mismatch",
}

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	// Plays wait more than they work, so more of them run at once than there are
	// processors. The command line may say otherwise.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
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

// parts returns what is played of a recording, each against a gateway of its own.
func parts(t *testing.T, name string) []*Recording {
	t.Helper()
	rec, err := Load(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if name == "agent-errors" { // ten runs, some with all their retries
		return rec.Split()
	}
	return []*Recording{rec}
}

// Every difference that is tolerated has its reason.
func TestTolerancesHaveReasons(t *testing.T) {
	reason := regexp.MustCompile(`^((GP|AR) \d+\.\d+( \[HARD\])?|GW-\d+|` + strings.Join([]string{ownVersion, ownHost, ownTime, ownIDs, ownText, ownStart, later}, "|") + `)$`)
	for _, tol := range tolerated {
		if !reason.MatchString(tol.By) || tol.Frame == "" || tol.Kind == "" {
			t.Errorf("%+v has no reason that is known, no frame or no kind", tol)
		}
	}
}

// play plays a recording against a gateway of its own.
func play(t *testing.T, rec *Recording) []Diff {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	model := httptest.NewServer(mockllm.New(mockllm.Config{}))
	defer model.Close()
	server, err := Start(ctx, binary, t.TempDir(), model.URL, rec.Name)
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

// GW-020 to GW-160 as far as the recordings show them: each is played again.
func TestScenarios(t *testing.T) {
	t.Parallel()
	used := map[int]bool{}
	var played atomic.Int32
	var mu sync.Mutex
	t.Run("all", func(t *testing.T) {
		for _, name := range scenarios {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // they wait more than they work
				for i, rec := range parts(t, name) {
					t.Run(strconv.Itoa(i+1), func(t *testing.T) {
						t.Parallel()
						left, covered := Judge(play(t, rec), tolerated)
						mu.Lock()
						defer mu.Unlock()
						maps.Copy(used, covered)
						for _, d := range left {
							t.Error(d)
						}
					})
				}
				played.Add(1)
			})
		}
	})
	if t.Failed() || int(played.Load()) < len(scenarios) {
		return // -run may have left some out
	}
	for i, tol := range tolerated {
		if !used[i] && !tol.Sometimes {
			t.Errorf("tolerance %+v is not needed any more", tol)
		}
	}
}

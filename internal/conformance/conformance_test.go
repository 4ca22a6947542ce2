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

// scenarios are the recordings that are played, one line each with what it proves
// among other things; those that take long come first.
var scenarios = []string{
	"agent-errors",            // GW-087, RT-068, RT-070
	"agent-anthropic",         // GW-087
	"agent-responses",         // GW-087
	"connect-timeout",         // GW-006
	"connect-scopes",          // GW-011, GW-060
	"connect-ok",              // GW-001, GW-023, GW-024, GW-025, GW-086
	"connect-bad-token",       // GW-040, GW-041
	"connect-bad-first-frame", // GW-004, GW-005, GW-020, GW-022
	"connect-protocol-mismatch",
	"connect-device-signed",  // GW-042
	"connect-device-errors",  // GW-030, GW-031, GW-032, GW-033
	"connect-pairing-remote", // GW-070
	"connect-node-role",      // GW-062
	"device-tokens",
	"health-status", // GW-086
	"reads",
	"errors",                 // GW-007, GW-008, GW-011, GW-012
	"models-skills-agents",   // GW-121
	"sessions",               // GW-110, GW-112
	"agent-run-tool",         // GW-085, GW-100
	"agent-run-tool-verbose", // GW-085
	"agent-run-cap",
	"agent-dedupe",      // GW-100
	"agent-wait",        // GW-101
	"chat-send-history", // GW-102, GW-104
	"chat-abort",
	"chat-commands", // GW-102
	"queue-collect",
	"queue-steer",
	"config",        // GW-105
	"tick-shutdown", // GW-081
	"client-cli-agent",
	"client-cli-cron",
	"client-cli-gateway-call",
	"client-cli-health",
	"client-cli-status",
	"client-openclaw-node-0.1",
	"client-openclaw-node-0.14-mismatch", // GW-021
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

// Each recording is played again; see scenarios for the numbers.
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

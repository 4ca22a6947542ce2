//go:build unix

package ledger

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const killRounds = 20

// writeUntilKilled is the child of [TestKill]. It ends what the process before it
// lost, then accepts and ends runs from many goroutines while the file is renewed
// all the time, and prints a line for everything that was acknowledged.
func writeUntilKilled(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	l, err := Open(Config{Dir: dir})
	fail(err)
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	list, err := l.Lost()
	fail(err)
	for i, e := range list {
		if i%2 == 0 { // the rest is lost once more
			fail(e.End(Ending{State: Failed, Reason: "lost", EndedAt: time.Now()}))
			say("end %s failed", e.Accepted().Request.ID)
		}
	}
	var next atomic.Int64
	next.Store(int64(os.Getpid()) << 20)
	for range 6 {
		go func() {
			for {
				n := next.Add(1)
				a := ask(strconv.FormatInt(n, 10), time.Now())
				a.Request.Prompt = strings.Repeat("p", int(n%3000))
				e := l.New(a)
				fail(e.Commit())
				say("accept %d", n)
				if n%3 == 0 {
					continue // stays open
				}
				fail(e.End(Ending{State: Finished, EndedAt: time.Now()}))
				say("end %d finished", n)
				if n%2 == 0 {
					fail(e.Keep([]byte(`{"n":` + strconv.FormatInt(n, 10) + `}`)))
					say("keep %d", n)
				}
			}
		}()
	}
	for {
		l.mu.Lock()
		l.broken = true
		l.mu.Unlock()
		l.tidy()
	}
}

// P3, P6: a process is killed at random moments, over and over in one folder.
// Everything that it acknowledged is there afterwards, every run has at most one
// end and it does not change, lost and ended together are what was accepted, and
// no lock outlives the process.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	accepted, ends, kept := map[string]bool{}, map[string]string{}, map[string]bool{}
	for round := range killRounds {
		killAfter(t, dir, 1+rand.IntN(120), func(words []string) {
			switch {
			case words[0] == "accept":
				accepted[words[1]] = true
			case words[0] == "keep":
				kept[words[1]] = true
			case ends[words[1]] != "":
				t.Errorf("round %d: run %s ended as %s and as %s", round, words[1], ends[words[1]], words[2])
			default:
				ends[words[1]] = words[2]
			}
		})
		began := time.Now()
		l, err := Open(Config{Dir: crash(t, dir)})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("round %d: opening took %v", round, took)
		}
		seen := map[string]bool{}
		for _, id := range lost(t, l) {
			seen[id] = true
			if ends[id] != "" {
				t.Errorf("round %d: the end of run %s is lost", round, id)
			}
		}
		for _, p := range l.Ended() {
			id := string(p.ID)
			if seen[id] {
				t.Errorf("round %d: run %s is there twice", round, id)
			}
			seen[id] = true
			if want := ends[id]; want != "" && want != string(p.Ending.State) {
				t.Errorf("round %d: run %s is %s, acknowledged as %s", round, id, p.Ending.State, want)
			}
			ends[id] = string(p.Ending.State) // perhaps not acknowledged, but final from now on
			if kept[id] && string(p.Response) != `{"n":`+id+`}` {
				t.Errorf("round %d: response of run %s = %q", round, id, p.Response)
			}
		}
		for id := range accepted {
			if !seen[id] {
				t.Errorf("round %d: run %s was acknowledged and is gone", round, id)
			}
		}
		for id := range seen {
			accepted[id] = true // not acknowledged, but known from now on
		}
		if err := l.Close(); err != nil {
			t.Errorf("round %d: Close = %v", round, err)
		}
	}
	if len(accepted) < killRounds || len(ends) == 0 || len(kept) == 0 {
		t.Errorf("accepted %d, ended %d, kept %d: the test proves nothing", len(accepted), len(ends), len(kept))
	}
	t.Logf("accepted %d, ended %d, kept %d", len(accepted), len(ends), len(kept))
}

// killAfter runs the child until it has acknowledged n things, and a little
// longer; it passes on all that it acknowledged.
func killAfter(t *testing.T, dir string, n int, each func(words []string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "LEDGER_TEST_WRITER="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	for i := 0; ; i++ {
		line, err := in.ReadString('\n')
		if err != nil {
			break // a line that was cut off was not acknowledged
		}
		each(strings.Fields(line))
		if i == n {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if ctx.Err() != nil {
		t.Fatal("the child acknowledged too little")
	}
}

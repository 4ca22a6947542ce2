//go:build unix

package session

import (
	"bufio"
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

	"openclaw/internal/turn"
)

const (
	killRounds  = 20
	killWriters = 4
)

// writeUntilKilled is the child of [TestKillLosesNothing]. It prints a line for
// every update that the store acknowledged, and folds all the while.
func writeUntilKilled(dir string) {
	s, err := Open(Config{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	start, _ := strconv.Atoi(os.Getenv("SESSION_TEST_START"))
	var next atomic.Int64
	next.Store(int64(start))
	var out sync.Mutex
	for w := range killWriters {
		go func() {
			for {
				n := next.Add(1)
				key := fmt.Sprintf("agent:main:%d", n%7)
				_, err := s.Update(background, key, func(e *Entry) error {
					e.SessionID = key
					e.SkillsSnapshot = []byte(`{"prompt":"` + strings.Repeat("x", int(n%900)) + `"}`)
					e.Extra = map[string]rawJSON{fmt.Sprintf("w%d", w): rawJSON(strconv.FormatInt(n, 10))}
					return nil
				})
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				key2 := fmt.Sprintf("agent:main:own%d", w)
				if n%5 == 0 {
					_, err = s.Delete(background, key2)
					n = -n
				} else {
					_, err = s.Update(background, key2, func(e *Entry) error { e.Label = fmt.Sprintf("%d-%d", w, n); return nil })
				}
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				out.Lock()
				fmt.Printf("ack %d %d\n", w, n)
				out.Unlock()
			}
		}()
	}
	for {
		if err := s.fold(background); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// RT-023, P6: a writer is killed at random moments; nothing that was acknowledged
// is lost or torn, and no lock outlives it.
func TestKillLosesNothing(t *testing.T) {
	dir := t.TempDir()
	next := 0
	for round := range killRounds {
		last, highest := runAndKill(t, dir, next, 5+rand.IntN(60))
		next = highest + killWriters
		s, err := Open(Config{Dir: dir})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for w, n := range last {
			e, ok := s.Get(fmt.Sprintf("agent:main:own%d", w))
			// One more update may have reached the disk without being acknowledged.
			switch got := labelNumber(e.Label); {
			case ok && got > abs(n): // later, not acknowledged
			case !ok: // deleted: acknowledged, or later
				if n > 0 && !laterDelete(n, highest) {
					t.Errorf("round %d: writer %d: update %d is lost", round, w, n)
				}
			case n < 0 || got != n:
				t.Errorf("round %d: writer %d: entry says %q, last acknowledged %d", round, w, e.Label, n)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatalf("round %d: Close = %v", round, err)
		}
		if round%3 == 0 { // now the folded file alone
			checkFolded(t, dir, last)
		}
	}
	if left := hasPrefix(names(t, dir), journalName); len(left) > 0 {
		t.Errorf("files left: %v", left)
	}
}

// talkUntilKilled is the child of [TestKillKeepsTranscript]: one turn after the
// other, each in its own opening, every line acknowledged by its id.
func talkUntilKilled(dir string) {
	s, err := Open(Config{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		tr, err := s.OpenTranscript(background, TranscriptOptions{SessionID: "one"})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for _, m := range []turn.Message{user("q"), assistant(text("a"), call("c")), result("c", strings.Repeat("r", 5000)), assistant(text("done"))} {
			id, err := tr.Append(m)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println("line", id)
		}
		if err := tr.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// RT-029, P3, P6, P7: a run is killed at random moments. Every line that Append
// returned is there, the lock is free at once, and the next turn works.
func TestKillKeepsTranscript(t *testing.T) {
	for round := range 12 {
		dir := t.TempDir()
		ids := talkAndKill(t, dir, rand.IntN(24))
		s, err := Open(Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		tr, err := s.OpenTranscript(background, TranscriptOptions{SessionID: "one"})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("round %d: the lock of a dead process held for %v", round, took)
		}
		for _, id := range ids {
			if tr.tape.c.byID[id] == nil {
				t.Errorf("round %d: line %s of %d is lost", round, id, len(ids))
			}
		}
		say(t, tr, user("next"))
		checkPairs(t, fmt.Sprintf("round %d", round), context_(t, tr))
		say(t, tr, assistant(text("still here")))
		closeTranscript(t, tr)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func talkAndKill(t *testing.T, dir string, lines int) (ids []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SESSION_TEST_TALKER="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewScanner(out); in.Scan(); {
		if id, ok := strings.CutPrefix(in.Text(), "line "); ok && len(id) == 8 {
			ids = append(ids, id)
		}
		if len(ids) == lines+1 {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	return ids
}

func checkFolded(t *testing.T, dir string, last map[int]int) {
	t.Helper()
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for w, n := range last {
		if e, ok := s.Get(fmt.Sprintf("agent:main:own%d", w)); n > 0 && ok && labelNumber(e.Label) < n {
			t.Errorf("writer %d: folded entry says %q, last acknowledged %d", w, e.Label, n)
		}
	}
}

// runAndKill returns the last number that each writer acknowledged, negative for a
// deletion, and the highest of all.
func runAndKill(t *testing.T, dir string, start, acks int) (last map[int]int, highest int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SESSION_TEST_WRITER="+dir, "SESSION_TEST_START="+strconv.Itoa(start))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last = map[int]int{}
	lines := bufio.NewScanner(out)
	for i := 0; lines.Scan(); i++ {
		var w, n int
		if _, err := fmt.Sscanf(lines.Text(), "ack %d %d", &w, &n); err != nil {
			continue // cut by the kill
		}
		last[w] = n
		highest = max(highest, abs(n))
		if i == acks {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if highest == 0 {
		t.Fatal("the writer acknowledged nothing")
	}
	return last, highest
}

// laterDelete reports whether a writer whose last acknowledged number is n may have
// deleted its entry before the kill.
func laterDelete(n, highest int) bool {
	for m := n + 1; m <= highest+2*killWriters; m++ {
		if m%5 == 0 {
			return true
		}
	}
	return false
}

func labelNumber(label string) int {
	_, n, _ := strings.Cut(label, "-")
	v, _ := strconv.Atoi(n)
	return v
}

func abs(n int) int { return max(n, -n) }

//go:build unix

package router_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/turn"
	"openclaw/protocol"
)

const (
	killRounds   = 12
	killSessions = 3
	stateVar     = "ROUTER_TEST_STATE"
)

// TestKilledGateway is the child of [TestKill], and nothing without its parent: it
// takes requests for a few sessions until it is killed, and prints a line for what
// was acknowledged.
func TestKilledGateway(t *testing.T) {
	home := os.Getenv(stateVar)
	if home == "" {
		return
	}
	j := newJoinedIn(t, home, openLedger(t, home))
	if err := j.router.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("\n"+format+"\n", args...)
	}
	for n := range killSessions {
		j.chat(fmt.Sprint(os.Getpid(), "-mode-", n), killKey(n), "/queue collect debounce:0ms")
	}
	var wg sync.WaitGroup
	for w := range 2 * killSessions {
		wg.Go(func() {
			for n := 0; ; n++ {
				id, key := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, n), killKey(w%killSessions)
				text := fmt.Sprintf(`tool work {"ms":%d} ;; say done (%s)`, rand.IntN(3), id)
				r := requestUntilKilled(t, j.router, id, key, text, n%2 == 0)
				say("ack %s %s", id, key)
				<-r.Done()
				if _, err := r.Result(); err != nil {
					t.Error(err)
				}
				say("end %s %s", id, key)
			}
		})
	}
	wg.Wait()
}

func requestUntilKilled(t *testing.T, rt *router.Router, id, key, text string, chat bool) *router.Run {
	if !chat {
		r, err := rt.Agent(t.Context(), router.AgentRequest{AgentParams: params(id, text, key), Owner: "device:d"})
		if err != nil {
			t.Error(err)
		}
		return r
	}
	res, err := rt.Chat(t.Context(), router.ChatRequest{Owner: "device:d", ChatSendParams: protocol.ChatSendParams{
		SessionKey: key, Message: text, IdempotencyKey: id}})
	if err != nil {
		t.Error(err)
	}
	return res.Run
}

func killKey(n int) string { return fmt.Sprint("agent:main:kill", n) }

// P3, P6, P25, RT-029: a gateway is killed at random moments, over and over. Within
// two seconds after the next start every run that was acknowledged has one end,
// which is the same for who waits and in the session: an answer or a notice.
func TestKill(t *testing.T) {
	home := t.TempDir()
	acked, ended := map[string]string{}, map[string]bool{} // id → session key
	answers, notices := 0, 0
	for round := range killRounds {
		for _, words := range killAfter(t, home, 1+rand.IntN(40)) {
			acked[words[1]] = words[2]
			if words[0] == "end" {
				ended[words[1]] = true
			}
		}
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			began := time.Now()
			j := newJoinedIn(t, home, openLedger(t, home))
			if err := j.router.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("recovery took %v", took)
			}
			tales := map[string]map[string]tale{}
			for n := range killSessions {
				tales[killKey(n)] = j.tales(killKey(n))
			}
			answers, notices = 0, 0
			for id, key := range acked {
				got := tales[key][id]
				snap, ok := j.router.Wait(t.Context(), run.ID(id), 0)
				switch {
				case got.asked != 1 || got.answers+got.notices != 1:
					t.Errorf("run %s: %+v in the session, want it asked once, and one answer or notice", id, got)
				case !ok || (snap.Error == "") != (got.answers == 1):
					t.Errorf("run %s: waiting tells %+v, %v, but the session %+v", id, snap, ok, got)
				case ended[id] && got.answers != 1:
					t.Errorf("run %s ended well and is not answered now", id)
				}
				answers, notices = answers+got.answers, notices+got.notices
			}
		})
	}
	if answers == 0 || notices == 0 {
		t.Errorf("%d answers and %d notices: the test proves nothing", answers, notices)
	}
	t.Logf("%d runs acknowledged, %d answered, %d with a notice", len(acked), answers, notices)
}

// tale is what a session says about one run.
type tale struct{ asked, answers, notices int }

// tales reads a session: the id of a message is in its text.
func (j *joined) tales(key string) map[string]tale {
	j.t.Helper()
	all := map[string]tale{}
	e, ok := j.store.Get(key)
	if !ok {
		return all
	}
	raw, err := session.History(j.store.TranscriptPath(e), 100_000, 1<<30)
	if err != nil {
		j.t.Fatal(err)
	}
	id := ""
	for _, r := range raw {
		var m turn.Message
		if err := json.Unmarshal(r, &m); err != nil {
			j.t.Fatal(err)
		}
		text := m.Text()
		switch m.Role {
		case turn.RoleUser:
			_, after, _ := strings.Cut(text, "(")
			id, _, _ = strings.Cut(after, ")")
		case turn.RoleToolResult:
			continue
		}
		l := all[id]
		switch {
		case m.Role == turn.RoleUser:
			l.asked++
		case strings.HasPrefix(text, "⚠️ The gateway stopped"):
			l.notices++
		case text == "done ("+id+")":
			l.answers++
		}
		all[id] = l
	}
	return all
}

// killAfter runs the child until it has printed n lines, kills it and returns all
// that it acknowledged.
func killAfter(t *testing.T, home string, n int) (acks [][]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilledGateway$", "-test.v=false")
	cmd.Env = append(os.Environ(), stateVar+"="+home)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewReader(out); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			break // a line that was cut off was not acknowledged
		}
		words := strings.Fields(line)
		if len(words) != 3 || words[0] != "ack" && words[0] != "end" {
			continue
		}
		acks = append(acks, words)
		if len(acks) == n {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if ctx.Err() != nil || len(acks) < n {
		t.Fatalf("the child acknowledged %d things, want %d", len(acks), n)
	}
	return acks
}

package assistant_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/byo"
	"openclaw/internal/assistant"
)

// talk runs a Talk in a bubble; stop ends it like the end of the process.
type talk struct {
	*assistant.Talk
	desk *desk
	stop func()
}

func open(t *testing.T, path string, a *agent, d *desk) *talk {
	t.Helper()
	tk, err := assistant.OpenTalk(assistant.TalkConfig{Path: path, Agent: a, Courier: d.deliver})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- tk.Run(ctx) }()
	synctest.Wait()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return &talk{tk, d, stop}
}

func (tk *talk) accept(t *testing.T, in byo.Incoming) (replay bool) {
	t.Helper()
	_, replay, err := tk.Accept(in, assistant.RouteOf(&in))
	if err != nil {
		t.Fatal(err)
	}
	return replay
}

func TestTalk(t *testing.T) {
	path := func(t *testing.T) string { return filepath.Join(t.TempDir(), "talk.jsonl") }

	t.Run("SW-49 texts reach the agent unchanged, several replies have several ids", func(t *testing.T) {
		p := path(t)
		synctest.Test(t, func(t *testing.T) {
			var heard []string
			tk := open(t, p, &agent{turn: func(_ context.Context, turn assistant.Turn, emit func(assistant.Output)) error {
				heard = append(heard, turn.Text)
				emit(assistant.Output{Typing: "Searching the CRM"})
				emit(assistant.Output{Message: "one"})
				emit(assistant.Output{Message: "two"})
				return nil
			}}, &desk{})
			tk.accept(t, chat(1, "s-7", "  /approve\n "))
			synctest.Wait()
			if len(heard) != 1 || heard[0] != "  /approve\n " {
				t.Errorf("the agent heard %q", heard)
			}
			if got := tk.desk.said("message"); got != "message(one) message(two)" {
				t.Errorf("the desktop got %s", got)
			}
			var ids []string
			for _, c := range tk.desk.got {
				if c.Status == "message" {
					ids = append(ids, c.MessageID)
					if c.SessionID != "s-7" || c.TaskID != task(1) || c.UserMessageID != "u-1" {
						t.Errorf("callback %+v", c)
					}
				}
			}
			if want := []string{task(1) + ":msg:0", task(1) + ":msg:1"}; fmt.Sprint(ids) != fmt.Sprint(want) {
				t.Errorf("ids %v, want %v", ids, want)
			}
		})
	})

	t.Run("a repeated task is taken once", func(t *testing.T) {
		p := path(t)
		synctest.Test(t, func(t *testing.T) {
			tk := open(t, p, &agent{turn: echo}, &desk{})
			if tk.accept(t, chat(1, "s", "a")) || !tk.accept(t, chat(1, "s", "a")) {
				t.Error("replay is not told")
			}
			synctest.Wait()
			tk.stop()
			again := open(t, p, &agent{turn: echo}, tk.desk)
			if !again.accept(t, chat(1, "s", "a")) {
				t.Error("after a restart the task is new again")
			}
			synctest.Wait()
			if got := tk.desk.said("message"); got != "message(re: a)" {
				t.Errorf("the desktop got %s", got)
			}
		})
	})

	t.Run("turns of a session follow each other, an agent that has taken the text lets the next in", func(t *testing.T) {
		p := path(t)
		synctest.Test(t, func(t *testing.T) {
			approved := make(chan struct{})
			tk := open(t, p, &agent{turn: func(_ context.Context, turn assistant.Turn, emit func(assistant.Output)) error {
				switch turn.Text {
				case "delete it":
					emit(assistant.Output{Taken: true})
					emit(assistant.Output{Message: "May I?"})
					<-approved
					emit(assistant.Output{Message: "Done."})
				case "/approve":
					close(approved)
				default:
					time.Sleep(time.Second)
					emit(assistant.Output{Message: turn.Text})
				}
				return nil
			}}, &desk{})
			tk.accept(t, chat(1, "s", "delete it"))
			tk.accept(t, chat(2, "s", "/approve"))
			tk.accept(t, chat(3, "s", "three"))
			tk.accept(t, chat(4, "s", "four"))
			time.Sleep(time.Minute)
			if got := tk.desk.said("message"); got != "message(May I?) message(Done.) message(three) message(four)" {
				t.Errorf("the desktop got %s", got)
			}
		})
	})

	t.Run("SW-65 what was said about a session stands before its next text, once, also after a crash", func(t *testing.T) {
		p := path(t)
		synctest.Test(t, func(t *testing.T) {
			tk := open(t, p, &agent{turn: echo}, &desk{})
			tk.accept(t, prelude(1, "insights:c", "You coach."))
			synctest.Wait()
			tk.stop()
			tk = open(t, p, &agent{turn: echo}, tk.desk)
			tk.accept(t, transcript(2, "insights:c", "Them: hi"))
			synctest.Wait()
			tk.accept(t, transcript(3, "insights:c", "Me: hello"))
			synctest.Wait()
			if got := tk.desk.said(); got != "message(re: [Context: You coach.]\n\nThem: hi) message(re: Me: hello)" {
				t.Errorf("the desktop got %q", got)
			}
			for _, c := range tk.desk.got {
				if c.SessionID != "insights:c" { // SW-50
					t.Errorf("session %q", c.SessionID)
				}
			}
		})
	})

	t.Run("transcript turns that wait are looked at together, and only the last word counts", func(t *testing.T) {
		p := path(t)
		synctest.Test(t, func(t *testing.T) {
			tk := open(t, p, &agent{turn: func(_ context.Context, turn assistant.Turn, emit func(assistant.Output)) error {
				emit(assistant.Output{Message: "let me see"})
				time.Sleep(time.Second)
				emit(assistant.Output{Message: strings.ReplaceAll(turn.Text, "\n", "+")})
				return nil
			}}, &desk{})
			for i, text := range []string{"a", "b", "c"} {
				tk.accept(t, transcript(i+1, "insights:c", text))
				synctest.Wait()
			}
			notFinal := transcript(9, "insights:c", "hm")
			*notFinal.Payload.IsFinal = false
			answer, _, err := tk.Accept(notFinal, assistant.Route{})
			if err != nil || answer.Dispatched == nil || *answer.Dispatched {
				t.Errorf("a text that may change: %+v %v", answer, err)
			}
			time.Sleep(10 * time.Second)
			if got := tk.desk.said(); got != "message(a) message(b+c)" {
				t.Errorf("the desktop got %s", got)
			}
		})
	})

	t.Run("SW-52 a slow turn is no error, its sign of work is repeated", func(t *testing.T) {
		p := path(t)
		synctest.Test(t, func(t *testing.T) {
			tk := open(t, p, &agent{turn: func(_ context.Context, _ assistant.Turn, emit func(assistant.Output)) error {
				emit(assistant.Output{Typing: "Digging"})
				time.Sleep(2*time.Hour + time.Second)
				emit(assistant.Output{Message: "found"})
				return nil
			}}, &desk{})
			tk.accept(t, chat(1, "s", "dig"))
			time.Sleep(3 * time.Hour)
			if got := tk.desk.said("message", "errored"); got != "message(found)" {
				t.Errorf("the desktop got %s", got)
			}
			if n := strings.Count(tk.desk.said("typing"), "typing(Digging)"); n < 480 || n > 482 {
				t.Errorf("%d signs of work in two hours, want one in 15 s", n)
			}
		})
	})

	t.Run("failures are told in words, a panic ends one turn", func(t *testing.T) {
		p := path(t)
		synctest.Test(t, func(t *testing.T) {
			tk := open(t, p, &agent{turn: func(_ context.Context, turn assistant.Turn, _ func(assistant.Output)) error {
				switch turn.Text {
				case "timeout":
					return &assistant.TurnError{Code: byo.FailAgentTimeout, Text: "It took too long. key sk-ant-REDACTED"}
				case "panic":
					panic("oops")
				case "silent":
					return nil
				}
				return errors.New("secret detail")
			}}, &desk{})
			for i, text := range []string{"timeout", "panic", "other", "silent"} {
				tk.accept(t, chat(i+1, "s", text))
				synctest.Wait()
			}
			if got, want := tk.desk.said("errored", "silent"), "errored(agent_timeout) errored(execution_error) errored(agent_error) silent()"; got != want {
				t.Errorf("the desktop got %s, want %s", got, want)
			}
			for _, c := range tk.desk.got {
				if strings.Contains(c.ErrorMessage, "secret detail") || strings.Contains(c.ErrorMessage, "sk-ant") {
					t.Errorf("the desktop reads %q", c.ErrorMessage)
				}
			}
		})
	})

	t.Run("a message nobody asked for", func(t *testing.T) {
		p := path(t)
		synctest.Test(t, func(t *testing.T) {
			tk := open(t, p, &agent{turn: echo}, &desk{})
			if err := tk.Say("s", "hi"); err == nil {
				t.Error("a session nobody has written in takes messages")
			}
			tk.accept(t, chat(1, "s", "a"))
			synctest.Wait()
			if err := tk.Say("s", strings.Repeat("x", byo.MaxReplyPart)+" y"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			last := tk.desk.got[len(tk.desk.got)-1]
			if last.ReplyText != " y" || !strings.HasSuffix(last.MessageID, ":msg:1") || last.TaskID == task(1) || byo.CheckUUID("task_id", last.TaskID) != nil {
				t.Errorf("last callback %.100v", last)
			}
		})
	})
}

// What was accepted survives the end of the process at any point: the turn is begun
// again, what it had said is not said twice, what was not delivered is.
func TestTalkSurvives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "talk.jsonl")
	synctest.Test(t, func(t *testing.T) {
		down := true
		d := &desk{fail: func(_ int, c *byo.Callback) error {
			if down && c.ReplyText == "two" {
				return errors.New("connection refused")
			}
			return nil
		}}
		var again []int
		turn := func(ctx context.Context, turn assistant.Turn, emit func(assistant.Output)) error {
			again = append(again, turn.Again)
			emit(assistant.Output{Message: "one"})
			emit(assistant.Output{Message: "two"})
			if turn.Again == 0 {
				<-ctx.Done() // the process dies here
				return ctx.Err()
			}
			emit(assistant.Output{Message: "three"})
			return nil
		}
		tk := open(t, path, &agent{turn: turn}, d)
		tk.accept(t, chat(1, "s", "go"))
		tk.accept(t, chat(2, "s", "and then"))
		time.Sleep(time.Second)
		tk.stop()
		down = false
		open(t, path, &agent{turn: func(ctx context.Context, tn assistant.Turn, emit func(assistant.Output)) error {
			if tn.Text == "and then" {
				return echo(ctx, tn, emit)
			}
			return turn(ctx, tn, emit)
		}}, d)
		time.Sleep(time.Second)
		if got := d.said("message"); got != "message(one) message(two) message(three) message(re: and then)" {
			t.Errorf("the desktop got %s", got)
		}
		if fmt.Sprint(again) != "[0 1]" {
			t.Errorf("turn begun with Again = %v", again)
		}
	})
}

// A turn that goes on instead of repeating itself loses none of its new messages.
func TestFreshMessages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "talk.jsonl")
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		turn := func(ctx context.Context, turn assistant.Turn, emit func(assistant.Output)) error {
			if turn.Again == 0 {
				emit(assistant.Output{Message: "I look it up."})
				<-ctx.Done() // the process dies here
				return ctx.Err()
			}
			emit(assistant.Output{Message: "It is five.", Fresh: true})
			return nil
		}
		tk := open(t, path, &agent{turn: turn}, d)
		tk.accept(t, chat(1, "s", "how many?"))
		time.Sleep(time.Second)
		tk.stop()
		open(t, path, &agent{turn: turn}, d)
		time.Sleep(time.Second)
		if got := d.said("message"); got != "message(I look it up.) message(It is five.)" {
			t.Errorf("the desktop got %s", got)
		}
		if a, b := d.got[0].MessageID, d.got[len(d.got)-1].MessageID; a == b {
			t.Errorf("both messages are %s", a)
		}
	})
}

// SW-48: an answer waits for its desktop, 5 s, 10 s … up to a minute between the
// tries, for half an hour; those after it wait behind it. A refusal ends one answer.
func TestOutboxKeepsOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "talk.jsonl")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var tries []time.Duration
		d := &desk{fail: func(_ int, c *byo.Callback) error {
			switch {
			case c.ReplyText == "re: b":
				return fmt.Errorf("%w with 400", assistant.ErrRefused)
			case c.ReplyText == "re: a" && time.Since(began) < 5*time.Minute:
				tries = append(tries, time.Since(began))
				return errors.New("refused")
			case c.ReplyText == "re: lost":
				return errors.New("refused")
			}
			return nil
		}}
		tk := open(t, path, &agent{turn: echo}, d)
		for i, text := range []string{"a", "b", "c", "lost", "d"} {
			tk.accept(t, chat(i+1, "s", text))
		}
		tk.accept(t, chat(9, "other", "x"))
		time.Sleep(time.Second)
		if got := d.said("message"); got != "message(re: x)" {
			t.Errorf("at first the desktop got %s", got)
		}
		time.Sleep(time.Hour)
		if got := d.said("message"); got != "message(re: x) message(re: a) message(re: c) message(re: d)" {
			t.Errorf("in the end the desktop got %s", got)
		}
		want := "[0s 5s 15s 35s 1m15s 2m15s 3m15s 4m15s]"
		if fmt.Sprint(tries) != want {
			t.Errorf("tries at %v, want %s", tries, want)
		}
	})
}

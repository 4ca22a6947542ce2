package backend_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/assistant/backend"
	"openclaw/internal/schema"
)

// The test binary is also the child: it does what the text of a turn asks for.
func init() {
	if os.Getenv("BACKEND_TEST_CHILD") == "" {
		return
	}
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var q map[string]any
		if json.Unmarshal(lines.Bytes(), &q) != nil {
			os.Exit(3)
		}
		say := func(a map[string]any) { a["id"] = q["id"]; _ = out.Encode(a) }
		switch q["text"] {
		case "die":
			os.Exit(4)
		case "babble":
			fmt.Println("this is no JSON")
		case "hang": // until it is cancelled
		case "fail":
			say(map[string]any{"type": "error", "text": "the moon is in the way"})
		case "two":
			say(map[string]any{"type": "typing", "label": "Looking"})
			say(map[string]any{"type": "message", "text": "one"})
			say(map[string]any{"type": "done", "text": "two"})
		case nil:
			if q["type"] == "cancel" {
				fmt.Fprintln(os.Stderr, "cancelled")
				continue
			}
			say(map[string]any{"type": "error", "code": "auth", "text": "no key"})
		default:
			said, _ := json.Marshal(q["history"])
			say(map[string]any{"type": "done", "text": fmt.Sprintf("%s after %s", q["text"], said)})
		}
	}
	os.Exit(0)
}

// command runs a child until the test ends.
func command(t *testing.T, argv ...string) *backend.Command {
	t.Helper()
	c := backend.NewCommand(backend.CommandConfig{Argv: argv, Env: append(os.Environ(), "BACKEND_TEST_CHILD=1"), Memory: backend.Memory{Dir: t.TempDir()}, ProviderKind: "words", Version: "1.2.0"})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestCommand(t *testing.T) {
	c := command(t, os.Args[0])
	if got, _, err := said(t, c, chat("t-1", "two")); err != nil || got != "[one][two]" {
		t.Errorf("the child says %s, %v", got, err)
	}
	if got, _, err := said(t, c, chat("t-2", "hi")); err != nil || got != `[hi after [{"role":"user","text":"two","turn":"t-1"},{"role":"assistant","text":"one\n\ntwo","turn":"t-1"}]]` {
		t.Errorf("the child was told another past: %s, %v", got, err)
	}
	var told *assistant.TurnError
	if _, _, err := said(t, c, chat("t-3", "fail")); !errors.As(err, &told) || told.Text != "the moon is in the way" {
		t.Errorf("a failure gives %v", err)
	}
	if _, err := c.Reason(t.Context(), assistant.Question{ID: "j-1", Input: "{}"}); !errors.Is(err, assistant.ErrAuth) {
		t.Errorf("a job without a key gives %v", err)
	}
	if p, err := c.Describe(t.Context()); err != nil || p.Agent == nil || p.Agent.ProviderKind != "words" {
		t.Errorf("a child that does not describe itself is %+v, %v", p, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		close(started)
		ended <- c.Turn(ctx, chat("t-4", "hang"), func(assistant.Output) {})
	}()
	<-started
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a turn that is no longer wanted ends with %v", err)
	}
	for i, text := range []string{"die", "babble"} { // the child is started again after each
		if _, _, err := said(t, c, chat(fmt.Sprint("t-5", i), text)); !errors.As(err, &told) {
			t.Errorf("%q gives %v", text, err)
		}
	}
	if got, _, err := said(t, c, chat("t-6", "still there?")); err != nil || !strings.HasPrefix(got, "[still there? after") {
		t.Errorf("the next child says %s, %v", got, err)
	}
}

// The example that is shipped does what a desktop asks for.
func TestCommandExample(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "command")
	if out, err := exec.Command("go", "build", "-o", bin, "openclaw/examples/command").CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	c := command(t, bin)
	if got, deltas, err := said(t, c, chat("t-1", "one two three")); err != nil || got != "[That is 3 words, after 0 before.]" || deltas != "That is " {
		t.Errorf("the example says %s, %q, %v", got, deltas, err)
	}
	if got, _, err := said(t, c, chat("t-2", "four")); err != nil || got != "[That is 1 words, after 3 before.]" {
		t.Errorf("the example says %s, %v", got, err)
	}
	for _, purpose := range []string{byo.PurposeLiveAnalysis, byo.PurposeSessionSummary} {
		checkAnswer(t, c, purpose)
	}
	if p, err := c.Describe(t.Context()); err != nil || len(p.Models) != 1 {
		t.Errorf("the example is %+v, %v", p, err)
	}
}

// checkAnswer has an agent answer what a desktop asks and checks that it fits.
func checkAnswer(t *testing.T, a assistant.Agent, purpose string) assistant.Answer {
	t.Helper()
	in, err := json.Marshal(byo.ReasoningInput{UserPrompt: "Me: I'll send the offer by Friday.\nThem: It must be below 900 euros, or we cancel.\nThem: Can you do that?"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Reason(t.Context(), assistant.Question{ID: "j-" + purpose, Purpose: purpose, Input: string(in), Schema: byo.ResponseSchema(purpose)})
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(byo.ResponseSchema(purpose), []byte(got.Text)); err != nil {
		t.Errorf("the answer to %s is %s: %v", purpose, got.Text, err)
	}
	return got
}

func TestOffline(t *testing.T) {
	o := &backend.Offline{Memory: backend.Memory{Dir: t.TempDir()}, ProviderKind: "offline", Version: "1.2.0"}
	var live byo.LiveAnalysis
	if err := json.Unmarshal([]byte(checkAnswer(t, o, byo.PurposeLiveAnalysis).Text), &live); err != nil || len(live.Signals) != 2 || live.Signals[0].Severity != "red" || live.Signals[1].Severity != "orange" {
		t.Errorf("the signals are %+v, %v", live, err)
	}
	var sum byo.SessionSummary
	if err := json.Unmarshal([]byte(checkAnswer(t, o, byo.PurposeSessionSummary).Text), &sum); err != nil || len(sum.ActionItems) != 1 || sum.ActionItems[0].Due != "Friday" || len(sum.FollowUps) != 1 {
		t.Errorf("the summary is %+v, %v", sum, err)
	}
	if got, _, err := said(t, o, chat("t-1", "hello")); err != nil || !strings.Contains(got, "without a language model") {
		t.Errorf("it says %s, %v", got, err)
	}
	quiet := assistant.Turn{ID: "t-2", SessionID: "s", Kind: assistant.Reasoning, Text: "Them: Nice weather."}
	if got, _, err := said(t, o, quiet); err != nil || got != "[none]" {
		t.Errorf("it says %s about nothing, %v", got, err)
	}
}

package desktop_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"openclaw/byo"
	"openclaw/internal/desktop"
)

// SW-68: a direct pairing is verified by an answer, and only by one.
func TestPairDirect(t *testing.T) {
	cfg := listening(t)
	d := open(t, cfg)
	h := newHelper(t, says("ok"))
	a, err := d.PairDirect(t.Context(), "  "+h.code()+"\n", nil)
	if err != nil || a.Verified != "probe" || a.Label != "Hermes" || a.URL != h.URL {
		t.Fatalf("PairDirect = %+v, %v", a, err)
	}
	if n := len(d.Store().Sessions()); n != 0 {
		t.Errorf("the probe left %d sessions", n)
	}
	again, err := d.PairDirect(t.Context(), h.code(), nil)
	if err != nil || again.ID != a.ID || len(d.Assistants()) != 1 {
		t.Errorf("paired again: %+v, %v", again, err)
	}
	if _, err := d.PairDirect(t.Context(), "stagewhisper-pair:v2:e30", nil); err == nil {
		t.Error("a code for a relay is taken")
	}
	if err := d.Unpair(t.Context(), a.ID); err != nil || len(d.Assistants()) != 0 {
		t.Errorf("Unpair = %v", err)
	}
	data, err := os.ReadFile(filepath.Join(cfg.Dir, "desktop.json"))
	if err != nil || strings.Contains(string(data), helperToken) {
		t.Errorf("after Unpair the token is still there (%v)", err)
	}
}

func TestPairDirectRefused(t *testing.T) {
	d := open(t, listening(t))
	h := newHelper(t, says("ok"))
	bad, err := (&byo.DirectCode{URL: h.URL, Token: "another-token-of-some-length"}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.PairDirect(t.Context(), bad, nil); err == nil || errors.Is(err, desktop.ErrNoAnswer) {
		t.Errorf("a wrong token: %v", err)
	}
	if a := d.Assistants(); len(a) != 1 || a[0].Verified != "" {
		t.Errorf("the pairing is %+v, want it kept and not verified", a)
	}
}

func paired(t *testing.T, cfg desktop.Config, reply func(byo.Incoming) []byo.Callback) (*desk, *helper, string) {
	t.Helper()
	d := open(t, cfg)
	h := newHelper(t, says("ok"))
	a, err := d.PairDirect(t.Context(), h.code(), nil)
	if err != nil {
		t.Fatal(err)
	}
	<-h.got
	h.mu.Lock()
	h.reply, h.heard = reply, nil
	h.mu.Unlock()
	return d, h, a.ID
}

func status(want string) func(desktop.Event) bool {
	return func(ev desktop.Event) bool { return ev.Message != nil && ev.Message.Status == want }
}

// What the person says arrives unchanged and once, in order, also when the assistant
// is busy or away for a while; the answers come in order.
func TestChat(t *testing.T) {
	cfg := listening(t)
	d, h, a := paired(t, cfg, func(in byo.Incoming) []byo.Callback {
		return []byo.Callback{
			{Status: byo.StatusTyping, Label: "Looking"},
			{Status: byo.StatusMessage, MessageID: in.TaskID + ":msg:0", ReplyText: "first " + in.Payload.Text},
			{Status: byo.StatusMessage, MessageID: in.TaskID + ":msg:1", ReplyText: "second"},
		}
	})
	h.mu.Lock()
	h.busy = 2
	h.mu.Unlock()
	done := d.until("second answer", func(ev desktop.Event) bool {
		return ev.Message != nil && ev.Message.Content == "second" && ev.Message.ParentMessageID != ""
	})
	typing := d.until("typing", func(ev desktop.Event) bool { return ev.Kind == desktop.EventTyping && ev.Text == "Looking" })
	if _, err := d.Say(a, "s", " /approve\n"); err != nil {
		t.Fatal(err)
	}
	typing()
	done()
	if got := d.said("s", desktop.TabChat); got != "user: /approve\n | assistant:first  /approve\n | assistant:second" {
		t.Errorf("conversation %q", got)
	}
	if h.heard[0].SessionID != "s" || h.heard[0].Reason != byo.ReasonChatMessage || h.heard[0].Payload.UserMessageID == "" {
		t.Errorf("the assistant heard %+v", h.heard[0])
	}

	// Away: what is said meanwhile is on the disk, and goes out after a restart.
	url := h.URL
	h.mu.Lock()
	h.busy = 1 << 30
	h.mu.Unlock()
	for _, text := range []string{"one", "two"} {
		if _, err := d.Say(a, "s", text); err != nil {
			t.Fatal(err)
		}
	}
	d.stop()
	h.mu.Lock()
	h.busy, h.heard = 0, nil
	h.mu.Unlock()
	d = open(t, cfg)
	seen := map[string]bool{}
	for _, want := range []string{"one", "two"} {
		select {
		case in := <-h.got:
			for in.Payload.Text == " /approve\n" || seen[in.TaskID] { // a repeat has the same id
				in = <-h.got
			}
			seen[in.TaskID] = true
			if in.Payload.Text != want {
				t.Errorf("the assistant hears %q, want %q", in.Payload.Text, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q does not arrive at %s", want, url)
		}
	}
}

// What an assistant will never take is shown as such, and does not block the next.
func TestRefusedMessage(t *testing.T) {
	d, h, a := paired(t, listening(t), says("fine"))
	if err := d.Unpair(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Say(a, "s", "x"); err == nil {
		t.Error("an assistant that is gone takes messages")
	}
	wrong, _ := (&byo.DirectCode{URL: h.URL, Token: "another-token-of-some-length"}).Encode()
	_, _ = d.PairDirect(t.Context(), wrong, nil)
	failed := d.until("failed", status(desktop.MessageFailed))
	if _, err := d.Say(d.Assistants()[0].ID, "s", "x"); err != nil {
		t.Fatal(err)
	}
	if m := failed().Message; m.ErrorMessage == "" {
		t.Errorf("message %+v does not say why", m)
	}
	for _, text := range []string{"", strings.Repeat("ä", 16001)} {
		if _, err := d.Say(d.Assistants()[0].ID, "s", text); err == nil {
			t.Errorf("a text of %d bytes is taken", len(text))
		}
	}
}

// SW-65, SW-64: a call becomes insights: the prelude once, finals joined, one turn at a
// time, and nothing of it in the chat.
func TestCallInsights(t *testing.T) {
	release := make(chan struct{})
	d, h, a := paired(t, listening(t), func(in byo.Incoming) []byo.Callback {
		if in.Reason == byo.ReasonSystemPrelude {
			return nil
		}
		<-release
		return []byo.Callback{{Status: byo.StatusMessage, MessageID: in.TaskID + ":msg:0", ReplyText: "Insight on " + in.Payload.Text[:8]}}
	})
	if _, err := d.StartCall(desktop.CallRequest{AssistantID: a, SessionID: "call-1", Situation: "Renewal with Acme", Playbook: "Watch for discounts"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.StartCall(desktop.CallRequest{AssistantID: a, SessionID: "call-1"}); err == nil {
		t.Error("the same call begins twice")
	}
	prelude := <-h.got
	if prelude.Reason != byo.ReasonSystemPrelude || prelude.SessionID != "insights:call-1" || !strings.Contains(prelude.Payload.Text, "Renewal with Acme") || !strings.Contains(prelude.Payload.Text, "Watch for discounts") {
		t.Errorf("prelude %+v", prelude)
	}
	feed := func(who, text string, final bool) {
		t.Helper()
		if err := d.Feed("call-1", desktop.Segment{Speaker: who, Text: text, Final: final, StartMS: 1, EndMS: 2}); err != nil {
			t.Fatal(err)
		}
	}
	feed("Them", "not yet fin", false)
	long := strings.Repeat("word ", 50)
	feed("Them", long, true) // more than 200 characters: at once
	first := <-h.got
	if first.Reason != byo.ReasonTranscriptChunk || first.SessionID != "insights:call-1" || !first.Payload.Final() || first.Payload.Text != "Them: "+long {
		t.Errorf("first turn %+v", first)
	}
	feed("Me", "short", true)
	feed("Them", long, true)
	select {
	case in := <-h.got:
		t.Errorf("a second turn %q while one is under way", in.Payload.Text)
	case <-time.After(50 * time.Millisecond):
	}
	both := d.until("second insight", func(ev desktop.Event) bool {
		return ev.Kind == desktop.EventMessage && strings.Count(d.said("call-1", desktop.TabInsights), "Insight") == 2
	})
	close(release)
	second := <-h.got
	if second.Payload.Text != "Me: short\nThem: "+long {
		t.Errorf("second turn %q, want what waited, joined", second.Payload.Text)
	}
	both()
	if err := d.EndCall("call-1"); err != nil {
		t.Fatal(err)
	}
	if err := d.Feed("call-1", desktop.Segment{Text: "x", Final: true}); err == nil {
		t.Error("a call that has ended takes more")
	}
	if got := d.said("call-1", desktop.TabChat); got != "" {
		t.Errorf("the chat has %q", got)
	}
	if list, err := d.Store().Transcript("call-1"); err != nil || len(list) != 3 {
		t.Errorf("transcript of %d segments (%v), want the three final ones", len(list), err)
	}
	for len(h.got) > 0 {
		<-h.got
	}
	if _, err := d.Summarise(t.Context(), "call-1"); err != nil {
		t.Fatal(err)
	}
	if in := <-h.got; in.SessionID != "call-1" || in.Reason != byo.ReasonChatMessage || !strings.Contains(in.Payload.Text, "Me: short") {
		t.Errorf("the summary is asked for with %+v", in)
	}
}

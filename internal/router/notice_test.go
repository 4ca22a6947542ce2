package router_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// RT-127: system events are kept for each session, at most 20 of them, without
// repetitions, and go before its next prompt, once.
func TestRT127Notices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		for _, blank := range []bool{b.router.Notify("main", "  ", ""), b.router.Notify("", "x", ""), b.router.Notify("unknown", "x", "")} {
			if blank {
				t.Error("Notify of nothing = true, want false")
			}
		}
		for _, text := range []string{"lights on", "lights on", "door open", "Node: kitchen · last input 5s ago · mode app", "heartbeat poll: pending"} {
			if !b.router.Notify("Main", text, "home") {
				t.Errorf("Notify(%q) = false", text)
			}
		}
		b.router.Notify("other", "not for main", "")
		texts, topic := b.router.Notices("main")
		want := []string{"lights on", "door open", "Node: kitchen · last input 5s ago · mode app", "heartbeat poll: pending"}
		if diff := cmp.Diff(want, texts); diff != "" || topic != "home" {
			t.Errorf("Notices with topic %q (-want +got):\n%s", topic, diff)
		}
		<-b.chat("one", "main", "hello").Run.Done()
		<-b.agent(params("two", "again", "main")).Done()
		reqs := b.stage.requests()
		head, tail, ok := strings.Cut(reqs[0].Prompt, "\n\n")
		wantHead := "System: [2000-01-01 00:00:00 UTC] lights on\nSystem: [2000-01-01 00:00:00 UTC] door open\n" +
			"System: [2000-01-01 00:00:00 UTC] Node: kitchen · mode app"
		if !ok || head != wantHead || !strings.HasPrefix(tail, "[Sat 2000-01-01 00:00 UTC] hello") {
			t.Errorf("first prompt = %q", reqs[0].Prompt)
		}
		if strings.Contains(reqs[1].Prompt, "System:") {
			t.Errorf("second prompt = %q, want no system events", reqs[1].Prompt)
		}
		if texts, _ := b.router.Notices("main"); texts != nil {
			t.Errorf("Notices after a run = %q, want none", texts)
		}
		for i := range 25 {
			b.router.Notify("main", fmt.Sprint("event ", i), "")
		}
		if texts, _ := b.router.Notices("main"); len(texts) != 20 || texts[0] != "event 5" || texts[19] != "event 24" {
			t.Errorf("Notices = %q, want the last 20", texts)
		}
		b.router.Notify("other", strings.Repeat("x", 10_000), "")
		if texts, _ := b.router.Notices("other"); len([]rune(texts[1])) != 4000 {
			t.Errorf("long event has %d characters, want 4000", len([]rune(texts[1])))
		}
	})
}

// A run that was stopped before it began leaves the events for the next one.
func TestNoticesOutliveAWaitingRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(time.Minute)
		first := b.agent(params("one", "work", "main"))
		synctest.Wait()
		b.router.Notify("main", "news", "")
		second := b.agent(params("two", "more", "main"))
		synctest.Wait()
		if _, err := b.router.AbortSession("main", "two", false); err != nil {
			t.Fatal(err)
		}
		<-second.Done()
		<-first.Done()
		<-b.agent(params("three", "last", "main")).Done()
		prompts := b.stage.requests()
		if len(prompts) != 2 || !strings.Contains(prompts[1].Prompt, "news\n\n") {
			t.Errorf("prompts = %+v, want the news in the second", prompts)
		}
	})
}

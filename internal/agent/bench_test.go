package agent

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"openclaw/internal/run"
)

// BenchmarkRun is the overhead of one run with a model that answers at once:
// workspace, prompt, transcript, entry, events.
func BenchmarkRun(b *testing.B) {
	h := newBench(b)
	h.agent.log = slog.New(slog.DiscardHandler)
	h.agent.cfg.Emit = func(run.Event) {}
	req := h.request("hello")
	answer := say("hello there")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.script.steps = []step{answer}
		req.ID = run.ID(fmt.Sprint("run-", i))
		if i%50 == 0 { // a conversation of ordinary length
			req.SessionID = fmt.Sprintf("11111111-2222-4333-8444-%012d", i)
		}
		h.script.asked = nil
		if _, err := h.agent.Run(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDelta is the cost of one streamed piece in an answer of 1,000 words;
// it must not grow with the length of the answer.
func BenchmarkDelta(b *testing.B) {
	for _, words := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(words, "words"), func(b *testing.B) {
			pieces := make([]string, words)
			for i := range pieces {
				pieces[i] = fmt.Sprintf("word%d ", i)
			}
			shown := 0
			b.ReportAllocs()
			for b.Loop() {
				events := newEmitter(run.Request{ID: "r"}, func(run.Event) { shown++ }, time.Now)
				ans := answer{show: events.assistant}
				for _, p := range pieces {
					ans.text(p)
				}
				ans.finish()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*words), "ns/delta")
			b.ReportMetric(float64(shown)/float64(b.N), "events/op")
		})
	}
}

// BenchmarkSilentTail guards the hot path of the hold-back.
func BenchmarkSilentTail(b *testing.B) {
	text := strings.Repeat("some words and more ", 500)
	for b.Loop() {
		silentTail(text)
	}
}

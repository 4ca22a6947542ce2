package agent

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/internal/run"
)

// A long message that comes in small pieces is told in few events, without a gap, and
// whole before anything else is told. A short one is told piece by piece.
func TestLongDrafts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bytes, events int
		var text, joined string
		seq := 0
		var last run.Event
		e := newEmitter(run.Request{}, func(ev run.Event) {
			if seq++; ev.Seq != seq {
				t.Fatalf("event %d has number %d", seq, ev.Seq)
			}
			last = ev
			if ev.Assistant != nil {
				events++
				bytes += len(ev.Assistant.Text)
				joined += ev.Assistant.Delta
				text = ev.Assistant.Text
			}
		}, time.Now)
		say := func(n int) (whole string) {
			joined = ""
			var b strings.Builder
			for range n / 8 {
				b.WriteString("12345678")
				e.assistant(b.String(), "12345678")
			}
			return b.String()
		}
		whole := say(4 << 10)
		if events != 512 || text != whole {
			t.Errorf("a short message has %d events, want one for each piece", events)
		}
		events, bytes = 0, 0
		whole = say(200 << 10)
		e.tool(run.Tool{Name: "exec"})
		if text != whole || joined != whole || last.Tool == nil {
			t.Errorf("before the tool %d of %d bytes were told, in pieces %d", len(text), len(whole), len(joined))
		}
		if bytes > 200*len(whole) {
			t.Errorf("a message of %d bytes took %d bytes in %d events", len(whole), bytes, events)
		}
		e.assistant(whole+"x", "x") // one more of the same length of text: held back …
		time.Sleep(draftWait)
		e.assistant(whole+"xy", "y")
		if text != whole+"xy" {
			t.Errorf("after a while the text has %d bytes, want %d", len(text), len(whole)+2)
		}
		e.assistant("new", "new")
		if text != "new" {
			t.Errorf("the next message is told as %.20q", text)
		}
		e.end(run.Lifecycle{Phase: run.PhaseEnd})
		e.assistant("newer", "er")
		if last.Lifecycle == nil {
			t.Error("something is told after the end")
		}
	})
}

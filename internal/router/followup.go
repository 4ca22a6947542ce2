package router

import (
	"context"
	"fmt"
	"strings"
	"time"

	"openclaw/internal/run"
	"openclaw/internal/session"
)

// overflow remembers what a full queue dropped.
type overflow struct {
	dropped int
	lines   []string
}

// maxOverflowLine bounds one remembered line, in characters.
const maxOverflowLine = 160

// block is the note that tells the model what it did not get to see.
func (o *overflow) block() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[Queue overflow] Dropped %d message(s) due to cap.", o.dropped)
	if len(o.lines) > 0 {
		b.WriteString("\nSummary:")
		for _, l := range o.lines {
			b.WriteString("\n- " + l)
		}
	}
	return b.String()
}

// enqueue puts a message behind what its session is doing. It runs under an id of
// its own, because the message's id is answered at once. It reports false when the
// queue is full and keeps the messages it has. rt.accept is held.
func (rt *Router) enqueue(ctx context.Context, r *Run, q queue) (bool, error) {
	waiting := rt.runs.queued(r.lane())
	if len(waiting) >= q.cap && q.drop == dropNew {
		return false, nil
	}
	r.queued, r.origin, r.debounce = true, r.req.ID, q.debounce
	r.req.ID = run.ID(session.NewID())
	if err := rt.start(ctx, r); err != nil {
		return false, err
	}
	for i := 0; i <= len(waiting)-q.cap; i++ {
		rt.drop(waiting[i], q)
	}
	return true, nil
}

// drop takes a message out of a full queue. rt.accept is held.
func (rt *Router) drop(r *Run, q queue) {
	rt.runs.abort(r.lane(), run.AbortDropped, func(o *Run) bool { return o == r })
	if q.drop != dropSummarize {
		return
	}
	o := rt.overflow[r.lane()]
	if o == nil {
		o = &overflow{}
		rt.overflow[r.lane()] = o
	}
	o.dropped++
	line := strings.Join(strings.Fields(r.req.Prompt), " ")
	if runes := []rune(line); len(runes) > maxOverflowLine {
		line = string(runes[:maxOverflowLine-1]) + "…"
	}
	if o.lines = append(o.lines, line); len(o.lines) > q.cap {
		o.lines = o.lines[1:]
	}
}

// quiet holds a queued message back until no other has come for a while, and
// tells it what a full queue dropped before it.
func (rt *Router) quiet(ctx context.Context, r *Run) error {
	for {
		wait := r.debounce - rt.now().Sub(rt.runs.lastQueued(r.lane()))
		if wait <= 0 {
			break
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
	rt.accept.Lock()
	defer rt.accept.Unlock()
	if o := rt.overflow[r.lane()]; o != nil {
		delete(rt.overflow, r.lane())
		r.req.Prompt = o.block() + "\n\n" + r.req.Prompt
	}
	return nil
}

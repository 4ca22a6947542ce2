package router

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"openclaw/internal/config"
	"openclaw/internal/session"
)

// Queue modes: what becomes of a message that finds its session busy.
const (
	modeCollect      = "collect"       // runs after the present run
	modeFollowup     = "followup"      // the same
	modeSteer        = "steer"         // goes into the present run, else runs after it
	modeSteerBacklog = "steer-backlog" // both
	modeInterrupt    = "interrupt"     // stops the present run
)

// Drop policies: what becomes of messages beyond the cap.
const (
	dropSummarize = "summarize" // the oldest goes, a line of it is kept
	dropOld       = "old"       // the oldest goes
	dropNew       = "new"       // the new one goes
)

// queue is the queue of one session in effect.
type queue struct {
	mode, drop string
	debounce   time.Duration
	cap        int
}

// queueOf applies what a session says over the configuration.
func queueOf(c config.Queue, e session.Entry, channel string) queue {
	q := queue{
		mode:     cmp.Or(mode(e.QueueMode), mode(c.ByChannel[channel]), mode(c.Mode), modeCollect),
		drop:     cmp.Or(drop(e.QueueDrop), drop(c.Drop), dropSummarize),
		debounce: time.Duration(c.DebounceMs) * time.Millisecond,
		cap:      cmp.Or(max(c.Cap, 0), 20),
	}
	if ms, ok := c.DebounceMsByChannel[channel]; ok {
		q.debounce = time.Duration(ms) * time.Millisecond
	}
	if e.QueueDebounceMs != nil {
		q.debounce = time.Duration(*e.QueueDebounceMs) * time.Millisecond
	}
	if e.QueueCap != nil && *e.QueueCap > 0 {
		q.cap = *e.QueueCap
	}
	return q
}

// mode returns the canonical form of a queue mode, empty for anything else.
func mode(text string) string {
	switch text = strings.ToLower(strings.TrimSpace(text)); text {
	case modeCollect, "coalesce":
		return modeCollect
	case modeFollowup, "follow-up", "followups", "follow-ups":
		return modeFollowup
	case modeSteer, "queue", "queued", "steering":
		return modeSteer
	case modeSteerBacklog, "steer+backlog", "steer_backlog":
		return modeSteerBacklog
	case modeInterrupt, "interrupts", "abort":
		return modeInterrupt
	}
	return ""
}

// drop returns the canonical form of a drop policy, empty for anything else.
func drop(text string) string {
	switch text = strings.ToLower(strings.TrimSpace(text)); text {
	case dropSummarize, "summary":
		return dropSummarize
	case dropOld, "oldest":
		return dropOld
	case dropNew, "newest":
		return dropNew
	}
	return ""
}

// queueChange is what a /queue command asks for.
type queueChange struct {
	reset    bool
	mode     string
	drop     string
	debounce *time.Duration
	cap      *int
}

// parseQueue reads the arguments of /queue. A complaint tells people what is
// possible; nothing is changed then.
func parseQueue(args string) (c queueChange, complaint string) {
	for _, word := range strings.Fields(args) {
		name, val, option := cutOption(word)
		switch {
		case !option && (word == "default" || word == "reset" || word == "clear"):
			c.reset = true
		case !option && c.mode == "" && mode(word) != "":
			c.mode = mode(word)
		case option && name == "debounce":
			d, ok := duration(val)
			if !ok {
				return c, fmt.Sprintf("Invalid debounce %q. Use a duration such as 500ms, 2s or 1m.", val)
			}
			c.debounce = &d
		case option && name == "cap":
			n, err := strconv.Atoi(val)
			if err != nil || n < 1 {
				return c, fmt.Sprintf("Invalid cap %q. Use a whole number of at least 1.", val)
			}
			c.cap = &n
		case option && name == "drop":
			if c.drop = drop(val); c.drop == "" {
				return c, fmt.Sprintf("Invalid drop policy %q. Valid policies: old, new, summarize.", val)
			}
		default:
			return c, fmt.Sprintf("Unrecognized queue setting %q. Valid modes: steer, followup, collect, steer-backlog, interrupt. Options: debounce:<duration> cap:<number> drop:old|new|summarize.", word)
		}
	}
	return c, ""
}

// cutOption splits "name:value" and "name=value".
func cutOption(word string) (name, value string, ok bool) {
	i := strings.IndexAny(word, ":=")
	if i <= 0 {
		return "", "", false
	}
	return strings.ToLower(word[:i]), strings.ToLower(word[i+1:]), true
}

// duration reads "500ms", "2s", "1m", "1h"; a bare number is milliseconds.
func duration(text string) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(text, 64); err == nil {
		text += "ms"
		if ms < 0 {
			return 0, false
		}
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0 && d <= 24*time.Hour
}

// apply stores the change in a session.
func (c queueChange) apply(e *session.Entry) {
	if c.reset {
		e.QueueMode, e.QueueDrop, e.QueueDebounceMs, e.QueueCap = "", "", nil, nil
	}
	e.QueueMode, e.QueueDrop = cmp.Or(c.mode, e.QueueMode), cmp.Or(c.drop, e.QueueDrop)
	if c.debounce != nil {
		e.QueueDebounceMs = new(int(c.debounce.Milliseconds()))
	}
	if c.cap != nil {
		e.QueueCap = c.cap
	}
}

// say describes the change.
func (c queueChange) say() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, "⚙️ "+fmt.Sprintf(format, args...)) }
	if c.reset {
		add("Queue settings reset to the defaults.")
	}
	if c.mode != "" {
		add("Queue mode set to %s.", c.mode)
	}
	if c.debounce != nil {
		add("Queue debounce set to %s.", millis(*c.debounce))
	}
	if c.cap != nil {
		add("Queue cap set to %d.", *c.cap)
	}
	if c.drop != "" {
		add("Queue drop policy set to %s.", c.drop)
	}
	return strings.Join(parts, " ")
}

// say describes the queue in effect.
func (q queue) say(waiting int) string {
	return fmt.Sprintf("Queue mode: %s. Debounce %s, cap %d, drop %s; %d waiting.\nChange it with /queue <mode> debounce:<duration> cap:<number> drop:<policy>. Modes: steer, followup, collect, steer-backlog, interrupt. Policies: old, new, summarize.",
		q.mode, millis(q.debounce), q.cap, q.drop, waiting)
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }

package run

import (
	"fmt"
	"strings"
	"time"
)

// Card is the status of a session as people read it. Parts that are unknown are
// zero and their lines are left out. See docs/runtime.md#status.
type Card struct {
	Version string
	Now     time.Time // in the user's zone

	Model        string // "provider/model"
	DefaultModel string // shown when it differs from Model
	Auth         string // where the key came from, in words
	Offline      bool   // no model is configured; the built-in stand-in answers

	Input, Output int // tokens of the last run
	Cost          float64
	Context       int // tokens the model saw last
	Window        int
	Compactions   int

	SessionKey string
	Updated    time.Time
	Running    bool

	Runtime                             string // where tools run: "direct", "sandboxed"
	Think, Verbose, Reasoning, Elevated string
	Activation                          string // groups only

	QueueMode  string
	QueueDepth int
}

// String renders the card, one fact per line in a fixed order.
func (c Card) String() string {
	lines := []string{
		line("🦞 OpenClaw", c.Version),
		c.timeLine(),
		c.modelLine(),
		c.tokenLine(),
		c.contextLine(),
		c.sessionLine(),
		c.levelLine(),
		line("👥 Activation:", c.Activation),
		c.queueLine(),
	}
	kept := lines[:0]
	for _, l := range lines {
		if l != "" {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n")
}

// line joins label and value, or is empty when there is no value.
func line(label, value string) string {
	if value == "" {
		return ""
	}
	return label + " " + value
}

func (c Card) timeLine() string {
	if c.Now.IsZero() {
		return ""
	}
	return "🕒 Time: " + c.Now.Format("Mon 2006-01-02 15:04 MST")
}

func (c Card) modelLine() string {
	parts := []string{c.Model}
	if c.Offline {
		parts = append(parts, "offline: no model key is configured")
	} else if c.Auth != "" {
		parts = append(parts, "key: "+c.Auth)
	}
	if c.DefaultModel != "" && c.DefaultModel != c.Model {
		parts = append(parts, "default: "+c.DefaultModel)
	}
	if c.Model == "" {
		return ""
	}
	return "🧠 Model: " + strings.Join(parts, " · ")
}

func (c Card) tokenLine() string {
	if c.Input == 0 && c.Output == 0 {
		return ""
	}
	s := "🧮 Tokens: " + count(c.Input) + " in / " + count(c.Output) + " out"
	if c.Cost > 0 {
		s += fmt.Sprintf(" · est $%.4f", c.Cost)
	}
	return s
}

func (c Card) contextLine() string {
	if c.Window <= 0 {
		return ""
	}
	return fmt.Sprintf("📚 Context: %s/%s (%d%%) · Compactions: %d",
		count(c.Context), count(c.Window), c.Context*100/c.Window, c.Compactions)
}

func (c Card) sessionLine() string {
	if c.SessionKey == "" {
		return ""
	}
	s := "🧵 Session: " + c.SessionKey
	if !c.Updated.IsZero() && !c.Now.IsZero() {
		s += " · updated " + ago(c.Now.Sub(c.Updated))
	}
	if c.Running {
		s += " · running"
	}
	return s
}

func (c Card) levelLine() string {
	var parts []string
	add := func(label, value string) {
		if value != "" {
			parts = append(parts, label+value)
		}
	}
	add("Runtime: ", c.Runtime)
	add("Think: ", c.Think)
	if c.Verbose != "" && c.Verbose != "off" {
		add("Verbose: ", c.Verbose)
	}
	add("Reasoning: ", c.Reasoning)
	if c.Elevated != "" && c.Elevated != "off" {
		add("Elevated: ", c.Elevated)
	}
	if len(parts) == 0 {
		return ""
	}
	return "⚙️ " + strings.Join(parts, " · ")
}

func (c Card) queueLine() string {
	if c.QueueMode == "" {
		return ""
	}
	return fmt.Sprintf("🪢 Queue: %s (depth %d)", c.QueueMode, c.QueueDepth)
}

// count shortens a number of tokens: 950, 12k, 1.5m.
func count(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return trimZero(fmt.Sprintf("%.1f", float64(n)/1000)) + "k"
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return trimZero(fmt.Sprintf("%.1f", float64(n)/1_000_000)) + "m"
}

func trimZero(s string) string { return strings.TrimSuffix(s, ".0") }

func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

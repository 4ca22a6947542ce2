package agent

import (
	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
)

// levels are the settings one run works at.
type levels struct {
	think, verbose, reasoning, elevated string
}

// levelsOf resolves the levels of a run: the request wins over the session, the
// session over the agent, the agent over the defaults.
func levelsOf(req run.Request, e session.Entry, s Settings) levels {
	return levels{
		think:     first(run.ThinkLevel, req.Thinking, e.ThinkingLevel, s.Thinking),
		verbose:   orOff(first(run.VerboseLevel, req.Verbose, e.VerboseLevel, s.Verbose)),
		reasoning: orOff(first(run.ReasoningLevel, e.ReasoningLevel)),
		elevated:  orOff(first(run.ElevatedLevel, e.ElevatedLevel, s.Elevated)),
	}
}

// first returns the first value that is a level, in its canonical form.
func first(read func(string) (string, bool), values ...string) string {
	for _, v := range values {
		if level, ok := read(v); ok {
			return level
		}
	}
	return ""
}

func orOff(level string) string {
	if level == "" {
		return "off"
	}
	return level
}

// thinkFor fits a level to a model: models that do not reason think "off", those
// that do think "low" unless told otherwise.
func thinkFor(level string, info model.Info) string {
	switch {
	case !info.Reasoning:
		return "off"
	case level == "":
		return "low"
	case level == "xhigh" && !model.SupportsXHigh(info.Ref):
		return "high"
	}
	return level
}

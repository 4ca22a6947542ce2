package config

import (
	"maps"
	"slices"
	"strings"

	"openclaw/internal/config/json5"
)

// Class says what a changed setting asks of a running gateway.
type Class string

const (
	ClassNone    Class = "none"    // it is read whenever it is used
	ClassHot     Class = "hot"     // one part restarts
	ClassRestart Class = "restart" // the gateway restarts
)

// Action names the part that a hot change restarts.
type Action string

const (
	ActionGmail     Action = "gmail"     // the mail watcher
	ActionHooks     Action = "hooks"     // the webhooks
	ActionHeartbeat Action = "heartbeat" // the heartbeat timer
	ActionCron      Action = "cron"      // the scheduler
	ActionBrowser   Action = "browser"   // browser control
	ActionWeb       Action = "web"       // the WhatsApp web connection
)

// ActionChannel is the action that restarts a messaging channel.
func ActionChannel(id string) Action { return Action("channel:" + id) }

// reloadRules is the table of agent-runtime 2.5; the first matching prefix
// counts. Those of channels stand between the two lists.
var (
	reloadFirst = [...]reloadRule{
		{"gateway.remote", ClassNone, ""}, {"gateway.reload", ClassNone, ""},
		{"hooks.gmail", ClassHot, ActionGmail}, {"hooks", ClassHot, ActionHooks},
		{"agents.defaults.heartbeat", ClassHot, ActionHeartbeat}, {"agent.heartbeat", ClassHot, ActionHeartbeat},
		{"cron", ClassHot, ActionCron}, {"browser", ClassHot, ActionBrowser}, {"web", ClassHot, ActionWeb},
	}
	// Every write stamps meta, so it must never restart anything.
	reloadNone = [...]string{
		"meta", "identity", "wizard", "logging", "models", "agents", "tools", "bindings", "audio", "agent", "routing",
		"messages", "session", "talk", "skills", "ui",
	}
)

type reloadRule struct {
	prefix string
	class  Class
	action Action
}

// ChangedPath is one setting that differs between two configurations.
type ChangedPath struct {
	Path   string // dotted
	Class  Class
	Action Action // of a hot change
}

// Plan is what a gateway shall do about a change.
type Plan struct {
	Restart bool
	// Actions are the parts to restart, each once. With Restart they are empty.
	Actions []Action
	// Ignored are paths that need a restart which gateway.reload.mode forbids.
	Ignored []string
}

// Change is a configuration that replaced another.
type Change struct {
	Old, New *Snapshot
	Paths    []ChangedPath
	Plan     Plan
}

// Compare lists what differs between two snapshots and what follows from it.
// Channels are the ids of channels that can restart by themselves.
func Compare(old, new *Snapshot, channels ...string) Change {
	c := Change{Old: old, New: new}
	for _, path := range changedPaths(old.Resolved, new.Resolved) {
		c.Paths = append(c.Paths, classify(path, channels))
	}
	c.Plan = plan(c.Paths, new.Config.Gateway.Reload.Mode)
	return c
}

// changedPaths lists the dotted paths at which two trees differ, in order.
// Lists count as a whole.
func changedPaths(a, b map[string]any) []string {
	var out []string
	var walk func(a, b any, path string)
	walk = func(a, b any, path string) {
		x, isX := a.(map[string]any)
		y, isY := b.(map[string]any)
		if !isX || !isY {
			if !json5.Equal(a, b) {
				out = append(out, path)
			}
			return
		}
		keys := maps.Clone(x)
		maps.Copy(keys, y)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			v, inX := x[k]
			w, inY := y[k]
			at := strings.TrimPrefix(path+"."+k, ".")
			if inX != inY {
				out = append(out, at)
				continue
			}
			walk(v, w, at)
		}
	}
	walk(a, b, "")
	return out
}

func classify(path string, channels []string) ChangedPath {
	for _, r := range reloadFirst {
		if below(path, r.prefix) {
			return ChangedPath{path, r.class, r.action}
		}
	}
	for _, id := range channels {
		if below(path, "channels."+id) {
			return ChangedPath{path, ClassHot, ActionChannel(id)}
		}
	}
	for _, prefix := range reloadNone {
		if below(path, prefix) {
			return ChangedPath{path, ClassNone, ""}
		}
	}
	return ChangedPath{path, ClassRestart, ""}
}

func below(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '.')
}

// plan follows gateway.reload.mode: off, hot, restart or hybrid.
func plan(paths []ChangedPath, mode string) Plan {
	var p Plan
	if mode == "off" {
		return p
	}
	for _, c := range paths {
		switch {
		case c.Class == ClassNone:
		case mode == "restart", c.Class == ClassRestart && mode != "hot":
			p.Restart = true
		case c.Class == ClassRestart:
			p.Ignored = append(p.Ignored, c.Path)
		case !slices.Contains(p.Actions, c.Action):
			p.Actions = append(p.Actions, c.Action)
		}
	}
	if p.Restart {
		p.Actions = nil
	}
	return p
}

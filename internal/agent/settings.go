package agent

import (
	"time"

	"openclaw/internal/config"
)

// SettingsOf reads the settings of an agent from a configuration. Paths say where
// folders are that the configuration does not name.
func SettingsOf(c *config.Config, paths config.Paths, agentID string) Settings {
	d := c.Agents.Defaults
	a, _ := c.Agent(agentID)
	s := Settings{
		Workspace:         c.Workspace(paths, agentID),
		SkipBootstrap:     d.SkipBootstrap,
		BootstrapMaxChars: d.BootstrapMaxChars,
		RepoRoot:          d.RepoRoot,
		Timeout:           time.Duration(max(d.TimeoutSeconds, 1)) * time.Second,
		Thinking:          d.ThinkingDefault,
		Verbose:           d.VerboseDefault,
		Model:             a.Model.Primary,
		Fallbacks:         a.Model.Fallbacks,
		Aliases:           c.Aliases(),
		Owners:            c.Commands.OwnerAllowFrom,
		HeartbeatPrompt:   d.Heartbeat.Prompt,
		QueueMode:         c.Messages.Queue.Mode,
	}
	// Elevated is on by default only where somebody may use it.
	if e := c.Tools.Elevated; (e.Enabled == nil || *e.Enabled) && len(e.AllowFrom) > 0 {
		s.Elevated = d.ElevatedDefault
	}
	if a.Heartbeat != nil && a.Heartbeat.Prompt != "" {
		s.HeartbeatPrompt = a.Heartbeat.Prompt
	}
	if d.UserTimezone != "" {
		// A name that is not known leaves the machine's zone; validation tells.
		s.Zone, _ = time.LoadLocation(d.UserTimezone)
	}
	return s
}

package doctor

import (
	"path/filepath"
	"strings"

	"openclaw/internal/workspace"
)

// workspaceTips are remarks about a workspace that works.
func (d *doctor) workspaceTips(check, dir string) []Finding {
	var found []Finding
	var missing []string
	for _, name := range []string{workspace.AgentsFile, workspace.SoulFile, workspace.ToolsFile, workspace.IdentityFile, workspace.UserFile, workspace.HeartbeatFile} {
		if !exists(filepath.Join(dir, name)) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		found = append(found, note(check, d.Paths.Short(dir)+" lacks "+strings.Join(missing, ", "), d.Program+" setup makes them"))
	}
	if !exists(filepath.Join(dir, ".git")) {
		found = append(found, note(check, d.Paths.Short(dir)+" is in no repository, so changes of the agent cannot be undone", "git init "+dir))
	}
	return found
}

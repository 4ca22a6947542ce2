package agent

import (
	"os"
	"path/filepath"
)

// maxAncestors bounds how far up a repository is looked for.
const maxAncestors = 12

// findRepo returns the configured root if it exists, else the nearest folder at
// or above dir that holds .git, else nothing.
func findRepo(configured, dir string) string {
	if configured != "" {
		if info, err := os.Stat(configured); err == nil && info.IsDir() {
			return configured
		}
	}
	for range maxAncestors {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

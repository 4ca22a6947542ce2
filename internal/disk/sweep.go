package disk

import (
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// unfinished is the name of a file that [Replace] or [Lock] had not renamed yet.
var unfinished = regexp.MustCompile(`^\.(.+\.jsonl?(\.[a-z.]*)?|(.+\.)?lock\.)[0-9]{6,}$`)

// Sweep removes what writers that were killed have left in the folders: the temporary
// files of [Replace] for JSON files, and of [Lock], that nobody has touched since before. It returns
// how many it removed. Folders that cannot be read are left alone.
func Sweep(before time.Time, dirs ...string) (removed int) {
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !unfinished.MatchString(e.Name()) {
				continue
			}
			info, err := e.Info()
			if err != nil || !info.ModTime().Before(before) {
				continue
			}
			if os.Remove(filepath.Join(dir, e.Name())) == nil {
				removed++
			}
		}
	}
	return removed
}

package conformance

import (
	"fmt"
	"path"
	"strings"
)

// Kinds of a difference.
const (
	Missing = "missing" // recorded, but not sent by ours
	Extra   = "extra"   // sent by ours, but not recorded
	Value   = "value"   // both have it, with other values
	Order   = "order"   // it came at another place
	Close   = "close"   // the connection ended otherwise
	Unknown = "unknown" // ours does not know the method
	Merged  = "merged"  // a state that was told, but not once more
)

// Diff is one difference between a recording and what our gateway did.
type Diff struct {
	Scenario string
	Conn     string
	Frame    string // key of the frame, see Frame.Key
	Path     string // within the frame, such as "payload.features.methods"; may be empty
	Kind     string
	Want     string // recorded
	Got      string
}

func (d Diff) String() string {
	s := fmt.Sprintf("%s: %s: %s", d.Scenario, d.Conn, d.Frame)
	if d.Path != "" {
		s += ": " + d.Path
	}
	s += ": " + d.Kind
	if d.Want != "" {
		s += " recorded " + clip(d.Want)
	}
	if d.Got != "" {
		s += ", ours " + clip(d.Got)
	}
	return s
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

// Tolerance is a difference that we want, and why. Patterns are those of
// path.Match over whole fields, "" matches everything; but an empty Path is that
// of a difference in a frame as a whole.
type Tolerance struct {
	Scenario string
	Conn     string
	Frame    string
	Path     string
	Kind     string
	By       string // the clause that wants it
	Why      string // what it is about, where the clause does not tell
	// Sometimes marks a difference that depends on timing: it need not be there.
	Sometimes bool
}

func (t Tolerance) covers(d Diff) bool {
	return matches(t.Scenario, d.Scenario) && matches(t.Conn, d.Conn) && matches(t.Frame, d.Frame) &&
		matches(t.Kind, d.Kind) && (d.Path == "" || t.Path != "") && matches(t.Path, d.Path)
}

// matches is path.Match in which "*" also takes slashes.
func matches(pattern, s string) bool {
	if pattern == "" {
		return true
	}
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(s, "/", "\x00"))
	return err == nil && ok
}

// Judge splits diffs into those that no tolerance covers and returns which
// tolerances were used.
func Judge(diffs []Diff, tolerances []Tolerance) (left []Diff, used map[int]bool) {
	used = map[int]bool{}
	for _, d := range diffs {
		covered := false
		for i, t := range tolerances {
			if t.covers(d) {
				used[i] = true
				covered = true
				break
			}
		}
		if !covered {
			left = append(left, d)
		}
	}
	return left, used
}

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
// path.Match over whole fields, "" matches everything; in Path a final ".**"
// stands for anything below.
type Tolerance struct {
	Scenario string
	Conn     string
	Frame    string
	Path     string
	Kind     string
	Why      string
	// Sometimes marks a difference that depends on timing: it need not be there.
	Sometimes bool
}

func (t Tolerance) covers(d Diff) bool {
	return matches(t.Scenario, d.Scenario) && matches(t.Conn, d.Conn) && matches(t.Frame, d.Frame) &&
		matchesPath(t.Path, d.Path) && matches(t.Kind, d.Kind)
}

// matches is path.Match in which "*" also takes slashes.
func matches(pattern, s string) bool {
	if pattern == "" {
		return true
	}
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(s, "/", "\x00"))
	return err == nil && ok
}

func matchesPath(pattern, s string) bool {
	if base, ok := strings.CutSuffix(pattern, ".**"); ok {
		parts := strings.Split(s, ".")
		n := len(strings.Split(base, "."))
		return len(parts) >= n && matches(base, strings.Join(parts[:n], "."))
	}
	return matches(pattern, s)
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

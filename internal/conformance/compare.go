package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// binding knows what the placeholders of a recording stand for in this play.
type binding struct {
	real map[string]string // placeholder → value
	name map[string]string // value → placeholder, of those that stand for one value
	home string            // "~" in the recording
}

func newBinding(home, token string) *binding {
	b := &binding{real: map[string]string{}, name: map[string]string{}, home: home}
	b.bind("<gateway-token>", token)
	return b
}

func (b *binding) clone() *binding {
	return &binding{real: maps.Clone(b.real), name: maps.Clone(b.name), home: b.home}
}

func (b *binding) bind(placeholder, value string) {
	b.real[placeholder] = value
	b.name[value] = placeholder
}

// placeholder finds one in a recorded string. Its kind says what it may stand for.
var placeholder = regexp.MustCompile(`<(uuid|hex64|hex32|hex8|publicKey|signature|deviceToken|token)-\d+>|<gateway-token>|<host>|<ip>|<kernel>|<port>|<install>|<date>|<text of \d+ characters>|<\d+ more>|<\d+ log lines, each a JSON object as text>`)

// shapes are what the values behind placeholders look like. Those with a number
// are the same value throughout; the others are anything of the shape.
var shapes = map[string]string{
	"uuid":        `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
	"hex64":       `[0-9a-f]{64}`,
	"hex32":       `[0-9a-f]{32}`,
	"hex8":        `[0-9a-f]{8}`,
	"publicKey":   `[A-Za-z0-9_-]{43}`,
	"deviceToken": `[0-9a-f]{32,}`,
	"token":       `[!-~]{16,}`,
	"<host>":      `[^ ]+`,
	"<ip>":        `[0-9a-f.:]+`,
	"<kernel>":    `[^ ]+`,
	"<port>":      `\d+`,
	"<date>":      `\d{4}-\d\d-\d\d`,
}

// stamp finds the time in the name of an archived file.
var stamp = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z\b`)

// match compares a recorded string with ours and binds new placeholders.
func (b *binding) match(want, got string) bool {
	got = strings.ReplaceAll(got, b.home, "~")
	want, got = stamp.ReplaceAllString(want, "(time)"), stamp.ReplaceAllString(got, "(time)")
	if !placeholder.MatchString(want) {
		return want == got
	}
	pattern, names := b.pattern(want)
	m := pattern.FindStringSubmatch(got)
	if m == nil {
		return false
	}
	for i, name := range names {
		if !strings.Contains(name, "-") || b.real[name] != "" {
			continue
		}
		if b.name[m[i+1]] != "" {
			return false // the recording has two values where ours has one
		}
		b.bind(name, m[i+1])
	}
	return true
}

// pattern matches what a recorded string may stand for, with one group for each
// of its placeholders.
func (b *binding) pattern(want string) (*regexp.Regexp, []string) {
	var pattern strings.Builder
	var names []string
	pattern.WriteString("^")
	rest := want
	for {
		at := placeholder.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		name, kind := rest[at[0]:at[1]], ""
		if at[2] >= 0 {
			kind = rest[at[2]:at[3]]
		}
		pattern.WriteString(regexp.QuoteMeta(rest[:at[0]]))
		names = append(names, name)
		pattern.WriteString("(" + b.shape(name, kind) + ")")
		rest = rest[at[1]:]
	}
	pattern.WriteString(regexp.QuoteMeta(rest) + "$")
	return regexp.MustCompile(pattern.String()), names
}

func (b *binding) shape(name, kind string) string {
	if v, ok := b.real[name]; ok {
		return regexp.QuoteMeta(v)
	}
	if s, ok := shapes[kind]; ok {
		return s
	}
	if s, ok := shapes[name]; ok {
		return s
	}
	return `(?s:.+)`
}

// fill replaces the placeholders of a string that is to be sent. It reports
// false when one of them is not known yet.
func (b *binding) fill(s string) (string, bool) {
	known := true
	s = placeholder.ReplaceAllStringFunc(s, func(name string) string {
		v, ok := b.real[name]
		if !ok {
			known = false
		}
		return v
	})
	return s, known
}

// comparer collects the differences of one frame.
type comparer struct {
	b     *binding
	diffs []Diff
}

func (c *comparer) add(path []string, kind string, want, got any) {
	c.diffs = append(c.diffs, Diff{Path: strings.Join(path, "."), Kind: kind, Want: text(want), Got: text(got)})
}

func text(v any) string {
	if v == nil {
		return ""
	}
	data, _ := json.Marshal(v)
	return string(data)
}

// measured are numbers that no two plays share.
var measured = map[string]bool{"durationMs": true, "uptimeMs": true, "age": true, "pid": true}

// compare walks both values. A recorded nil is a JSON null.
func (c *comparer) compare(path []string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			c.objects(path, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			c.arrays(path, w, g)
			return
		}
	case string:
		if g, ok := got.(string); ok && c.b.match(w, g) {
			return
		}
	case json.Number:
		if g, ok := got.(json.Number); ok && sameNumber(path, w, g) {
			return
		}
	default: // true, false, null
		if want == got {
			return
		}
	}
	c.add(path, Value, orNull(want), orNull(got))
}

func orNull(v any) any {
	if v == nil {
		return json.RawMessage("null")
	}
	return v
}

func (c *comparer) objects(path []string, want, got map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		at := append(slices.Clip(path), k)
		if g, ok := got[k]; ok {
			c.compare(at, want[k], g)
		} else {
			c.add(at, Missing, orNull(want[k]), nil)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			c.add(append(slices.Clip(path), k), Extra, nil, orNull(got[k]))
		}
	}
}

// arrays compares element by element, without what was there before the
// recording began: our gateway starts empty.
func (c *comparer) arrays(path []string, want, got []any) {
	if len(path) > 0 && sets[path[len(path)-1]] {
		c.sets(path, want, got)
		return
	}
	want = slices.DeleteFunc(slices.Clone(want), older)
	if n := len(want); n > 0 {
		if s, ok := want[n-1].(string); ok && placeholder.MatchString(s) && strings.HasSuffix(s, " more>") {
			want, got = want[:n-1], got[:min(len(got), n-1)] // the recording was cut here
		}
	}
	if len(got) > len(want) && len(path) > 0 && path[len(path)-1] == "messages" {
		got = c.inserted(path, want, got)
	}
	for i := range max(len(want), len(got)) {
		at := append(slices.Clip(path), strconv.Itoa(i))
		switch {
		case i >= len(got):
			c.add(at, Missing, orNull(want[i]), nil)
		case i >= len(want):
			c.add(at, Extra, nil, orNull(got[i]))
		default:
			c.compare(at, want[i], got[i])
		}
	}
}

// inserted reports the messages that ours has between the recorded ones, at "+",
// and returns the rest. Nothing is left out if that does not make them alike.
func (c *comparer) inserted(path []string, want, got []any) []any {
	var rest, more []any
	for _, g := range got {
		if len(rest) < len(want) && str(g, "role") == str(want[len(rest)], "role") && firstText(g) == firstText(want[len(rest)]) {
			rest = append(rest, g)
		} else {
			more = append(more, g)
		}
	}
	if len(rest) < len(want) {
		return got
	}
	for _, g := range more {
		c.add(append(slices.Clip(path), "+"), Extra, nil, g)
	}
	return rest
}

// firstText is the text that a message begins with.
func firstText(message any) string {
	m, _ := message.(map[string]any)
	content, _ := m["content"].([]any)
	if len(content) == 0 {
		return ""
	}
	return str(content[0], "text")
}

// sets are lists of names whose order means nothing.
var sets = map[string]bool{"methods": true}

func (c *comparer) sets(path []string, want, got []any) {
	for _, v := range want {
		if !slices.Contains(got, v) {
			c.add(append(slices.Clip(path), fmt.Sprint(v)), Missing, v, nil)
		}
	}
	for _, v := range got {
		if !slices.Contains(want, v) {
			c.add(append(slices.Clip(path), fmt.Sprint(v)), Extra, nil, v)
		}
	}
}

// older reports whether a list element tells of something before the recording.
func older(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	start := int64(epoch)
	if m["reason"] == "disconnect" {
		start += 5 // the last client of the recording before this one
	}
	for _, k := range []string{"ts", "updatedAt", "timestamp", "approvedAtMs"} {
		if at, err := number(m[k]); err == nil && at < start {
			return true
		}
	}
	return false
}

// sameNumber compares numbers: times only need to be times of their play, and
// sequence numbers and versions are checked on their own (see sequence.go).
func sameNumber(path []string, want, got json.Number) bool {
	if want == got {
		return true
	}
	key := path[len(path)-1]
	if measured[key] || len(path) == 1 && key == "seq" || len(path) > 1 && path[len(path)-2] == "stateVersion" {
		return true
	}
	w, err1 := want.Int64()
	g, err2 := got.Int64()
	return err1 == nil && err2 == nil && isTime(w, epoch) && isTime(g, time.Now().UnixMilli())
}

// isTime reports whether ms lies within a year around now.
func isTime(ms, now int64) bool {
	d := time.Duration(ms-now) * time.Millisecond
	return d.Abs() < 370*24*time.Hour
}

// number reads a number that a recording holds.
func number(v any) (int64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%v is no number", v)
	}
	return n.Int64()
}

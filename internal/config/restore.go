package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"openclaw/internal/config/json5"
)

// absent marks a place that a tree does not have; nil is a value.
type absent struct{}

func child(tree any, key string) any {
	if v, ok := Lookup(tree, key); ok {
		return v
	}
	return absent{}
}

// restorer turns what a client sends back into what may be stored. The client
// has seen the trees of [Snapshot.Redacted]: the parsed one as its author wrote
// it, or the resolved one with defaults, includes and environment.
type restorer struct {
	missing []string // dotted paths of sentinels without stored value
	foreign []string // dotted paths that only an included file can change
}

// authored restores a tree that was made from the text of the file: sentinels
// become the stored values, and texts that came from the environment become
// references again.
func (r *restorer) authored(n, stored, resolved any, path []string) any {
	switch n := n.(type) {
	case map[string]any:
		out := make(map[string]any, len(n))
		for k, v := range n {
			out[k] = r.authored(v, child(stored, k), child(resolved, k), append(path, k))
		}
		return out
	case []any:
		return r.authoredList(n, stored, resolved, path)
	case string:
		if n == Sentinel {
			return r.keep(stored, path)
		}
		if text, ok := stored.(string); ok && text != n && hasRef(text) && resolved == any(n) {
			return stored
		}
	}
	return n
}

func (r *restorer) authoredList(n []any, stored, resolved any, path []string) any {
	have, _ := stored.([]any)
	all, _ := resolved.([]any)
	shift := len(all) - len(have) // included elements come first
	out := make([]any, len(n))
	match := align(n, have, path)
	for i, v := range n {
		var s, res any = absent{}, absent{}
		if j := match[i]; j >= 0 {
			s = have[j]
			if shift >= 0 {
				res = all[j+shift]
			}
		}
		out[i] = r.authored(v, s, res, append(path, strconv.Itoa(i)))
	}
	return out
}

// keep is the stored value behind a sentinel.
func (r *restorer) keep(stored any, path []string) any {
	switch stored.(type) {
	case absent, nil, map[string]any, []any:
		r.missing = append(r.missing, dotted(path))
		return Sentinel
	}
	return stored
}

// place is one spot of the configuration in its three forms.
type place struct {
	stored   any // as the file has it
	held     any // with includes
	resolved any // with everything
}

func (p place) child(key string) place {
	return place{child(p.stored, key), child(p.held, key), child(p.resolved, key)}
}

// resolved restores a tree that was made from the resolved configuration, so
// that only what the client changed reaches the file: what is as it was resolved
// keeps its authored form, or stays out of the file when it never was in it.
func (r *restorer) resolved(n any, p place, path []string) any {
	if same(n, p.resolved, path) {
		return p.stored
	}
	switch n := n.(type) {
	case map[string]any:
		return r.resolvedObject(n, p, path)
	case []any:
		return r.resolvedList(n, p, path)
	}
	if n == any(Sentinel) {
		return r.keep(p.stored, path)
	}
	return n
}

func (r *restorer) resolvedObject(n map[string]any, p place, path []string) any {
	res, _ := p.resolved.(map[string]any)
	own, _ := p.stored.(map[string]any)
	held, _ := p.held.(map[string]any)
	out := make(map[string]any, len(n))
	for k, v := range n {
		if v := r.resolved(v, p.child(k), append(path, k)); v != (any)(absent{}) {
			out[k] = v
		}
	}
	for k, v := range own { // $include and the like, which the client never saw
		if _, seen := res[k]; !seen {
			out[k] = v
		}
	}
	for k := range held {
		_, kept := n[k]
		_, ours := own[k]
		if _, seen := res[k]; seen && !kept && !ours {
			r.foreign = append(r.foreign, dotted(append(slices.Clone(path), k)))
		}
	}
	return out
}

// resolvedList restores a list, whose included elements come first and stay
// where they are.
func (r *restorer) resolvedList(n []any, p place, path []string) any {
	have, _ := p.stored.([]any)
	all, _ := p.resolved.([]any)
	held, _ := p.held.([]any)
	included := max(len(held)-len(have), 0)
	match := align(n, all, path)
	out := make([]any, 0, len(n))
	for i, v := range n {
		at := append(path, strconv.Itoa(i))
		spot := place{absent{}, absent{}, absent{}}
		if j := match[i]; j >= 0 {
			spot.resolved = all[j]
			if j < included {
				if i != j || !same(v, all[j], at) {
					r.foreign = append(r.foreign, dotted(path))
				}
				continue
			}
			if j-included < len(have) {
				spot.stored = have[j-included]
			}
			if j < len(held) {
				spot.held = held[j]
			}
		}
		v := r.resolved(v, spot, at)
		if v == (any)(absent{}) {
			v = n[i]
		}
		out = append(out, v)
	}
	if len(n) < included {
		r.foreign = append(r.foreign, dotted(path))
	}
	return out
}

// same reports whether n is v as a client saw it, or v itself.
func same(n, v any, path []string) bool {
	if _, none := v.(absent); none {
		return false
	}
	switch n := n.(type) {
	case map[string]any:
		m, ok := v.(map[string]any)
		if !ok || len(m) != len(n) {
			return false
		}
		for k, e := range n {
			w, ok := m[k]
			if !ok || !same(e, w, append(path, k)) {
				return false
			}
		}
		return true
	case []any:
		list, ok := v.([]any)
		if !ok || len(list) != len(n) {
			return false
		}
		for i, e := range n {
			if !same(e, list[i], append(path, strconv.Itoa(i))) {
				return false
			}
		}
		return true
	case string:
		if n == Sentinel {
			_, text := v.(string)
			_, num := v.(json.Number)
			return text || num
		}
	}
	return json5.Equal(n, v)
}

// align finds for each element of n the element of old it was, -1 for none:
// one that looks the same, then one with the same id or name, then the one at
// the same place when nothing was added or removed.
func align(n, old []any, path []string) []int {
	match := make([]int, len(n))
	used := make([]bool, len(old))
	take := func(i, j int) { match[i], used[j] = j, true }
	for i := range n {
		match[i] = -1
		if i < len(old) && same(n[i], old[i], append(path, strconv.Itoa(i))) {
			take(i, i)
		}
	}
	find := func(like func(i, j int) bool) {
		for i := range n {
			for j := 0; j < len(old) && match[i] < 0; j++ {
				if !used[j] && like(i, j) {
					take(i, j)
				}
			}
		}
	}
	find(func(i, j int) bool { return same(n[i], old[j], append(path, strconv.Itoa(j))) })
	for _, key := range [...]string{"id", "name"} {
		find(func(i, j int) bool {
			a, ok := textAt(n[i], key)
			b, _ := textAt(old[j], key)
			return ok && a == b && a != ""
		})
	}
	if len(n) == len(old) {
		find(func(i, j int) bool { return i == j })
	}
	return match
}

// fromResolved guesses whether n was made from the resolved tree, as the forms
// of a control UI do, and not from the text: it then repeats what the text
// lacks, most of it unchanged.
func fromResolved(n any, s *Snapshot) bool {
	injected, repeated := countInjected(s.Resolved, s.Parsed, n, nil)
	return injected > 0 && repeated*10 >= injected*6
}

// countInjected counts leaves of resolved that stored lacks, and those of them
// that n repeats.
func countInjected(resolved, stored, n any, path []string) (injected, repeated int) {
	m, object := resolved.(map[string]any)
	if object && (len(m) > 0 || stored == any(absent{})) {
		for _, k := range slices.Collect(maps.Keys(m)) {
			i, r := countInjected(m[k], child(stored, k), child(n, k), append(path, k))
			injected, repeated = injected+i, repeated+r
		}
		return injected, repeated
	}
	if list, ok := resolved.([]any); ok {
		if have, ok := stored.([]any); ok && len(have) == len(list) {
			for j := range list {
				key := strconv.Itoa(j)
				i, r := countInjected(list[j], have[j], child(n, key), append(path, key))
				injected, repeated = injected+i, repeated+r
			}
			return injected, repeated
		}
	}
	if _, none := stored.(absent); none {
		injected = 1
		if same(n, resolved, path) {
			repeated = 1
		}
	}
	return injected, repeated
}

// restoreComments gives the comments of text that hold a sentinel the words that
// the comments of stored have there.
func restoreComments(text, stored string) (string, error) {
	if !strings.Contains(text, Sentinel) {
		return text, nil
	}
	original := map[string]string{}
	var values []string
	// An unreadable stored text has no comments to give.
	_, _ = json5.Rewrite(stored, json5.Rewriter{Scalar: func(path []string, v any) (any, bool) {
		if s, ok := v.(string); ok && isSecret(v, path) && len(s) >= 6 {
			values = append(values, s)
		}
		return nil, false
	}})
	_, _ = json5.Rewrite(stored, json5.Rewriter{Comment: func(c string) string {
		original[redactComment(c, values)] = c
		return c
	}})
	return json5.Rewrite(text, json5.Rewriter{Comment: func(c string) string {
		if was, ok := original[c]; ok {
			return was
		}
		return c
	}})
}

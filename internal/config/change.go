package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"openclaw/internal/config/json5"
)

// replacement is the text that Set writes for raw.
func replacement(cur *Snapshot, raw string) (string, error) {
	if cur.Exists && raw == redactText(cur.Raw) {
		return cur.Raw, nil // sent back as it was shown
	}
	tree, err := json5.Decode(raw)
	if err != nil {
		return "", &Error{Message: err.Error()}
	}
	var r restorer
	if cur.Valid && cur.Exists && fromResolved(tree, cur) {
		want := r.resolved(tree, place{cur.Parsed, cur.authored, cur.Resolved}, nil)
		if err := r.err(); err != nil {
			return "", err
		}
		return json5.Update(cur.Raw, want)
	}
	want := r.authored(tree, cur.Parsed, cur.Resolved, nil)
	if err := r.err(); err != nil {
		return "", err
	}
	// A program wrote this text, not a person: keep the person's comments.
	if generated(raw) && !generated(cur.Raw) && cur.parses() {
		return json5.Update(cur.Raw, want)
	}
	text, err := json5.Rewrite(raw, json5.Rewriter{Scalar: func(path []string, v any) (any, bool) {
		now, ok := Lookup(want, path...)
		return now, ok && !json5.Equal(now, v) && (v == Sentinel || hasRef(fmt.Sprint(now)))
	}})
	if err != nil {
		return "", err
	}
	return restoreComments(text, cur.Raw)
}

// parses reports whether the file holds an object that can be edited in place.
func (s *Snapshot) parses() bool {
	tree, err := json5.Decode(s.Raw)
	_, object := tree.(map[string]any)
	return err == nil && object
}

// generated reports whether a text is plain JSON as programs print it.
func generated(raw string) bool {
	raw = strings.TrimSpace(raw)
	return json.Valid([]byte(raw)) && !strings.Contains(raw, "\n\n")
}

// patched is the text of cur with a merge patch applied.
func patched(cur *Snapshot, raw string) (string, error) {
	tree, err := json5.Decode(raw)
	if err != nil {
		return "", &Error{Message: err.Error()}
	}
	patch, ok := tree.(map[string]any)
	if !ok {
		return "", &Error{Message: "config.patch raw must be an object"}
	}
	var r restorer
	want := r.patch(cur.Parsed, patch, cur.Resolved, nil)
	if err := r.err(); err != nil {
		return "", err
	}
	text, err := json5.Update(cur.Raw, want)
	if err != nil {
		return "", err
	}
	return text, checkRemoved(cur, text, removals(patch, nil))
}

// patch applies a merge patch to stored.
func (r *restorer) patch(stored any, patch map[string]any, resolved any, path []string) any {
	have, _ := stored.(map[string]any)
	out := maps.Clone(have)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range patch {
		at := append(slices.Clone(path), k)
		switch v := v.(type) {
		case nil:
			delete(out, k)
		case map[string]any:
			out[k] = r.patch(child(stored, k), v, child(resolved, k), at)
		case string:
			if _, kept := out[k]; v == Sentinel && !kept && secretHeld(child(resolved, k)) {
				continue // held by an included file
			}
			out[k] = r.authored(v, child(stored, k), child(resolved, k), at)
		default:
			out[k] = r.authored(v, child(stored, k), child(resolved, k), at)
		}
	}
	return out
}

func secretHeld(v any) bool {
	text, ok := v.(string)
	return ok && text != ""
}

// removals lists the paths a merge patch removes.
func removals(patch map[string]any, path []string) [][]string {
	var out [][]string
	for k, v := range patch {
		at := append(slices.Clone(path), k)
		if m, ok := v.(map[string]any); ok {
			out = append(out, removals(m, at)...)
		} else if v == nil {
			out = append(out, at)
		}
	}
	return out
}

// edited is the text of cur with ops applied.
func edited(cur *Snapshot, ops []Op) (string, error) {
	if cur.Exists && !cur.parses() {
		return "", &Error{"invalid config; fix it before changing it", cur.Problems()}
	}
	tree := cur.Parsed
	var removed [][]string
	for _, op := range ops {
		if len(op.Path) == 0 {
			return "", &Error{Message: "the path is empty"}
		}
		if op.Unset {
			next, ok := unsetAt(tree, op.Path)
			if !ok {
				return "", cur.notThere(op.Path)
			}
			tree = next
			removed = append(removed, op.Path)
			continue
		}
		next, err := setAt(tree, op.Path, op.Value)
		if err != nil {
			return "", &Error{Message: err.Error()}
		}
		tree = next
	}
	text, err := json5.Update(cur.Raw, tree)
	if err != nil {
		return "", err
	}
	return text, checkRemoved(cur, text, removed)
}

// notThere says why a path cannot be removed.
func (s *Snapshot) notThere(path []string) error {
	where := FormatPath(path)
	if _, ok := Lookup(s.authored, path...); ok {
		return fmt.Errorf("%s comes from an included file; change it there: %w", where, ErrNotFound)
	}
	if _, ok := s.Get(path); ok {
		return fmt.Errorf("%s has its default value: %w", where, ErrNotFound)
	}
	return fmt.Errorf("%s: %w", where, ErrNotFound)
}

// checkRemoved refuses a removal that an included file undoes. Positions in
// lists move when an element goes, so only keys can be checked.
func checkRemoved(cur *Snapshot, text string, paths [][]string) error {
	if len(cur.Files) < 2 {
		return nil
	}
	tree, err := json5.Decode(text)
	if err != nil {
		return err
	}
	// What the text lacks and the resolved file has comes from an include.
	var issues []Issue
	for _, path := range paths {
		if slices.ContainsFunc(path, isIndex) {
			continue
		}
		_, own := Lookup(tree, path...)
		_, before := Lookup(cur.Parsed, path...)
		if _, held := Lookup(cur.authored, path...); held && !own && !before {
			issues = append(issues, Issue{dotted(path), "comes from an included file; change it there"})
		}
	}
	if len(issues) > 0 {
		return &Error{"invalid config", issues}
	}
	return nil
}

// err is the refusal of what cannot be restored.
func (r *restorer) err() error {
	var issues []Issue
	for _, p := range sorted(r.missing) {
		issues = append(issues, Issue{p, "is redacted and no value is stored for it; enter it again"})
	}
	for _, p := range sorted(r.foreign) {
		issues = append(issues, Issue{p, "comes from an included file; change it there"})
	}
	if len(issues) == 0 {
		return nil
	}
	return &Error{"invalid config", issues}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// ParseValue reads a value of the command line: JSON5, or the text itself when
// it is none. Strict makes that an error.
func ParseValue(text string, strict bool) (any, error) {
	v, err := json5.Decode(text)
	switch {
	case err == nil:
		return v, nil
	case strict:
		return nil, err
	}
	return text, nil
}

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"openclaw/internal/config/json5"
	"openclaw/internal/disk"
)

const (
	// maxFile bounds the configuration and every included file.
	maxFile = 8 << 20
	// maxInclude bounds how deep includes nest.
	maxInclude = 10
	includeKey = "$include"
)

// includer resolves $include keys. Files notes all it read, for the watcher.
type includer struct {
	home  string
	stack []string // of files being read, the configuration first
	files []string
	err   *Issue // the first problem
}

// resolve returns v with its includes merged in. Paths are relative to the file
// on top of the stack.
func (r *includer) resolve(v any, path []string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.resolve(e, append(path, strconv.Itoa(i)))
		}
		return out
	case map[string]any:
		own := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if k != includeKey {
				own[k] = r.resolve(v[k], append(path, k))
			}
		}
		spec, ok := v[includeKey]
		if !ok {
			return own
		}
		base := r.include(spec, path)
		if _, object := base.(map[string]any); !object && len(own) > 0 && r.err == nil {
			r.fail(path, "the included file must hold an object because there are other keys beside it")
		}
		if len(own) == 0 {
			return base
		}
		return merge(base, own)
	}
	return v
}

// include reads the file or files that an $include names.
func (r *includer) include(spec any, path []string) any {
	switch spec := spec.(type) {
	case string:
		return r.file(spec, path)
	case []any:
		var merged any = map[string]any{}
		for _, e := range spec {
			name, ok := e.(string)
			if !ok {
				r.fail(path, "expected file names, got %s", shown(e, path))
				return merged
			}
			merged = merge(merged, r.file(name, path))
		}
		return merged
	}
	r.fail(path, "expected a file name or a list of them, got %s", shown(spec, path))
	return map[string]any{}
}

func (r *includer) file(name string, path []string) any {
	file := ExpandHome(name, r.home)
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(r.stack[len(r.stack)-1]), file)
	}
	file = filepath.Clean(file)
	if r.err != nil {
		return map[string]any{} // one problem is enough, and cycles must end
	}
	if i := slices.Index(r.stack, file); i >= 0 {
		r.fail(path, "circular include: %s", strings.Join(append(slices.Clone(r.stack[i:]), file), " → "))
		return map[string]any{}
	}
	if len(r.stack) > maxInclude {
		r.fail(path, "includes nest deeper than %d files at %s", maxInclude, file)
		return map[string]any{}
	}
	r.files = append(r.files, file)
	v, err := readJSON5(file)
	if err != nil {
		r.fail(path, "%v", err)
		return map[string]any{}
	}
	r.stack = append(r.stack, file)
	v = r.resolve(v, path)
	r.stack = r.stack[:len(r.stack)-1]
	return v
}

func (r *includer) fail(path []string, format string, args ...any) {
	if r.err == nil {
		r.err = &Issue{dotted(append(slices.Clone(path), includeKey)), fmt.Sprintf(format, args...)}
	}
}

func readJSON5(file string) (any, error) {
	data, err := disk.ReadFile(file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("included file %s does not exist", file)
	}
	if err != nil {
		return nil, err
	}
	v, err := json5.Decode(string(data))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return v, nil
}

// merge lays over onto base: objects merge, lists concatenate, anything else
// replaces. Neither is changed.
func merge(base, over any) any {
	switch over := over.(type) {
	case map[string]any:
		if m, ok := base.(map[string]any); ok {
			out := maps.Clone(m)
			for k, v := range over {
				if b, ok := m[k]; ok {
					v = merge(b, v)
				}
				out[k] = v
			}
			return out
		}
	case []any:
		if list, ok := base.([]any); ok {
			return slices.Concat(list, over)
		}
	}
	return over
}

package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"openclaw/internal/config/json5"
	"openclaw/internal/disk"
)

// Snapshot is a configuration file at one moment. It is never changed after it
// was made. See docs/protocol.md#config-get.
type Snapshot struct {
	Path   string
	Exists bool
	Raw    string // the text of the file; empty when there is none
	Hash   string // lower-case hex SHA-256 of Raw
	// Parsed is the value of Raw as its author wrote it: includes and ${NAME}
	// are not resolved. It is an empty object when Raw is no JSON5.
	Parsed any
	// Valid reports whether the file may be used. Without it Config and Resolved
	// are those of an empty file.
	Valid bool
	// Config is the typed view, never nil.
	Config *Config
	// Resolved is the whole tree with includes, environment and defaults.
	// Numbers are json.Number. Do not change it.
	Resolved map[string]any
	// Issues make the file invalid, Warnings do not; LegacyIssues name keys that
	// "openclaw doctor" moves, and make it invalid too.
	Issues, Warnings, LegacyIssues []Issue
	// EnvVars are the variables of the env block that the environment lacks. The
	// program exports them to itself and its children.
	EnvVars map[string]string
	// Files are the configuration and all it includes.
	Files []string

	authored   any                 // Parsed with its includes
	unknown    []unknownKey        // what Warnings say about unknown keys
	fromEnv    map[string][]string // dotted path → variables its text came from
	unreadable bool                // there is a file, but its text could not be read
}

// Load reads the configuration file of p. It does not fail: what is wrong is in
// the snapshot. The steps and their order are those of agent-runtime 2.1. Env
// must be the environment of the process as it was started, without variables
// exported from an earlier snapshot.
func Load(p Paths, env Env) *Snapshot {
	data, err := disk.ReadFile(p.ConfigPath, maxFile)
	s := evaluate(p, env, string(data), err == nil)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return s
	}
	s = evaluate(p, env, "", false)
	_, statErr := os.Lstat(p.ConfigPath)
	s.Exists, s.Valid = statErr == nil, false
	s.unreadable = s.Exists
	s.Issues = []Issue{{"", err.Error()}}
	return s
}

// evaluate runs the pipeline over a text that is, or may become, the file.
func evaluate(p Paths, env Env, raw string, exists bool) *Snapshot {
	sum := sha256.Sum256([]byte(raw))
	s := &Snapshot{
		Path: p.ConfigPath, Exists: exists, Raw: raw, Hash: hex.EncodeToString(sum[:]),
		Parsed: map[string]any{}, authored: map[string]any{}, Files: []string{p.ConfigPath},
	}
	tree := map[string]any{}
	if exists {
		tree = s.read(p, env)
	}
	s.Valid = len(s.Issues) == 0 && len(s.LegacyIssues) == 0
	if !s.Valid {
		tree = map[string]any{}
	}
	env = env.With(s.EnvVars)
	s.Resolved = expandPaths(withDefaults(tree, env), "", p.Home).(map[string]any)
	s.Config = newConfig(s.Resolved, env)
	return s
}

// read turns Raw into a tree and notes everything that is wrong with it.
func (s *Snapshot) read(p Paths, env Env) map[string]any {
	if err := readable(s.Raw, s.Path); err != nil {
		s.Issues = append(s.Issues, Issue{"", err.Error()})
		return nil
	}
	parsed, err := json5.Decode(s.Raw)
	if err != nil {
		s.Issues = append(s.Issues, Issue{"", err.Error()})
		return nil
	}
	s.Parsed = parsed
	inc := &includer{home: p.Home, stack: []string{p.ConfigPath}}
	s.authored = inc.resolve(parsed, nil)
	s.Files = append(s.Files, inc.files...)
	if inc.err != nil {
		s.Issues = append(s.Issues, *inc.err)
		return nil
	}
	s.EnvVars = envBlock(s.authored, env)
	sub := &substituter{env: env.With(s.EnvVars), used: map[string][]string{}}
	substituted := sub.value(s.authored, nil)
	s.Issues = append(s.Issues, sub.issues...)
	s.fromEnv = sub.used
	tree, ok := substituted.(map[string]any)
	if !ok {
		s.Issues = append(s.Issues, Issue{"", "expected object, got " + shown(substituted, nil)})
		return nil
	}
	s.LegacyIssues = legacyIssues(tree)
	tree, s.Warnings = applyAgentAlias(tree)
	c := &checker{}
	c.check(tree, known(), nil)
	c.checkRules(tree, p)
	s.Issues = append(s.Issues, c.issues...)
	for _, u := range c.unknown {
		if !s.isLegacy(u.path()) {
			s.unknown = append(s.unknown, u)
			s.Warnings = append(s.Warnings, u.warning())
		}
	}
	s.Warnings = append(s.Warnings, settingWarnings(tree)...)
	return tree
}

// isLegacy reports whether another list already tells about path.
func (s *Snapshot) isLegacy(path string) bool {
	if path == "gateway.token" {
		return true // settingWarnings says where it moved
	}
	for _, i := range s.LegacyIssues {
		if i.Path == path || strings.HasPrefix(i.Path, path+".") {
			return true
		}
	}
	return false
}

// readable refuses texts that a crash or another program left behind, with a
// hint that a parser cannot give.
func readable(raw, path string) error {
	if strings.HasPrefix(raw, "\xff\xfe") || strings.HasPrefix(raw, "\xfe\xff") {
		return errors.New("the file is UTF-16; save it as UTF-8")
	}
	if strings.Trim(raw, " \t\r\n\x00\uFEFF") != "" {
		return nil
	}
	if _, err := os.Stat(path + ".bak"); err == nil {
		return fmt.Errorf("the file is empty; restore it from %s.bak, or write {} to start afresh", path)
	}
	return errors.New("the file is empty; write {} to start afresh, or delete it")
}

// Problems returns all issues of an invalid file, legacy ones last.
func (s *Snapshot) Problems() []Issue {
	return append(append([]Issue(nil), s.Issues...), s.LegacyIssues...)
}

// Err returns nil for a valid file, else one error that names every problem.
func (s *Snapshot) Err() error {
	if s.Valid {
		return nil
	}
	var b strings.Builder
	for _, i := range s.Problems() {
		b.WriteString("\n- " + i.String())
	}
	return fmt.Errorf("configuration %s is invalid:%s", s.Path, b.String())
}

// Get returns the value at a path of the resolved tree, see [ParsePath].
func (s *Snapshot) Get(path []string) (any, bool) { return Lookup(s.Resolved, path...) }

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"openclaw/internal/cli"
	"openclaw/internal/config"
)

// Level, patterns and file of the log follow the configuration while it is in use.
func TestLogFollowsConfig(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.log"), filepath.Join(dir, "second.log")
	paths := config.Paths{Home: dir, StateDir: dir, ConfigPath: filepath.Join(dir, "openclaw.json")}
	load := func(text string) *config.Config {
		t.Helper()
		writeFile(t, paths.ConfigPath, text)
		snap := config.Load(paths, func(string) string { return "" })
		if err := snap.Err(); err != nil {
			t.Fatal(err)
		}
		return snap.Config
	}
	var console strings.Builder
	p := &program{io: &cli.Streams{Err: &console}, paths: paths}
	l, err := p.openLog(load(`{logging: {file: "`+first+`"}}`), &console, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.Debug("one")
	l.Info("two", "note", "the word is swordfish")
	l.apply(load(`{logging: {file: "` + first + `", level: "debug", consoleLevel: "error", redactPatterns: ["swordfish"]}}`))
	l.Debug("three", "note", "the word is swordfish")
	l.apply(load(`{logging: {file: "` + second + `"}}`))
	l.Info("four")
	if got := l.path(); got != second {
		t.Errorf("path = %s, want %s", got, second)
	}
	l.apply(load(`{logging: {file: "` + filepath.Join(first, "x.log") + `"}}`)) // first is a file
	l.Info("five")
	if got := l.path(); got != second {
		t.Errorf("path after a file that cannot be opened = %s, want %s", got, second)
	}
	for path, want := range map[string]struct{ has, lacks []string }{
		first:  {[]string{`"two"`, `"three"`, "the word is swordfish"}, []string{`"one"`, `"four"`}},
		second: {[]string{`"four"`, `"five"`}, []string{`"three"`, "swordfish"}},
	} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range want.has {
			if !strings.Contains(string(data), text) {
				t.Errorf("%s lacks %s:\n%s", path, text, data)
			}
		}
		for _, text := range want.lacks {
			if strings.Contains(string(data), text) {
				t.Errorf("%s holds %s:\n%s", path, text, data)
			}
		}
		if path == first && strings.Count(string(data), "swordfish") != 1 {
			t.Errorf("the new pattern does not hide the word:\n%s", data)
		}
	}
	if strings.Contains(console.String(), "three") {
		t.Error("the console got a line below its new level")
	}
}

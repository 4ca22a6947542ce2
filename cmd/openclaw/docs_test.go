package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"openclaw/internal/cli"
)

// Every command has its page, which names every sub-command and every flag; no
// page describes a command that does not exist.
func TestCommandsAreDocumented(t *testing.T) {
	root := rootCommand(&program{io: &cli.Streams{Out: io.Discard, Err: io.Discard}, name: "openclaw"})
	dir := filepath.Join("..", "..", "docs", "commands")
	overview := readPage(t, filepath.Join(dir, "openclaw.md"))
	pages := map[string]bool{"openclaw.md": true}
	for _, cmd := range root.Commands() {
		if cmd.Hidden || cmd.Name() == "help" {
			continue
		}
		name := cmd.Name() + ".md"
		pages[name] = true
		page := readPage(t, filepath.Join(dir, name))
		if !strings.Contains(overview, "("+name+")") {
			t.Errorf("docs/commands/openclaw.md does not link %s", name)
		}
		checkPage(t, cmd, page, overview)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !pages[e.Name()] && !e.IsDir() { // the folder belongs to another program
			t.Errorf("docs/commands/%s describes no command", e.Name())
		}
	}
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("read page: %v", err)
	}
	return string(data)
}

func checkPage(t *testing.T, cmd *cobra.Command, page, overview string) {
	t.Helper()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && !strings.Contains(page, "--"+f.Name) && !strings.Contains(overview, "--"+f.Name) {
			t.Errorf("the page of %q does not mention --%s", cmd.CommandPath(), f.Name)
		}
	})
	if cmd.Short == "" {
		t.Errorf("%q has no short description", cmd.CommandPath())
	}
	for _, sub := range cmd.Commands() {
		if !strings.Contains(page, strings.TrimPrefix(sub.CommandPath(), "openclaw ")) && !strings.Contains(page, sub.Name()) {
			t.Errorf("the page of %q does not mention %q", cmd.CommandPath(), sub.CommandPath())
		}
		checkPage(t, sub, page, overview)
	}
}

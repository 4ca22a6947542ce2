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

// Every command has its page, which names every sub-command and every flag.
func TestCommandsAreDocumented(t *testing.T) {
	root := rootCommand(&program{io: &cli.Streams{Out: io.Discard, Err: io.Discard}, name: "stagewhisper"})
	dir := filepath.Join("..", "..", "docs", "commands", "stagewhisper")
	overview := page(t, filepath.Join(dir, "stagewhisper.md"))
	pages := 1
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			continue
		}
		pages++
		if !strings.Contains(overview, "("+cmd.Name()+".md)") {
			t.Errorf("stagewhisper.md does not link %s.md", cmd.Name())
		}
		checkPage(t, cmd, page(t, filepath.Join(dir, cmd.Name()+".md")))
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != pages {
		t.Errorf("%s has %d pages, want %d (%v)", dir, len(entries), pages, err)
	}
}

func page(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("read page: %v", err)
	}
	return string(data)
}

func checkPage(t *testing.T, cmd *cobra.Command, text string) {
	t.Helper()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !strings.Contains(text, "--"+f.Name) {
			t.Errorf("the page of %q does not mention --%s", cmd.CommandPath(), f.Name)
		}
	})
	if cmd.Short == "" || !strings.Contains(text, cmd.Name()) {
		t.Errorf("%q is not described", cmd.CommandPath())
	}
	for _, sub := range cmd.Commands() {
		checkPage(t, sub, text)
	}
}

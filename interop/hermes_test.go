//go:build interop

package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"openclaw/byo"
	"openclaw/internal/desktop"
)

const hermesPlugin = "hermes-plugin-stagewhisper==0.29.0"

// installHermes returns a Python that has the published Hermes plugin, in an
// environment of its own.
func installHermes(ctx context.Context) (python string, err error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(dir, "hermes-plugin")
	python = filepath.Join(home, "bin", "python")
	have := func() bool {
		return exec.CommandContext(ctx, python, "-c", "import importlib.metadata as m, httpx, nacl; assert m.version('hermes-plugin-stagewhisper') == '0.29.0'").Run() == nil
	}
	if have() {
		return python, nil
	}
	if out, err := exec.CommandContext(ctx, "python3", "-m", "venv", "--clear", home).CombinedOutput(); err != nil {
		return "", fmt.Errorf("make a Python environment: %w: %s", err, tail(out))
	}
	var last error
	for try := 1; try <= tries && ctx.Err() == nil; try++ {
		fmt.Fprintf(os.Stderr, "interop: pip install %s (try %d of %d)\n", hermesPlugin, try, tries)
		out, err := exec.CommandContext(ctx, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", hermesPlugin).CombinedOutput()
		if err == nil && have() {
			return python, nil
		}
		last = fmt.Errorf("install %s: %w: %s", hermesPlugin, err, tail(out))
	}
	return "", last
}

// The published Hermes plugin, another implementation in another language, pairs with
// our relay and answers an encrypted job, a probe, a test and an encrypted chat.
func TestPublishedHermesPlugin(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), installTimeout)
	defer cancel()
	python, err := installHermes(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ninterop: NOT RUN (%v)\n\n", err)
		return
	}
	host, err := filepath.Abs("testdata/hermes_host.py")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".hermes"), 0o700); err != nil { // Hermes has made it
		t.Fatal(err)
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(python, append([]string{host}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PYTHONDONTWRITEBYTECODE=1"}
		return cmd
	}

	api := runRelay(t)
	d := runDesk(t, desktop.Config{})
	step, err := d.StartPairing(t.Context(), desktop.PairRequest{API: api, ProviderKind: byo.ProviderHermes, Label: "Studio", Style: byo.CodeStyleShort, AllowLegacy: true})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run("pair", step.Code, api).CombinedOutput(); err != nil {
		t.Fatalf("the plugin does not pair: %v\n%s", err, out)
	}
	eventually(t, "asks", func() string {
		now, _ := d.Pairing(step.ID)
		if now.Compare && now.Fingerprint != "" {
			return "asks"
		}
		return now.State + now.Error
	})
	if err := d.Decide(step.ID, true); err != nil {
		t.Fatal(err)
	}
	eventually(t, byo.PairActive, func() string { now, _ := d.Pairing(step.ID); return now.State + now.Error })
	serve(t, run("serve"))

	id := d.Assistants()[0].ID
	r, err := d.Ask(t.Context(), id, desktop.Question{Purpose: byo.PurposeLiveAnalysis, SessionID: "s-7",
		Input: byo.ReasoningInput{UserPrompt: "canary 4711", ResponseSchema: byo.ResponseSchema(byo.PurposeLiveAnalysis)}})
	if err != nil || !strings.Contains(string(r.Result), "about: canary 4711") {
		t.Fatalf("Ask = %+v, %v", r, err)
	}
	if err := d.Probe(t.Context(), id); err != nil || !strings.Contains(string(d.Assistants()[0].Profile), "heard: ") {
		t.Errorf("Probe = %v, profile %s", err, d.Assistants()[0].Profile)
	}
	if took, err := d.Test(t.Context(), id); err != nil || took > 20*time.Second {
		t.Errorf("Test = %v, %v", took, err)
	}
	if _, err := d.Say(id, "s-7", "What did they say?"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "user: What did they say? | assistant: heard: What did they say?", func() string { return messages(d, "s-7", desktop.TabChat) })
}

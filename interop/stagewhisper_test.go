//go:build interop

package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"openclaw/byo"
	"openclaw/internal/desktop"
	"openclaw/internal/relay"
)

const (
	pluginVersion  = "0.64.0"
	pluginManifest = `{"name":"sw","private":true,"version":"0.0.0","dependencies":{"@stagewhisper/stagewhisper":"` + pluginVersion + `"}}`
)

// published is the StageWhisper plugin that anybody can install, under a host of ours.
type published struct{ node, entry, host, config string }

func installPlugin(t *testing.T) published {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), installTimeout)
	defer cancel()
	dir, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	node, err := installNode(ctx, filepath.Join(dir, "node22"))
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "stagewhisper-plugin")
	root := filepath.Join(home, "node_modules", "@stagewhisper", "stagewhisper")
	if installedVersion(root) != pluginVersion {
		if err := npmInstall(ctx, home, pluginManifest, "--ignore-scripts"); err != nil {
			t.Fatal(err)
		}
	}
	if got := installedVersion(root); got != pluginVersion {
		t.Fatalf("the plugin has version %q, want %s", got, pluginVersion)
	}
	host, err := filepath.Abs("testdata/stagewhisper-host.mjs")
	if err != nil {
		t.Fatal(err)
	}
	p := published{node: node, entry: filepath.Join(root, "dist", "index.js"), host: host, config: filepath.Join(t.TempDir(), "config.json")}
	p.write(t, map[string]any{})
	return p
}

func (p *published) write(t *testing.T, config any) {
	t.Helper()
	data, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.config, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *published) pair(t *testing.T, code, api string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, p.node, p.host, p.entry, p.config, "pair", code, api).CombinedOutput()
	if err != nil {
		t.Fatalf("the plugin does not pair: %v\n%s", err, out)
	}
}

// serve runs a plugin's service until the test ends.
func serve(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "plugin.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		log.Close()
		if data, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the plugin says:\n%s", tail(data))
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != "ready" {
		t.Fatalf("the plugin does not start: %q %v", line, err)
	}
}

func runDesk(t *testing.T, cfg desktop.Config) *desktop.Desk {
	t.Helper()
	cfg.Dir = filepath.Join(t.TempDir(), "desk")
	d, err := desktop.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return d
}

func runRelay(t *testing.T) (url string) {
	t.Helper()
	r, err := relay.New(relay.Config{Broker: relay.NewMemory(nil), OpenRegistration: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	srv := httptest.NewServer(r.Handler())
	t.Cleanup(func() {
		cancel()
		srv.CloseClientConnections()
		srv.Close()
		<-ended
	})
	return srv.URL
}

// eventually asks until the answer is the wanted one.
func eventually(t *testing.T, want string, ask func() string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	got := ask()
	for got != want && time.Now().Before(deadline) {
		<-tick.C
		got = ask()
	}
	if got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func messages(d *desktop.Desk, session, tab string) string {
	list, err := d.Store().Messages(session, tab, "", 0)
	if err != nil {
		return err.Error()
	}
	var said []string
	for _, m := range list {
		text, _, _ := strings.Cut(m.Content, "\n")
		said = append(said, m.Role+": "+text+m.ErrorCode)
	}
	return strings.Join(said, " | ")
}

// SW-80: the published plugin pairs with our relay, when its unverified key is let in,
// answers an encrypted job, a probe and an encrypted chat.
func TestPublishedPluginOverRelay(t *testing.T) {
	p := installPlugin(t)
	api := runRelay(t)
	d := runDesk(t, desktop.Config{})

	step, err := d.StartPairing(t.Context(), desktop.PairRequest{API: api, Label: "Studio", Style: byo.CodeStyleShort})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, p.node, p.host, p.entry, p.config, "pair", step.Code, api).CombinedOutput(); err == nil {
		t.Errorf("without the choice for it the plugin is let in: %s", out)
	}

	step, err = d.StartPairing(t.Context(), desktop.PairRequest{API: api, Label: "Studio", Style: byo.CodeStyleShort, AllowLegacy: true})
	if err != nil {
		t.Fatal(err)
	}
	p.pair(t, step.Code, api)
	eventually(t, "asks", func() string {
		now, _ := d.Pairing(step.ID)
		if now.Compare && len(now.Fingerprint) == 39 {
			return "asks"
		}
		return now.State + now.Error
	})
	if err := d.Decide(step.ID, true); err != nil {
		t.Fatal(err)
	}
	eventually(t, byo.PairActive, func() string { now, _ := d.Pairing(step.ID); return now.State + now.Error })
	a := d.Assistants()[0]
	if a.Verified != byo.VerifiedLegacy || a.BYOVersion != byo.StaticV1 {
		t.Errorf("assistant %+v", a)
	}
	serve(t, exec.Command(p.node, p.host, p.entry, p.config, "serve"))

	r, err := d.Ask(t.Context(), a.ID, desktop.Question{Purpose: byo.PurposeLiveAnalysis, SessionID: "s-7",
		Input: byo.ReasoningInput{UserPrompt: "canary 4711", ResponseSchema: byo.ResponseSchema(byo.PurposeLiveAnalysis)}})
	if err != nil || !strings.Contains(string(r.Result), "about: canary 4711") {
		t.Fatalf("Ask = %+v, %v", r, err)
	}
	if err := d.Probe(t.Context(), a.ID); err != nil || !strings.Contains(string(d.Assistants()[0].Profile), "heard: ") {
		t.Errorf("Probe = %v, profile %s", err, d.Assistants()[0].Profile)
	}
	if _, err := d.Say(a.ID, "s-7", "What did they say?"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "2 messages, heard", func() string {
		list, _ := d.Store().Messages("s-7", desktop.TabChat, "", 0)
		heard := ""
		if len(list) == 2 && strings.Contains(list[1].Content, "heard: ") && strings.Contains(list[1].Content, "What did they say?") {
			heard = ", heard"
		}
		return fmt.Sprintf("%d messages%s", len(list), heard)
	})
}

// SW-81: in http mode the published plugin exchanges chat, prelude and insights with
// our desktop.
func TestPublishedPluginDirect(t *testing.T) {
	p := installPlugin(t)
	d := runDesk(t, desktop.Config{Listen: "127.0.0.1:0"})
	port := freePort(t)
	const token = "listener-token-of-32-characters-"
	p.write(t, map[string]any{"plugins": map[string]any{"entries": map[string]any{"stagewhisper": map[string]any{"config": map[string]any{
		"transport": "http", "httpHost": "127.0.0.1", "httpPort": port, "httpToken": token, "label": "Published"}}}}})
	serve(t, exec.Command(p.node, p.host, p.entry, p.config, "serve"))
	code, err := (&byo.DirectCode{URL: fmt.Sprintf("http://127.0.0.1:%d", port), Token: token, Label: "Published"}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.PairDirect(t.Context(), code, nil)
	if err != nil || a.Verified != "probe" {
		t.Fatalf("PairDirect = %+v, %v", a, err)
	}
	if _, err := d.Say(a.ID, "call-1", "hello there"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "answered", func() string {
		list, _ := d.Store().Messages("call-1", desktop.TabChat, "", 0)
		for _, m := range list {
			if m.Role == desktop.RoleAssistant && strings.Contains(m.Content, "hello there") {
				return "answered"
			}
		}
		return messages(d, "call-1", desktop.TabChat)
	})
	if _, err := d.StartCall(desktop.CallRequest{AssistantID: a.ID, SessionID: "call-1", Situation: "renewal with Acme"}); err != nil {
		t.Fatal(err)
	}
	said := "We would need a discount. " + strings.Repeat("And another word. ", 15)
	if err := d.Feed("call-1", desktop.Segment{Speaker: "Them", Text: said, Final: true}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "prelude and transcript", func() string {
		list, _ := d.Store().Messages("call-1", desktop.TabInsights, "", 0)
		for _, m := range list {
			if strings.Contains(m.Content, "renewal with Acme") && strings.Contains(m.Content, "We would need a discount.") {
				return "prelude and transcript"
			}
		}
		return messages(d, "call-1", desktop.TabInsights)
	})
	if got := messages(d, "call-1", desktop.TabChat); strings.Contains(got, "discount") {
		t.Errorf("the chat has %s", got)
	}
}

package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"openclaw/client"
	"openclaw/internal/assistant"
	"openclaw/internal/assistant/backend"
	"openclaw/internal/cli"
	"openclaw/internal/device"
	"openclaw/internal/logs"
	"openclaw/protocol"
)

// Kinds of backends.
const (
	backendOffline   = "offline"
	backendChat      = "openai-chat"
	backendResponses = "openresponses"
	backendCommand   = "command"
	backendGateway   = "gateway"

	defaultGateway = "ws://127.0.0.1:18789"
)

// assistantCommand pairs any agent. See docs/commands/stagewhisper/assistant.md.
func assistantCommand(p *program) *cobra.Command {
	return group("assistant", "Pair any agent with a desktop, and answer for it",
		assistantPairCommand(p), assistantPairCodeCommand(p), assistantUnpairCommand(p), assistantStatusCommand(p), assistantRunCommand(p))
}

// pairings is the folder that holds one folder for each pairing.
func (p *program) pairings() (string, error) { return p.folder("assistants") }

// backendFlags say what thinks.
type backendFlags struct {
	kind, url, model, keyEnv string
	agent, quiet             string
	provider                 string
	argv                     []string // behind --
}

func (f *backendFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.kind, "backend", backendOffline, "what thinks: openai-chat, openresponses, command, gateway, or offline, which needs nothing and knows a few rules")
	fl.StringVar(&f.url, "backend-url", "", "its address: the base of the API (http://127.0.0.1:11434/v1), or the gateway's (default "+defaultGateway+")")
	fl.StringVar(&f.model, "model", "", "name of the model")
	fl.StringVar(&f.keyEnv, "key-env", "", "environment variable that holds the key, or the gateway's token (default OPENCLAW_GATEWAY_TOKEN for a gateway)")
	fl.StringVar(&f.agent, "gateway-agent", "main", "agent of the gateway that gets what people write")
	fl.StringVar(&f.quiet, "gateway-quiet-agent", "", "agent of the gateway, one without tools that change anything, that gets jobs and what was said in calls")
	fl.StringVar(&f.provider, "provider-kind", "", "kind of assistant told to the desktop (default: that of the pairing)")
}

// check looks at everything that can be wrong before anything is started.
func (f *backendFlags) check(p *program) error {
	needsURL := f.kind == backendChat || f.kind == backendResponses
	switch {
	case f.kind == backendCommand && len(f.argv) == 0:
		return cli.Fail("--backend command needs a program", "put it behind --: stagewhisper assistant run --backend command -- python3 agent.py")
	case f.kind != backendCommand && len(f.argv) > 0:
		return cli.Fail(fmt.Sprintf("unexpected argument %q", f.argv[0]), "a program belongs to --backend command")
	case f.kind != backendOffline && f.kind != backendCommand && f.kind != backendGateway && !needsURL:
		return cli.Fail(fmt.Sprintf("--backend %q is unknown (use openai-chat, openresponses, command, gateway or offline)", f.kind))
	case needsURL && f.url == "":
		return cli.Fail("--backend "+f.kind+" needs --backend-url", "for Ollama that is http://127.0.0.1:11434/v1")
	case f.kind == backendGateway && f.quiet == "":
		return cli.Fail("--backend gateway needs --gateway-quiet-agent", "what is said in calls comes from other people: name an agent whose tools change nothing")
	case f.keyEnv != "" && p.env(f.keyEnv) == "":
		return cli.Fail(fmt.Sprintf("--key-env %s: the variable is empty", f.keyEnv), "export it first")
	}
	return nil
}

// build makes the agent of one pairing, with a memory of its own in dir.
func (f *backendFlags) build(p *program, dir, provider string, log *slog.Logger) (assistant.Agent, error) {
	provider = cmp.Or(f.provider, provider, "custom")
	memory := backend.Memory{Dir: filepath.Join(dir, "memory")}
	key := ""
	if f.keyEnv != "" {
		key = p.env(f.keyEnv)
	}
	switch f.kind {
	case backendChat, backendResponses:
		api := backend.NewChat
		if f.kind == backendResponses {
			api = backend.NewResponses
		}
		return backend.NewModel(backend.ModelConfig{API: api(backend.Endpoint{URL: f.url, Key: logs.Secret(key)}), Memory: memory, Name: f.model,
			ProviderKind: provider, Version: version, Log: log}), nil
	case backendCommand:
		return backend.NewCommand(backend.CommandConfig{Argv: f.argv, Memory: memory, ProviderKind: provider, Version: version, Log: log}), nil
	case backendGateway:
		return f.gateway(p, dir, provider, cmp.Or(key, p.env("OPENCLAW_GATEWAY_TOKEN")), log)
	}
	return &backend.Offline{Memory: memory, ProviderKind: provider, Version: version}, nil
}

// gateway connects with a device identity that belongs to the pairing. On the same
// machine the gateway's token is enough.
func (f *backendFlags) gateway(p *program, dir, provider, token string, log *slog.Logger) (assistant.Agent, error) {
	o := client.Options{URL: cmp.Or(f.url, defaultGateway), Token: protocol.Secret(token),
		Client: protocol.ClientInfo{ID: protocol.ClientCLI, Mode: protocol.ModeCLI, Version: version, Platform: runtime.GOOS},
		Scopes: []string{protocol.ScopeAdmin}}
	id, err := device.Open(filepath.Join(dir, "device.json"), p.now)
	if err != nil {
		return nil, fmt.Errorf("open the identity for the gateway: %w", err)
	}
	o.Signer = id
	o.Tokens = &device.Tokens{Path: filepath.Join(dir, "device-auth.json"), DeviceID: id.DeviceID(), Now: p.now}
	return backend.NewGateway(backend.GatewayConfig{Options: o, Agent: f.agent, Quiet: f.quiet, ProviderKind: provider, Version: version, Log: log}), nil
}

// onePairing finds the folder a command means: the named one, or the only one.
func (p *program) onePairing(id string) (dir string, err error) {
	parent, err := p.pairings()
	if err != nil {
		return "", err
	}
	if id == assistant.DirectName {
		return filepath.Join(parent, assistant.DirectName), nil
	}
	all, err := assistant.Pairings(parent)
	if err != nil {
		return "", err
	}
	if id != "" && all[id] == nil {
		return "", cli.Fail(fmt.Sprintf("no pairing %q", id), "list them: stagewhisper assistant status")
	}
	_, noDirect := assistant.LoadDirect(filepath.Join(parent, assistant.DirectName))
	direct := noDirect == nil
	if n := len(all); id == "" && (n > 1 || n == 1 && direct) {
		return "", cli.Fail("there are several pairings: which one?", "list them: stagewhisper assistant status")
	}
	if id == "" {
		for name := range all {
			id = name
		}
		if id == "" && direct {
			id = assistant.DirectName
		}
	}
	if id == "" {
		return "", noPairing()
	}
	return filepath.Join(parent, id), nil
}

func noPairing() error {
	return cli.Fail("nothing is paired", "over a relay: stagewhisper assistant pair --code CODE", "without one: stagewhisper assistant pair-code")
}

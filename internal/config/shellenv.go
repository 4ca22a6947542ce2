package config

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// shellNames are the variables worth asking a login shell for: credentials of
// models, channels and the gateway itself.
var shellNames = [...]string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "GROQ_API_KEY", "CEREBRAS_API_KEY", "XAI_API_KEY",
	"OPENROUTER_API_KEY", "AI_GATEWAY_API_KEY", "MOONSHOT_API_KEY", "KIMI_API_KEY", "KIMICODE_API_KEY", "MINIMAX_API_KEY",
	"MINIMAX_OAUTH_TOKEN", "SYNTHETIC_API_KEY", "VENICE_API_KEY", "XIAOMI_API_KEY", "MISTRAL_API_KEY", "OPENCODE_API_KEY",
	"OPENCODE_ZEN_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY", "COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "CHUTES_OAUTH_TOKEN",
	"CHUTES_API_KEY", "CLOUDFLARE_AI_GATEWAY_API_KEY", "DEEPGRAM_API_KEY", "QWEN_OAUTH_TOKEN", "QWEN_PORTAL_API_KEY", "OLLAMA_API_KEY",
	"ELEVENLABS_API_KEY", "BRAVE_API_KEY", "PERPLEXITY_API_KEY", "TELEGRAM_BOT_TOKEN", "DISCORD_BOT_TOKEN", "SLACK_BOT_TOKEN",
	"SLACK_APP_TOKEN", "OPENCLAW_GATEWAY_TOKEN", "OPENCLAW_GATEWAY_PASSWORD",
}

// EnvFrom is the Env of a list of NAME=value texts, such as os.Environ() at the
// start of the program. Later changes of the process environment do not show.
func EnvFrom(environ []string) Env {
	vars := make(map[string]string, len(environ))
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			vars[name] = value
		}
	}
	return func(name string) string { return vars[name] }
}

// ShellEnv asks the user's login shell for credentials that env lacks, when
// env.shellEnv.enabled or OPENCLAW_LOAD_SHELL_ENV=1 wants that; otherwise it
// returns none. The shell reads the user's profile, which may take a while:
// env.shellEnv.timeoutMs bounds it.
func (c *Config) ShellEnv(ctx context.Context, env Env) (map[string]string, error) {
	flag := strings.ToLower(env.first("OPENCLAW_LOAD_SHELL_ENV"))
	if !c.Env.ShellEnv.Enabled && flag != "1" && flag != "true" {
		return nil, nil
	}
	timeout := time.Duration(c.Env.ShellEnv.TimeoutMs) * time.Millisecond
	if n, err := strconv.Atoi(env.first("OPENCLAW_SHELL_ENV_TIMEOUT_MS")); err == nil && n > 0 {
		timeout = time.Duration(n) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	shell := env.first("SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
	cmd := exec.CommandContext(ctx, shell, "-l", "-c", "env -0")
	cmd.WaitDelay = time.Second // a profile may leave children that hold the pipe
	out, err := cmd.Output()
	if err != nil && !bytes.ContainsRune(out, 0) {
		return nil, fmt.Errorf("read the environment of %s: %w", shell, err)
	}
	// A profile may print; its words stand before the first variable.
	found := EnvFrom(strings.Split(string(out), "\x00"))
	vars := map[string]string{}
	for _, name := range shellNames {
		if value := found(name); value != "" && env(name) == "" {
			vars[name] = value
		}
	}
	return vars, nil
}

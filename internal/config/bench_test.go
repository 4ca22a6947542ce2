package config

import (
	"os"
	"path/filepath"
	"testing"
)

// typical is a configuration of usual size.
const typical = `// my gateway
{
  meta: { lastTouchedVersion: "2026.2.3", lastTouchedAt: "2026-01-01T00:00:00.000Z" },
  env: { vars: { MY_FLAG: "1" } },
  logging: { level: "debug" },
  gateway: {
    port: 18789,
    mode: "local",
    bind: "loopback",
    auth: { mode: "token", token: "${OPENCLAW_TOKEN}" },
    controlUi: { allowedOrigins: ["https://ui.example.com"] },
  },
  models: {
    mode: "merge",
    providers: {
      local: {
        baseUrl: "http://127.0.0.1:8080/v1", apiKey: "k", api: "openai-completions",
        models: [
          { id: "a", name: "A", reasoning: true, contextWindow: 128000 },
          { id: "b", name: "B" },
        ],
      },
    },
  },
  agents: {
    defaults: {
      model: { primary: "local/a", fallbacks: ["local/b"] },
      models: { "local/a": { alias: "a" }, "local/b": {} },
      workspace: "~/work",
      heartbeat: { every: "30m" },
    },
    list: [
      { id: "main", default: true, identity: { name: "Molty", emoji: "🦞" } },
      { id: "work", tools: { profile: "coding", deny: ["browser"] } },
    ],
  },
  channels: {
    telegram: { enabled: true, botToken: "${TELEGRAM_BOT_TOKEN}", dmPolicy: "pairing", groups: { "*": { requireMention: true } } },
    whatsapp: { allowFrom: ["+15550001111"], groups: { "*": {} } },
  },
  session: { scope: "per-sender", reset: { mode: "daily", atHour: 4 } },
  messages: { queue: { mode: "collect", debounceMs: 1000 } },
  tools: { web: { search: { provider: "brave", apiKey: "${BRAVE_API_KEY}" } } },
  cron: { enabled: true },
  skills: { entries: { weather: { enabled: false } } },
}
`

func typicalEnv(name string) string {
	return map[string]string{"OPENCLAW_TOKEN": "t0ken-value", "TELEGRAM_BOT_TOKEN": "1:x", "BRAVE_API_KEY": "b"}[name]
}

// BenchmarkLoad is what a start pays, apart from reading the table of known
// settings once, which BenchmarkKnown measures. Together the budget is 3 ms.
func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	p := Paths{Home: dir, StateDir: dir, ConfigPath: filepath.Join(dir, "openclaw.json")}
	if err := os.WriteFile(p.ConfigPath, []byte(typical), 0o600); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if s := Load(p, typicalEnv); !s.Valid || len(s.Warnings) > 0 {
			b.Fatal(s.Problems(), s.Warnings)
		}
	}
}

func BenchmarkKnown(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseKnown(knownText); err != nil {
			b.Fatal(err)
		}
	}
}

package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// number makes a number of the kind that trees hold.
func number(text string) json.Number { return json.Number(text) }

// withDefaults returns tree with the values of agent-runtime 2.3 filled in. It
// copies what it changes.
func withDefaults(tree map[string]any, env Env) map[string]any {
	out := maps.Clone(tree)
	if out == nil {
		out = map[string]any{}
	}
	fill(out, "messages", map[string]any{"ackReactionScope": "group-mentions"})
	fill(out, "logging", map[string]any{"redactSensitive": "tools"})
	fill(out, "commands", map[string]any{"native": "auto", "nativeSkills": "auto"})
	fill(out, "agents", map[string]any{"defaults": map[string]any{
		"maxConcurrent": number("4"),
		"subagents":     map[string]any{"maxConcurrent": number("8")},
		"compaction":    map[string]any{"mode": "safeguard"},
	}})
	session, _ := out["session"].(map[string]any)
	session = maps.Clone(session)
	if session == nil {
		session = map[string]any{}
	}
	session["mainKey"] = "main"
	out["session"] = session
	if key := env("ELEVENLABS_API_KEY"); key != "" {
		fill(out, "talk", map[string]any{"apiKey": key})
	}
	anthropicDefaults(out, env)
	modelAliases(out)
	modelDefaults(out)
	return out
}

// fill adds what key lacks of base.
func fill(tree map[string]any, key string, base map[string]any) {
	tree[key] = under(tree[key], base)
}

// anthropicMode tells how Anthropic is used: "oauth" for subscriptions and
// tokens, "api_key", or "" when no credential is in sight.
func anthropicMode(tree map[string]any, env Env) string {
	profiles, _ := lookup(tree, "auth.profiles")
	byID, _ := profiles.(map[string]any)
	mode := ""
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		if p, _ := textAt(byID[id], "provider"); !strings.EqualFold(p, "anthropic") {
			continue
		}
		switch m, _ := textAt(byID[id], "mode"); m {
		case "oauth", "token":
			return "oauth"
		case "api_key":
			mode = m
		}
	}
	if mode != "" {
		return mode
	}
	if env("ANTHROPIC_OAUTH_TOKEN") != "" {
		return "oauth"
	}
	key, _ := textAt(tree, "models.providers.anthropic.apiKey")
	if env("ANTHROPIC_API_KEY") != "" || key != "" {
		return "api_key"
	}
	return ""
}

// anthropicDefaults saves money with Anthropic's prompt cache: old tool results
// are dropped when it has expired anyway, and heartbeats keep it warm.
func anthropicDefaults(tree map[string]any, env Env) {
	mode := anthropicMode(tree, env)
	if mode == "" {
		return
	}
	every := "1h"
	if mode == "api_key" {
		every = "30m"
	}
	base := map[string]any{}
	if _, set := lookup(tree, "agents.defaults.contextPruning.mode"); !set {
		base["contextPruning"] = map[string]any{"mode": "cache-ttl", "ttl": "1h"}
	}
	if _, set := lookup(tree, "agents.defaults.heartbeat.every"); !set {
		base["heartbeat"] = map[string]any{"every": every}
	}
	fill(tree, "agents", map[string]any{"defaults": base})
	models, _ := lookup(tree, "agents.defaults.models")
	byRef, _ := models.(map[string]any)
	if mode != "api_key" || len(byRef) == 0 {
		return
	}
	changed := maps.Clone(byRef)
	for ref, entry := range byRef {
		if strings.HasPrefix(strings.ToLower(ref), "anthropic/") && !hasCacheParam(entry) {
			changed[ref] = under(entry, map[string]any{"params": map[string]any{"cacheRetention": "short"}})
		}
	}
	tree["agents"], _ = setAt(tree["agents"], []string{"defaults", "models"}, changed)
}

func hasCacheParam(entry any) bool {
	_, now := lookup(entry, "params.cacheRetention")
	_, old := lookup(entry, "params.cacheControlTtl")
	return now || old
}

// builtinAliases are short names for refs that the allowlist holds without one.
var builtinAliases = map[string]string{
	"anthropic/claude-opus-4-5":     "opus",
	"anthropic/claude-sonnet-4-5":   "sonnet",
	"openai/gpt-5.2":                "gpt",
	"openai/gpt-5-mini":             "gpt-mini",
	"google/gemini-3-pro-preview":   "gemini",
	"google/gemini-3-flash-preview": "gemini-flash",
}

func modelAliases(tree map[string]any) {
	models, _ := lookup(tree, "agents.defaults.models")
	byRef, _ := models.(map[string]any)
	if len(byRef) == 0 {
		return
	}
	changed := maps.Clone(byRef)
	for ref, entry := range byRef {
		if alias, ok := builtinAliases[strings.ToLower(ref)]; ok {
			changed[ref] = under(entry, map[string]any{"alias": alias})
		}
	}
	tree["agents"], _ = setAt(tree["agents"], []string{"defaults", "models"}, changed)
}

// modelDefaults completes the models that the configuration describes.
func modelDefaults(tree map[string]any) {
	v, _ := lookup(tree, "models.providers")
	providers, _ := v.(map[string]any)
	if len(providers) == 0 {
		return
	}
	changed := maps.Clone(providers)
	for id, p := range providers {
		list, ok := Lookup(p, "models")
		models, _ := list.([]any)
		if !ok || len(models) == 0 {
			continue
		}
		out := make([]any, len(models))
		for i, m := range models {
			out[i] = completeModel(m)
		}
		changed[id], _ = setAt(p, []string{"models"}, out)
	}
	tree["models"], _ = setAt(tree["models"], []string{"providers"}, changed)
}

func completeModel(m any) any {
	window := 200000.0
	if v, ok := Lookup(m, "contextWindow"); ok {
		if f, ok := floatOf(v); ok {
			window = f
		}
	}
	zero := number("0")
	return under(m, map[string]any{
		"reasoning":     false,
		"input":         []any{"text"},
		"cost":          map[string]any{"input": zero, "output": zero, "cacheRead": zero, "cacheWrite": zero},
		"contextWindow": number("200000"),
		"maxTokens":     number(plain(min(8192, window))),
	})
}

// isPathKey reports whether a setting of this name holds a path of the user's disk.
func isPathKey(key string) bool {
	key = strings.ToLower(key)
	for _, end := range [...]string{"dir", "path", "paths", "file", "root", "workspace", "pathprepend"} {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return false
}

// expandPaths replaces "~" in path-like settings. It copies what it changes.
func expandPaths(v any, key, home string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = expandPaths(e, k, home)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			if _, text := e.(string); text && key != "paths" && key != "pathPrepend" {
				out[i] = e
				continue
			}
			out[i] = expandPaths(e, key, home)
		}
		return out
	case string:
		if strings.HasPrefix(v, "~") && isPathKey(key) {
			return ExpandHome(v, home)
		}
	}
	return v
}

package main

import (
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"

	"openclaw/internal/config"
	"openclaw/internal/model"
	"openclaw/internal/model/auth"
	"openclaw/internal/model/catalog"
)

// models joins the configuration, the stored credentials, the catalogue and the
// families to one directory for each agent.
type models struct {
	paths  config.Paths
	config func() *config.Snapshot
	base   *model.Directory
	cached atomic.Pointer[modelSettings]

	mu      sync.Mutex
	byAgent map[string]*model.Directory // by folder of credentials
}

// modelSettings is what a configuration says about models.
type modelSettings struct {
	of       *config.Config
	settings model.Settings
}

// newModels makes directories over the present configuration; nothing is read
// before the first question.
func newModels(paths config.Paths, current func() *config.Snapshot) *models {
	m := &models{paths: paths, config: current, byAgent: map[string]*model.Directory{}}
	hc := model.NewHTTPClient(model.HTTPConfig{Proxy: http.ProxyFromEnvironment})
	m.base = model.NewDirectory(model.DirectoryConfig{
		Settings: m.settings, Catalog: catalog.New(), Families: families(hc), Credentials: m.keys("main"),
	})
	return m
}

// of returns the directory of an agent, which finds keys in that agent's store.
func (m *models) of(agentID string) *model.Directory {
	dir := m.config().Config.AgentDir(m.paths, m.env, agentID)
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.byAgent[dir]
	if !ok {
		d = m.base.For(m.keys(agentID))
		m.byAgent[dir] = d
	}
	return d
}

// env is the environment plus the variables of the configuration's env block.
func (m *models) env(name string) string {
	return config.Env(environment).With(m.config().EnvVars)(name)
}

func (m *models) keys(agentID string) *auth.Keys {
	c := m.config().Config
	store := func(id string) string { return filepath.Join(c.AgentDir(m.paths, m.env, id), "auth-profiles.json") }
	cfg := auth.Config{Path: store(agentID), Env: m.env, Settings: m.authSettings}
	if main := store(c.DefaultAgentID()); main != cfg.Path {
		cfg.MainPath = main
	}
	return auth.New(cfg)
}

func (m *models) authSettings() auth.Settings {
	a := m.config().Config.Auth
	s := auth.Settings{Order: a.Order, Profiles: make(map[string]auth.Profile, len(a.Profiles))}
	for id, p := range a.Profiles {
		s.Profiles[id] = auth.Profile{Provider: p.Provider, Mode: p.Mode}
	}
	return s
}

// settings translates the configuration, once for each version of it.
func (m *models) settings() model.Settings {
	c := m.config().Config
	if s := m.cached.Load(); s != nil && s.of == c {
		return s.settings
	}
	s := &modelSettings{of: c, settings: settingsOf(c)}
	m.cached.Store(s)
	return s.settings
}

func settingsOf(c *config.Config) model.Settings {
	d := c.Agents.Defaults
	s := model.Settings{
		Primary: d.Model.Primary, Fallbacks: d.Model.Fallbacks, Aliases: c.Aliases(), Allow: map[string]model.Params{},
		Providers: map[string]model.Provider{}, ReplaceCatalog: c.Models.Mode == "replace", ContextTokens: d.ContextTokens,
	}
	for ref := range d.Models {
		s.Allow[ref] = model.ParseParams(c.ModelParams(ref))
	}
	for id := range d.CLIBackends {
		s.AlwaysAllow = append(s.AlwaysAllow, id)
	}
	for id, p := range c.Models.Providers {
		s.Providers[model.NormalizeProvider(id)] = providerOf(p)
	}
	return s
}

func providerOf(p config.Provider) model.Provider {
	out := model.Provider{
		BaseURL: p.BaseURL, APIKey: p.APIKey, Auth: p.Auth, API: model.API(p.API), Headers: p.Headers, AuthHeader: p.AuthHeader,
	}
	for _, m := range p.Models {
		out.Models = append(out.Models, model.ProviderModel{
			ID: m.ID, Name: m.Name, API: model.API(m.API), Reasoning: m.Reasoning, Input: m.Input,
			Cost:          model.Cost{Input: m.Cost.Input, Output: m.Cost.Output, CacheRead: m.Cost.CacheRead, CacheWrite: m.Cost.CacheWrite},
			ContextWindow: m.ContextWindow, MaxTokens: m.MaxTokens, Headers: m.Headers,
			Compat: model.Compat{
				SupportsStore: m.Compat.SupportsStore, SupportsDeveloperRole: m.Compat.SupportsDeveloperRole,
				SupportsReasoningEffort: m.Compat.SupportsReasoningEffort, MaxTokensField: m.Compat.MaxTokensField,
			},
		})
	}
	return out
}

package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"openclaw/internal/logs"
)

// Families that need an optional build.
const (
	APIBedrock API = "bedrock-converse-stream"
	APICopilot API = "github-copilot"
)

// provider returns the configured entry of a canonical provider id.
func (s Settings) provider(id string) Provider {
	if p, ok := s.Providers[id]; ok {
		return p
	}
	for key, p := range s.Providers {
		if NormalizeProvider(key) == id {
			return p
		}
	}
	return Provider{}
}

func (p Provider) model(id string) (ProviderModel, bool) {
	i := slices.IndexFunc(p.Models, func(m ProviderModel) bool { return m.ID == id })
	if i < 0 {
		return ProviderModel{}, false
	}
	return p.Models[i], true
}

func (s Settings) baseURL(provider string) string {
	b, _ := LookupBuiltin(provider)
	return cmp.Or(s.provider(provider).BaseURL, b.BaseURL)
}

// headers joins those of the provider and of the model; the model's win.
func (s Settings) headers(ref Ref) map[string]logs.Secret {
	p := s.provider(ref.Provider)
	m, _ := p.model(ref.ID)
	if len(p.Headers) == 0 {
		return m.Headers
	}
	h := maps.Clone(p.Headers)
	maps.Copy(h, m.Headers)
	return h
}

// params returns the params of the allowlist entry for ref.
func (s Settings) params(ref Ref) Params {
	if p, ok := s.Allow[ref.String()]; ok {
		return p
	}
	for key, p := range s.Allow {
		if r, err := ParseRef(key, s.Aliases); err == nil && r == ref {
			return p
		}
	}
	return Params{}
}

// info merges what is known about ref: the configuration wins over the
// catalogue, which wins over the defaults.
func (d *Directory) info(s Settings, ref Ref) (Info, error) {
	if ref == OfflineRef() {
		return Info{Ref: ref, Name: "Built-in offline model", API: APIOffline, ContextWindow: DefaultWindow, Input: []string{"text"}}, nil
	}
	b, known := LookupBuiltin(ref.Provider)
	p := s.provider(ref.Provider)
	m, described := p.model(ref.ID)
	if !known && p.BaseURL == "" {
		switch ref.Provider {
		case "amazon-bedrock", "bedrock":
			return Info{}, unsupported(ref, APIBedrock)
		case "github-copilot":
			return Info{}, unsupported(ref, APICopilot)
		}
		return Info{}, unknownProvider(ref, s)
	}
	info := Info{Ref: ref, Name: ref.ID}
	if known && !s.ReplaceCatalog {
		if found, ok := d.cfg.Catalog.Find(ref); ok {
			info = found
			info.Ref = ref
		}
	}
	if described {
		info = m.over(info)
	}
	info.API = cmp.Or(m.API, p.API, opencodeAPI(ref), b.API, APICompletions)
	if info.ContextWindow == 0 {
		info.ContextWindow = DefaultWindow
	}
	if s.ContextTokens > 0 {
		info.ContextWindow = min(info.ContextWindow, s.ContextTokens)
	}
	if len(info.Input) == 0 {
		info.Input = []string{"text"}
	}
	return info, nil
}

// over lays the configured facts over what the catalogue says.
func (m ProviderModel) over(info Info) Info {
	info.Name = cmp.Or(m.Name, info.Name)
	info.ContextWindow = cmp.Or(m.ContextWindow, info.ContextWindow)
	info.MaxTokens = cmp.Or(m.MaxTokens, info.MaxTokens)
	info.Reasoning = m.Reasoning || info.Reasoning
	info.Cost = cmp.Or(m.Cost, info.Cost)
	if len(m.Input) > 0 {
		info.Input = m.Input
	}
	return info
}

// opencodeAPI: this provider serves each vendor's models in their own family.
func opencodeAPI(ref Ref) API {
	if ref.Provider != "opencode" {
		return ""
	}
	switch {
	case strings.HasPrefix(ref.ID, "claude-"), strings.HasPrefix(ref.ID, "minimax-"):
		return APIAnthropic
	case strings.HasPrefix(ref.ID, "gpt-"):
		return APIResponses
	}
	return APICompletions
}

// List returns every model that may be named: those of the catalogue for known
// providers, those of the configuration and, while it is the default, the offline
// one; sorted by provider and name.
func (d *Directory) List() []Info {
	s := d.cfg.Settings()
	byRef := map[Ref]Info{}
	add := func(ref Ref) {
		if info, err := d.info(s, ref); err == nil {
			byRef[ref] = info
		}
	}
	if !s.ReplaceCatalog {
		for _, b := range builtins {
			for _, info := range d.cfg.Catalog.Models(b.ID) {
				add(info.Ref)
			}
		}
	}
	for key, p := range s.Providers {
		for _, m := range p.Models {
			add(Ref{NormalizeProvider(key), m.ID})
		}
	}
	if d.Offline() {
		add(OfflineRef())
	}
	return slices.SortedFunc(maps.Values(byRef), func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.Ref.Provider, b.Ref.Provider), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Ref.ID, b.Ref.ID))
	})
}

// Lookup returns what is known about a ref without a key being needed.
func (d *Directory) Lookup(ref Ref) (Info, error) { return d.info(d.cfg.Settings(), ref) }

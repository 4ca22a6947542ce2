package catalog

import (
	"strings"
	"sync"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"openclaw/internal/model"
)

// Catalog is the embedded table. It is safe for concurrent use.
type Catalog struct {
	load func() map[string][]model.Info // by provider, in the table's order
}

// New returns a catalogue that has read nothing yet.
func New() *Catalog { return &Catalog{load: sync.OnceValue(read)} }

// Find implements [model.Catalog]. An id without its date, such as
// claude-opus-4-5, finds the dated model.
func (c *Catalog) Find(ref model.Ref) (model.Info, bool) {
	infos := c.load()[ref.Provider]
	for _, info := range infos {
		if info.Ref.ID == ref.ID {
			return info, true
		}
	}
	for _, info := range infos {
		if undated(info.Ref.ID) == ref.ID {
			info.Ref = ref
			return info, true
		}
	}
	return model.Info{}, false
}

// Models implements [model.Catalog]. The result must not be written to.
func (c *Catalog) Models(provider string) []model.Info { return c.load()[provider] }

// undated drops a trailing "-YYYYMMDD".
func undated(id string) string {
	i := strings.LastIndexByte(id, '-')
	if i < 0 || len(id)-i != len("-20250929") || strings.Trim(id[i+1:], "0123456789") != "" {
		return id
	}
	return id[:i]
}

// provider maps the table's ids to ours; empty for those we do not offer.
func provider(id catwalk.InferenceProvider) string {
	switch id {
	case catwalk.InferenceProviderGemini:
		return "google"
	case catwalk.InferenceProviderVercel:
		return "vercel-ai-gateway"
	case catwalk.InferenceProviderOpenCodeZen:
		return "opencode"
	}
	if _, ok := model.LookupBuiltin(string(id)); ok {
		return string(id)
	}
	return ""
}

func read() map[string][]model.Info {
	all := map[string][]model.Info{}
	for _, p := range embedded.GetAll() {
		id := provider(p.ID)
		if id == "" {
			continue
		}
		infos := make([]model.Info, 0, len(p.Models))
		for _, m := range p.Models {
			infos = append(infos, info(id, m))
		}
		all[id] = infos
	}
	all["minimax-portal"] = renamed(all["minimax"], "minimax-portal")
	return all
}

// renamed lists the same models under another provider.
func renamed(infos []model.Info, provider string) []model.Info {
	out := make([]model.Info, len(infos))
	for i, info := range infos {
		info.Ref.Provider = provider
		out[i] = info
	}
	return out
}

func info(provider string, m catwalk.Model) model.Info {
	b, _ := model.LookupBuiltin(provider)
	i := model.Info{
		Ref:  model.Ref{Provider: provider, ID: strings.Clone(m.ID)},
		Name: strings.Clone(m.Name), API: b.API,
		ContextWindow: int(m.ContextWindow), MaxTokens: int(m.DefaultMaxTokens), Reasoning: m.CanReason,
		Input: textOnly, Cost: cost(m),
	}
	if m.SupportsImages {
		i.Input = textAndImages
	}
	return i
}

// What models take; shared by all infos and never written to.
var (
	textOnly      = []string{"text"}
	textAndImages = []string{"text", "image"}
)

// cost reads the prices. The two of the cache are kept in either order for
// different vendors; reading is cheaper than fresh input and writing is not.
func cost(m catwalk.Model) model.Cost {
	c := model.Cost{Input: m.CostPer1MIn, Output: m.CostPer1MOut}
	for _, price := range []float64{m.CostPer1MInCached, m.CostPer1MOutCached} {
		if price > 0 && price < c.Input && (c.CacheRead == 0 || price < c.CacheRead) {
			c.CacheRead = price
		}
	}
	if m.CostPer1MInCached >= c.Input {
		c.CacheWrite = m.CostPer1MInCached
	}
	return c
}

package byo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Topologies.
const (
	TopologyRelay  = "relay"
	TopologyDirect = "direct"
)

// Provider kinds with a descriptor of their own; others are just as good.
const (
	ProviderOpenClaw = "openclaw"
	ProviderHermes   = "hermes"
)

// Provider describes a family of assistants: how to install and pair it, and
// what it has to speak. See docs/byo.md#providers.
type Provider struct {
	Kind        string           `json:"provider_kind"`
	DisplayName string           `json:"display_name"`
	Status      string           `json:"status"` // available, preview or disabled
	Topologies  []string         `json:"topologies"`
	Install     []Install        `json:"install"`
	Pairing     PairingCommands  `json:"pairing"`
	Protocol    ProviderProtocol `json:"protocol"`
	DocsURL     string           `json:"docs_url,omitempty"`
}

// Install is a command that installs an assistant on an operating system.
type Install struct {
	OS      string `json:"os"` // any, linux, darwin, windows
	Command string `json:"command"`
}

// PairingCommands are what a person runs; {code} and {api} are filled in.
type PairingCommands struct {
	RelayCommand  string `json:"relay_command,omitempty"`
	DirectCommand string `json:"direct_command,omitempty"`
}

// ProviderProtocol says what an assistant has to speak.
type ProviderProtocol struct {
	SchemaVersions   []int  `json:"schema_versions"`
	EnvelopeVersions []int  `json:"envelope_versions"`
	MinPluginVersion string `json:"min_plugin_version,omitempty"`
}

// Providers answers GET /providers.
type Providers struct {
	Providers []Provider `json:"providers"`
}

// Registry maps provider kinds to descriptors. It never changes once made.
type Registry struct {
	providers []Provider
}

// Builtin is the registry without a file.
func Builtin() *Registry {
	return &Registry{providers: []Provider{
		{
			Kind: ProviderOpenClaw, DisplayName: "OpenClaw", Status: "available",
			Topologies: []string{TopologyRelay, TopologyDirect},
			Install:    []Install{{OS: "any", Command: "make build && install bin/openclaw ~/.local/bin/"}},
			Pairing: PairingCommands{
				RelayCommand:  "openclaw stagewhisper pair --code {code} --api-url {api}",
				DirectCommand: "openclaw stagewhisper pair-code",
			},
			Protocol: ProviderProtocol{SchemaVersions: []int{1}, EnvelopeVersions: []int{1, 2}, MinPluginVersion: "0.64.0"},
		},
		generic(ProviderHermes, "Hermes"),
	}}
}

// generic is the descriptor of an assistant behind the standalone adapter.
func generic(kind, name string) Provider {
	return Provider{
		Kind: kind, DisplayName: name, Status: "available",
		Topologies: []string{TopologyRelay, TopologyDirect},
		Install:    []Install{{OS: "any", Command: "make build && install bin/stagewhisper ~/.local/bin/"}},
		Pairing: PairingCommands{
			RelayCommand:  "stagewhisper assistant pair --provider-kind " + kind + " --code {code} --api-url {api}",
			DirectCommand: "stagewhisper assistant pair-code --provider-kind " + kind,
		},
		Protocol: ProviderProtocol{SchemaVersions: []int{1}, EnvelopeVersions: []int{1, 2}},
	}
}

// Merge returns r with the providers of a file ({"providers":[…]}) added; a kind
// that is already there is replaced as a whole.
func (r *Registry) Merge(data []byte) (*Registry, error) {
	var file Providers
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	merged := &Registry{providers: slices.Clone(r.providers)}
	for i, p := range file.Providers {
		if err := p.Validate(); err != nil {
			return nil, fmt.Errorf("read providers: entry %d: %w", i+1, err)
		}
		if at := merged.index(p.Kind); at >= 0 {
			merged.providers[at] = p
		} else {
			merged.providers = append(merged.providers, p)
		}
	}
	return merged, nil
}

// Validate names the first field of p that is wrong.
func (p *Provider) Validate() error {
	if err := CheckProviderKind(p.Kind); err != nil {
		return err
	}
	if p.DisplayName == "" {
		return &FieldError{Field: "display_name", Problem: "must not be empty"}
	}
	for _, t := range p.Topologies {
		if t != TopologyRelay && t != TopologyDirect {
			return &FieldError{Field: "topologies", Problem: "must be relay and direct only"}
		}
	}
	if p.Protocol.MinPluginVersion != "" {
		if _, ok := version(p.Protocol.MinPluginVersion); !ok {
			return &FieldError{Field: "protocol.min_plugin_version", Problem: "must be a version like 1.2.3"}
		}
	}
	return nil
}

func (r *Registry) index(kind string) int {
	return slices.IndexFunc(r.providers, func(p Provider) bool { return p.Kind == kind })
}

// Provider returns the descriptor of a kind; an unknown one gets a generic one,
// so that any assistant can pair.
func (r *Registry) Provider(kind string) (p Provider, known bool) {
	if at := r.index(kind); at >= 0 {
		return r.providers[at], true
	}
	return generic(kind, kind), false
}

// All is the answer to GET /providers.
func (r *Registry) All() Providers { return Providers{Providers: slices.Clone(r.providers)} }

// CheckPlugin reports whether a plugin meets p: its version, when it says one,
// and the content scheme that was agreed on. The error is an *[Error] with
// [CodePluginTooOld].
func (p *Provider) CheckPlugin(pluginVersion, scheme string) error {
	if v := EnvelopeVersion(scheme); v == 0 || len(p.Protocol.EnvelopeVersions) > 0 && !slices.Contains(p.Protocol.EnvelopeVersions, v) {
		return Errorf(CodePluginTooOld, "no content scheme in common")
	}
	least, ok := version(p.Protocol.MinPluginVersion)
	if !ok || pluginVersion == "" {
		return nil
	}
	if got, ok := version(pluginVersion); !ok || slices.Compare(got[:], least[:]) < 0 {
		return Errorf(CodePluginTooOld, "the plugin must be of version %s or later", p.Protocol.MinPluginVersion)
	}
	return nil
}

// version reads major.minor.patch; what follows - or + does not count.
func version(s string) (v [3]int, ok bool) {
	s, _, _ = strings.Cut(strings.TrimPrefix(s, "v"), "+")
	s, _, _ = strings.Cut(s, "-")
	parts := strings.Split(s, ".")
	if s == "" || len(parts) > 3 {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

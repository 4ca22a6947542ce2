package byo

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Profile is what an assistant says about itself: the answer to a
// [PurposeCapabilityProbe] job. Only RawDescription is required. See
// docs/byo.md#capability-probe.
type Profile struct {
	RawDescription string           `json:"raw_description" schema:"maxLength=2000"`
	Agent          *ProfileAgent    `json:"agent,omitempty"`
	Skills         []ProfileSkill   `json:"skills,omitempty"`
	Tools          []string         `json:"tools,omitempty"`
	Models         []string         `json:"models,omitempty"`
	Features       *ProfileFeatures `json:"features,omitempty"`
	Limits         *ProfileLimits   `json:"limits,omitempty"`
}

// ProfileAgent says who answers.
type ProfileAgent struct {
	Name         string `json:"name,omitempty"`
	ProviderKind string `json:"provider_kind,omitempty"`
	Version      string `json:"version,omitempty"`
}

// ProfileSkill is one thing the assistant can do.
type ProfileSkill struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty" schema:"maxLength=200"`
}

// ProfileFeatures says what the assistant does in a conversation.
type ProfileFeatures struct {
	Streaming bool `json:"streaming"`
	Typing    bool `json:"typing"`
	Insights  bool `json:"insights"`
	Proactive bool `json:"proactive"`
}

// ProfileLimits says how much the assistant takes.
type ProfileLimits struct {
	MaxInputChars int `json:"max_input_chars,omitempty"`
	MaxConcurrent int `json:"max_concurrent,omitempty"`
}

// Validate names the first field of p that is missing or too long.
func (p *Profile) Validate() error {
	if p.RawDescription == "" {
		return &FieldError{Field: "raw_description", Problem: "must not be empty"}
	}
	if utf8.RuneCountInString(p.RawDescription) > MaxProfileDescription {
		return &FieldError{Field: "raw_description", Problem: "must have at most 2000 characters"}
	}
	for _, list := range []struct {
		name string
		n    int
	}{{"skills", len(p.Skills)}, {"tools", len(p.Tools)}, {"models", len(p.Models)}} {
		if list.n > MaxProfileList {
			return &FieldError{Field: list.name, Problem: "must have at most 100 entries"}
		}
	}
	for i, s := range p.Skills {
		if utf8.RuneCountInString(s.Description) > MaxSkillDescription {
			return &FieldError{Field: "skills/" + strconv.Itoa(i) + "/description", Problem: "must have at most 200 characters"}
		}
	}
	if data, err := json.Marshal(p); err != nil || len(data) > MaxProfile {
		return &FieldError{Field: "profile", Problem: "must have at most 32 KiB"}
	}
	return nil
}

// Clamp cuts p to what [Profile.Validate] allows: texts and lists lose their
// ends, then models, tools and skills go one by one until the whole is small
// enough. Only an empty description stays wrong.
func (p Profile) Clamp() Profile {
	p.RawDescription = cut(p.RawDescription, MaxProfileDescription)
	p.Skills = append([]ProfileSkill(nil), p.Skills[:min(len(p.Skills), MaxProfileList)]...)
	p.Tools = p.Tools[:min(len(p.Tools), MaxProfileList)]
	p.Models = p.Models[:min(len(p.Models), MaxProfileList)]
	for i := range p.Skills {
		p.Skills[i].Description = cut(p.Skills[i].Description, MaxSkillDescription)
	}
	for {
		data, err := json.Marshal(p)
		switch {
		case err == nil && len(data) <= MaxProfile:
			return p
		case len(p.Models) > 0:
			p.Models = p.Models[:len(p.Models)-1]
		case len(p.Tools) > 0:
			p.Tools = p.Tools[:len(p.Tools)-1]
		case len(p.Skills) > 0:
			p.Skills = p.Skills[:len(p.Skills)-1]
		default:
			p.Agent = nil
			return p
		}
	}
}

// cut returns the first n characters of s.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

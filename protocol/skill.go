package protocol

import "encoding/json"

// SkillsStatusParams asks for the skills of an agent, the default one when empty.
type SkillsStatusParams struct {
	AgentID string `json:"agentId,omitempty" schema:"minLength=1"`
}

// SkillsStatusResult lists the skills and what they lack.
type SkillsStatusResult struct {
	WorkspaceDir     string        `json:"workspaceDir"`
	ManagedSkillsDir string        `json:"managedSkillsDir"`
	Skills           []SkillStatus `json:"skills"`
}

// SkillStatus is one skill.
type SkillStatus struct {
	Name               string             `json:"name"`
	Description        string             `json:"description"`
	Source             string             `json:"source"`
	Bundled            bool               `json:"bundled"`
	FilePath           string             `json:"filePath"`
	BaseDir            string             `json:"baseDir"`
	SkillKey           string             `json:"skillKey"`
	PrimaryEnv         string             `json:"primaryEnv,omitempty"`
	Emoji              string             `json:"emoji,omitempty"`
	Homepage           string             `json:"homepage,omitempty"`
	Always             bool               `json:"always"`
	Disabled           bool               `json:"disabled"`
	BlockedByAllowlist bool               `json:"blockedByAllowlist"`
	Eligible           bool               `json:"eligible"`
	Requirements       SkillRequirements  `json:"requirements"`
	Missing            SkillRequirements  `json:"missing"`
	ConfigChecks       []SkillConfigCheck `json:"configChecks"`
	Install            []SkillInstall     `json:"install"`
}

// SkillRequirements are what a skill needs of its host.
type SkillRequirements struct {
	Bins    []string `json:"bins"`
	AnyBins []string `json:"anyBins"`
	Env     []string `json:"env"`
	Config  []string `json:"config"`
	OS      []string `json:"os"`
}

// SkillConfigCheck is a config key that a skill looks at. Value is absent for
// sensitive keys.
type SkillConfigCheck struct {
	Path      string          `json:"path"`
	Value     json.RawMessage `json:"value,omitempty"`
	Satisfied bool            `json:"satisfied"`
}

// SkillInstall is a way to install what a skill needs.
type SkillInstall struct {
	ID    string   `json:"id"`
	Kind  string   `json:"kind"`
	Label string   `json:"label"`
	Bins  []string `json:"bins"`
}

// SkillsBinsResult lists the programs that skills of any agent use.
type SkillsBinsResult struct {
	Bins []string `json:"bins"`
}

// SkillsInstallParams runs an installer of a skill.
type SkillsInstallParams struct {
	Name      string `json:"name" schema:"minLength=1"`
	InstallID string `json:"installId" schema:"minLength=1"`
	TimeoutMs *int64 `json:"timeoutMs,omitempty" schema:"min=1000"`
}

// SkillsInstallResult is how the installer ended; it comes with an error when it failed.
type SkillsInstallResult struct {
	OK      bool   `json:"ok"`
	Message string `json:"message"`
	Stdout  string `json:"stdout"`
	Stderr  string `json:"stderr"`
	Code    *int   `json:"code"`
}

// SkillsUpdateParams changes the settings of a skill; empty values delete.
type SkillsUpdateParams struct {
	SkillKey string            `json:"skillKey" schema:"minLength=1"`
	Enabled  *bool             `json:"enabled,omitempty"`
	APIKey   *Secret           `json:"apiKey,omitempty"`
	Env      map[string]string `json:"env,omitempty" schema:"itemMinLength=1"`
}

// SkillsUpdateResult is the skill's settings, secrets redacted.
type SkillsUpdateResult struct {
	OK       bool            `json:"ok"`
	SkillKey string          `json:"skillKey"`
	Config   json.RawMessage `json:"config"`
}

package protocol

// ModelsListResult lists the known models, sorted by provider and name.
type ModelsListResult struct {
	Models []ModelRow `json:"models"`
}

// ModelRow is one model of a list.
type ModelRow struct {
	ID            string   `json:"id" schema:"minLength=1"`
	Name          string   `json:"name" schema:"minLength=1"`
	Provider      string   `json:"provider" schema:"minLength=1"`
	ContextWindow int      `json:"contextWindow,omitempty" schema:"min=1"`
	Reasoning     *bool    `json:"reasoning,omitempty"`
	Input         []string `json:"input,omitempty"`
}

// AgentsListResult lists the configured agents, the default one first.
type AgentsListResult struct {
	DefaultID string     `json:"defaultId" schema:"minLength=1"`
	MainKey   string     `json:"mainKey" schema:"minLength=1"`
	Scope     string     `json:"scope" schema:"enum=per-sender|global"`
	Agents    []AgentRow `json:"agents"`
}

// AgentRow is one agent of a list.
type AgentRow struct {
	ID       string         `json:"id" schema:"minLength=1"`
	Name     string         `json:"name,omitempty" schema:"minLength=1"`
	Identity *AgentIdentity `json:"identity,omitempty"`
}

// AgentIdentity is how an agent presents itself.
type AgentIdentity struct {
	Name      string `json:"name,omitempty" schema:"minLength=1"`
	Theme     string `json:"theme,omitempty" schema:"minLength=1"`
	Emoji     string `json:"emoji,omitempty" schema:"minLength=1"`
	Avatar    string `json:"avatar,omitempty" schema:"minLength=1"`
	AvatarURL string `json:"avatarUrl,omitempty" schema:"minLength=1"`
}

// AgentsFilesListParams asks for the workspace files of an agent.
type AgentsFilesListParams struct {
	AgentID string `json:"agentId" schema:"minLength=1"`
}

// AgentsFilesListResult lists the known workspace files, also missing ones.
type AgentsFilesListResult struct {
	AgentID   string      `json:"agentId"`
	Workspace string      `json:"workspace"`
	Files     []AgentFile `json:"files"`
}

// AgentFile is one workspace file; Content only where it was asked for.
type AgentFile struct {
	Name        string  `json:"name"`
	Path        string  `json:"path"`
	Missing     bool    `json:"missing"`
	Size        *int64  `json:"size,omitempty" schema:"min=0"`
	UpdatedAtMs *int64  `json:"updatedAtMs,omitempty" schema:"min=0"`
	Content     *string `json:"content,omitempty"`
}

// AgentsFilesGetParams asks for one workspace file.
type AgentsFilesGetParams struct {
	AgentID string `json:"agentId" schema:"minLength=1"`
	Name    string `json:"name" schema:"minLength=1"`
}

// AgentsFilesGetResult is one workspace file.
type AgentsFilesGetResult struct {
	AgentID   string    `json:"agentId"`
	Workspace string    `json:"workspace"`
	File      AgentFile `json:"file"`
}

// AgentsFilesSetParams writes one workspace file.
type AgentsFilesSetParams struct {
	AgentID string `json:"agentId" schema:"minLength=1"`
	Name    string `json:"name" schema:"minLength=1"`
	Content string `json:"content"`
}

// AgentsFilesSetResult is the file as it was written.
type AgentsFilesSetResult struct {
	OK        bool      `json:"ok"`
	AgentID   string    `json:"agentId"`
	Workspace string    `json:"workspace"`
	File      AgentFile `json:"file"`
}

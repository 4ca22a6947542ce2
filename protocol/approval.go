package protocol

// Decisions of an exec approval.
const (
	ApprovalAllowOnce   = "allow-once"
	ApprovalAllowAlways = "allow-always"
	ApprovalDeny        = "deny"
)

// ApprovalsFile is the content of exec-approvals.json. Older files hold more,
// which is kept.
type ApprovalsFile struct {
	_        struct{}                   `schema:"open"`
	Version  int                        `json:"version" schema:"min=1,max=1"`
	Socket   *ApprovalsSocket           `json:"socket,omitempty"`
	Defaults *ApprovalsDefaults         `json:"defaults,omitempty"`
	Agents   map[string]ApprovalsPolicy `json:"agents,omitempty"`
}

// ApprovalsSocket is where the approval companion listens. Token is never sent.
type ApprovalsSocket struct {
	_     struct{} `schema:"open"`
	Path  string   `json:"path,omitempty"`
	Token Secret   `json:"token,omitempty"`
}

// ApprovalsDefaults say which commands may run without asking.
type ApprovalsDefaults struct {
	_               struct{} `schema:"open"`
	Security        string   `json:"security,omitempty"`
	Ask             string   `json:"ask,omitempty"`
	AskFallback     string   `json:"askFallback,omitempty"`
	AutoAllowSkills *bool    `json:"autoAllowSkills,omitempty"`
}

// ApprovalsPolicy is the policy of one agent.
type ApprovalsPolicy struct {
	ApprovalsDefaults
	Allowlist []AllowlistEntry `json:"allowlist,omitempty"`
}

// AllowlistEntry is a pattern of programs that may run.
type AllowlistEntry struct {
	_                struct{} `schema:"open"`
	ID               string   `json:"id,omitempty"`
	Pattern          string   `json:"pattern"`
	LastUsedAt       *int64   `json:"lastUsedAt,omitempty"`
	LastUsedCommand  string   `json:"lastUsedCommand,omitempty"`
	LastResolvedPath string   `json:"lastResolvedPath,omitempty"`
}

// ExecApprovalsResult is the approvals file with its hash.
type ExecApprovalsResult struct {
	Path   string        `json:"path"`
	Exists bool          `json:"exists"`
	Hash   string        `json:"hash"`
	File   ApprovalsFile `json:"file"`
}

// ExecApprovalsSetParams replaces the approvals file.
type ExecApprovalsSetParams struct {
	File     ApprovalsFile `json:"file"`
	BaseHash string        `json:"baseHash,omitempty" schema:"minLength=1"`
}

// ExecApprovalsNodeGetParams asks for the approvals file of a node.
type ExecApprovalsNodeGetParams struct {
	NodeID string `json:"nodeId" schema:"minLength=1"`
}

// ExecApprovalsNodeSetParams replaces the approvals file of a node.
type ExecApprovalsNodeSetParams struct {
	NodeID   string        `json:"nodeId" schema:"minLength=1"`
	File     ApprovalsFile `json:"file"`
	BaseHash string        `json:"baseHash,omitempty" schema:"minLength=1"`
}

// ExecApprovalRequestParams asks a person for permission and waits. TimeoutMs
// nil means 120 s.
type ExecApprovalRequestParams struct {
	ID           string           `json:"id,omitempty" schema:"minLength=1"`
	Command      string           `json:"command" schema:"minLength=1"`
	Cwd          Nullable[string] `json:"cwd,omitzero"`
	Host         Nullable[string] `json:"host,omitzero"`
	Security     Nullable[string] `json:"security,omitzero"`
	Ask          Nullable[string] `json:"ask,omitzero"`
	AgentID      Nullable[string] `json:"agentId,omitzero"`
	ResolvedPath Nullable[string] `json:"resolvedPath,omitzero"`
	SessionKey   Nullable[string] `json:"sessionKey,omitzero"`
	TimeoutMs    *int64           `json:"timeoutMs,omitempty" schema:"min=1"`
}

// ExecApprovalRequestResult is the decision, null when nobody decided in time.
type ExecApprovalRequestResult struct {
	ID          string  `json:"id"`
	Decision    *string `json:"decision" schema:"enum=allow-once|allow-always|deny"`
	CreatedAtMs int64   `json:"createdAtMs"`
	ExpiresAtMs int64   `json:"expiresAtMs"`
}

// ExecApprovalResolveParams decides a pending approval.
type ExecApprovalResolveParams struct {
	ID       string `json:"id" schema:"minLength=1"`
	Decision string `json:"decision" schema:"minLength=1"`
}

// ApprovalRequest is the command that waits for approval.
type ApprovalRequest struct {
	Command      string  `json:"command"`
	Cwd          *string `json:"cwd"`
	Host         *string `json:"host"`
	Security     *string `json:"security"`
	Ask          *string `json:"ask"`
	AgentID      *string `json:"agentId"`
	ResolvedPath *string `json:"resolvedPath"`
	SessionKey   *string `json:"sessionKey"`
}

// ApprovalRequestedEvent is the payload of exec.approval.requested and a row of
// exec.approval.list.
type ApprovalRequestedEvent struct {
	ID          string          `json:"id" schema:"minLength=1"`
	Request     ApprovalRequest `json:"request"`
	CreatedAtMs int64           `json:"createdAtMs"`
	ExpiresAtMs int64           `json:"expiresAtMs"`
}

// ApprovalResolvedEvent is the payload of exec.approval.resolved.
type ApprovalResolvedEvent struct {
	ID         string `json:"id" schema:"minLength=1"`
	Decision   string `json:"decision" schema:"enum=allow-once|allow-always|deny"`
	ResolvedBy string `json:"resolvedBy,omitempty"`
	Ts         int64  `json:"ts" schema:"min=0"`
}

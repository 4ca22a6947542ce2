package protocol

import "encoding/json"

// NodeInfo is a node, connected or only known, as node.list shows it.
type NodeInfo struct {
	NodeID          string          `json:"nodeId"`
	DisplayName     string          `json:"displayName,omitempty"`
	Platform        string          `json:"platform,omitempty"`
	Version         string          `json:"version,omitempty"`
	CoreVersion     string          `json:"coreVersion,omitempty"`
	UIVersion       string          `json:"uiVersion,omitempty"`
	DeviceFamily    string          `json:"deviceFamily,omitempty"`
	ModelIdentifier string          `json:"modelIdentifier,omitempty"`
	RemoteIP        string          `json:"remoteIp,omitempty"`
	Caps            []string        `json:"caps"`
	Commands        []string        `json:"commands"`
	PathEnv         string          `json:"pathEnv,omitempty"`
	Permissions     map[string]bool `json:"permissions,omitempty"`
	ConnectedAtMs   *int64          `json:"connectedAtMs,omitempty"`
	Paired          bool            `json:"paired"`
	Connected       bool            `json:"connected"`
}

// NodeListResult lists nodes, connected ones first.
type NodeListResult struct {
	Ts    int64      `json:"ts"`
	Nodes []NodeInfo `json:"nodes"`
}

// NodeDescribeParams asks for one node.
type NodeDescribeParams struct {
	NodeID string `json:"nodeId" schema:"minLength=1"`
}

// NodeDescribeResult is one node.
type NodeDescribeResult struct {
	Ts int64 `json:"ts"`
	NodeInfo
}

// NodeRenameParams gives a node another name.
type NodeRenameParams struct {
	NodeID      string `json:"nodeId" schema:"minLength=1"`
	DisplayName string `json:"displayName" schema:"minLength=1"`
}

// NodeRenameResult repeats the name.
type NodeRenameResult struct {
	NodeID      string `json:"nodeId"`
	DisplayName string `json:"displayName"`
}

// NodeInvokeParams runs a command on a node. TimeoutMs nil means 30 s.
type NodeInvokeParams struct {
	NodeID         string          `json:"nodeId" schema:"minLength=1"`
	Command        string          `json:"command" schema:"minLength=1"`
	Params         json.RawMessage `json:"params,omitempty"`
	TimeoutMs      *int64          `json:"timeoutMs,omitempty" schema:"min=0"`
	IdempotencyKey string          `json:"idempotencyKey" schema:"minLength=1"`
}

// NodeInvokeResult is what the node answered. Payload is the value of
// PayloadJSON where the node sent that.
type NodeInvokeResult struct {
	OK          bool            `json:"ok"`
	NodeID      string          `json:"nodeId"`
	Command     string          `json:"command"`
	Payload     json.RawMessage `json:"payload,omitempty"`
	PayloadJSON *string         `json:"payloadJSON"`
}

// NodeErrorDetails is the details object of a failed node.invoke.
type NodeErrorDetails struct {
	Code      string     `json:"code,omitempty"`    // NOT_CONNECTED
	Reason    string     `json:"reason,omitempty"`  // command not allowed
	Command   string     `json:"command,omitempty"` // command not allowed
	NodeError *NodeError `json:"nodeError,omitempty"`
}

// NodeError is a failure as the node reports it.
type NodeError struct {
	Code    string `json:"code,omitempty" schema:"minLength=1"`
	Message string `json:"message,omitempty" schema:"minLength=1"`
}

// NodeInvokeResultParams is a node's answer to node.invoke.request. PayloadJSON
// may be of any type; one that is not text counts as payload.
type NodeInvokeResultParams struct {
	ID          string              `json:"id" schema:"minLength=1"`
	NodeID      string              `json:"nodeId" schema:"minLength=1"`
	OK          bool                `json:"ok"`
	Payload     json.RawMessage     `json:"payload,omitempty"`
	PayloadJSON json.RawMessage     `json:"payloadJSON,omitempty"`
	Error       Nullable[NodeError] `json:"error,omitzero"`
}

// NodeInvokeResultResult says whether anybody waited for the answer.
type NodeInvokeResultResult struct {
	OK      bool `json:"ok"`
	Ignored bool `json:"ignored,omitempty"`
}

// NodeEventParams is something a node tells. Null for PayloadJSON is none.
type NodeEventParams struct {
	Event       string           `json:"event" schema:"minLength=1"`
	Payload     json.RawMessage  `json:"payload,omitempty"`
	PayloadJSON Nullable[string] `json:"payloadJSON,omitzero"`
}

// NodeInvokeRequestEvent is the payload of node.invoke.request. ParamsJSON is
// null when the caller gave no params.
type NodeInvokeRequestEvent struct {
	ID             string  `json:"id" schema:"minLength=1"`
	NodeID         string  `json:"nodeId" schema:"minLength=1"`
	Command        string  `json:"command" schema:"minLength=1"`
	ParamsJSON     *string `json:"paramsJSON"`
	TimeoutMs      *int64  `json:"timeoutMs,omitempty" schema:"min=0"`
	IdempotencyKey string  `json:"idempotencyKey,omitempty" schema:"minLength=1"`
}

// NodeDescription is what a node says about itself when it asks for pairing.
type NodeDescription struct {
	NodeID          string          `json:"nodeId" schema:"minLength=1"`
	DisplayName     string          `json:"displayName,omitempty" schema:"minLength=1"`
	Platform        string          `json:"platform,omitempty" schema:"minLength=1"`
	Version         string          `json:"version,omitempty" schema:"minLength=1"`
	CoreVersion     string          `json:"coreVersion,omitempty" schema:"minLength=1"`
	UIVersion       string          `json:"uiVersion,omitempty" schema:"minLength=1"`
	DeviceFamily    string          `json:"deviceFamily,omitempty" schema:"minLength=1"`
	ModelIdentifier string          `json:"modelIdentifier,omitempty" schema:"minLength=1"`
	Caps            []string        `json:"caps,omitempty" schema:"itemMinLength=1"`
	Commands        []string        `json:"commands,omitempty" schema:"itemMinLength=1"`
	Permissions     map[string]bool `json:"permissions,omitempty"`
	RemoteIP        string          `json:"remoteIp,omitempty" schema:"minLength=1"`
	Silent          *bool           `json:"silent,omitempty"`
}

// NodePairRequestParams asks for pairing in the older way.
type NodePairRequestParams struct{ NodeDescription }

// PendingNode is a node that waits for approval. It is also the payload of
// node.pair.requested.
type PendingNode struct {
	RequestID string `json:"requestId" schema:"minLength=1"`
	NodeDescription
	IsRepair bool  `json:"isRepair"`
	Ts       int64 `json:"ts" schema:"min=0"`
}

// PairedNode is an approved node. Token is there only in the answer that gives
// it to the node's owner.
type PairedNode struct {
	NodeDescription
	Token             Secret   `json:"token,omitempty"`
	Bins              []string `json:"bins,omitempty"`
	CreatedAtMs       int64    `json:"createdAtMs"`
	ApprovedAtMs      int64    `json:"approvedAtMs"`
	LastConnectedAtMs *int64   `json:"lastConnectedAtMs,omitempty"`
}

// NodePairRequestResult is the request that waits now.
type NodePairRequestResult struct {
	Status  string      `json:"status" schema:"const=pending"`
	Request PendingNode `json:"request"`
	Created bool        `json:"created"`
}

// NodePairListResult lists nodes of the older kind.
type NodePairListResult struct {
	Pending []PendingNode `json:"pending"`
	Paired  []PairedNode  `json:"paired"`
}

// NodePairApproveParams approves a pending node.
type NodePairApproveParams struct {
	RequestID string `json:"requestId" schema:"minLength=1"`
}

// NodePairApproveResult is the node with its fresh token.
type NodePairApproveResult struct {
	RequestID string     `json:"requestId"`
	Node      PairedNode `json:"node"`
}

// NodePairRejectParams rejects a pending node.
type NodePairRejectParams struct {
	RequestID string `json:"requestId" schema:"minLength=1"`
}

// NodePairRejectResult names what was rejected.
type NodePairRejectResult struct {
	RequestID string `json:"requestId"`
	NodeID    string `json:"nodeId"`
}

// NodePairVerifyParams checks the token of a node.
type NodePairVerifyParams struct {
	NodeID string `json:"nodeId" schema:"minLength=1"`
	Token  Secret `json:"token" schema:"minLength=1"`
}

// NodePairVerifyResult holds the node when the token is right.
type NodePairVerifyResult struct {
	OK   bool        `json:"ok"`
	Node *PairedNode `json:"node,omitempty"`
}

// NodePairResolvedEvent is the payload of node.pair.resolved.
type NodePairResolvedEvent struct {
	RequestID string `json:"requestId" schema:"minLength=1"`
	NodeID    string `json:"nodeId" schema:"minLength=1"`
	Decision  string `json:"decision" schema:"enum=approved|rejected"`
	Ts        int64  `json:"ts" schema:"min=0"`
}

// NodeCanvasRefreshResult is a fresh capability for the canvas.
type NodeCanvasRefreshResult struct {
	CanvasHostURL string `json:"canvasHostUrl" schema:"minLength=1"`
	ExpiresAtMs   int64  `json:"expiresAtMs"`
}

package protocol

import "encoding/json"

// BrowserRequestParams is a request to the browser control service. Wrong
// values have errors of their own.
type BrowserRequestParams struct {
	_         struct{}        `schema:"any"`
	Method    string          `json:"method,omitempty"` // GET, POST or DELETE
	Path      string          `json:"path,omitempty"`
	Query     map[string]any  `json:"query,omitempty"`
	Body      json.RawMessage `json:"body,omitempty"`
	TimeoutMs *float64        `json:"timeoutMs,omitempty"`
}

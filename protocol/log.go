package protocol

// LogsTailParams reads the log file from Cursor on, or its end without one.
// Limit nil means 500 lines, MaxBytes nil means 250,000.
type LogsTailParams struct {
	Cursor   *int64 `json:"cursor,omitempty" schema:"min=0"`
	Limit    *int   `json:"limit,omitempty" schema:"min=1,max=5000"`
	MaxBytes *int64 `json:"maxBytes,omitempty" schema:"min=1,max=1000000"`
}

// LogsTailResult holds complete lines. Cursor is where to go on reading.
type LogsTailResult struct {
	File      string   `json:"file"`
	Cursor    int64    `json:"cursor"`
	Size      int64    `json:"size"`
	Lines     []string `json:"lines"`
	Truncated bool     `json:"truncated"`
	// Reset says that the file is another one or that lines were skipped.
	Reset bool `json:"reset"`
}

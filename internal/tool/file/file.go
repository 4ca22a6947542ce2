package file

import (
	"openclaw/internal/tool"
)

// Config holds what [New] needs.
type Config struct {
	// Home is what ~ stands for; empty refuses such paths.
	Home string
}

// Files makes file tools. One serves the whole process and all its runs.
type Files struct {
	home   string
	limits imageLimits
	// decoding admits one image at a time, which bounds memory: a decoded image
	// takes a hundred times the room of its file.
	decoding chan struct{}
}

// New returns the maker of file tools.
func New(cfg Config) *Files {
	return &Files{home: cfg.Home, limits: imageLimits{side: maxSide, base64: maxBase64}, decoding: make(chan struct{}, 1)}
}

// Scope says where the tools of one run work.
type Scope struct {
	// Dir is the absolute folder where relative paths start.
	Dir string
	// Root, when set, confines the tools to this absolute folder, which holds Dir:
	// paths that lead outside and symbolic links are refused.
	Root string
}

type scope struct {
	Scope
	files *Files
}

// Tools returns read, edit and write for s.
func (f *Files) Tools(s Scope) []tool.Tool {
	sc := &scope{Scope: s, files: f}
	return []tool.Tool{sc.readTool(), sc.editTool(), sc.writeTool()}
}

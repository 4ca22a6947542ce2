package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Directions of a line.
const (
	dirOpen  = "open"
	dirSend  = "send"
	dirRecv  = "recv"
	dirClose = "close"
)

// epoch is the time that the start of every recording was moved to.
const epoch = 1767225600000

// Recording is what happened between some clients and a gateway.
type Recording struct {
	Name  string
	Lines []Line
	// greeted holds the connections that got a hello-ok.
	greeted map[string]bool
}

// Line is one thing that happened.
type Line struct {
	Note   string         `json:"note"`
	T      int64          `json:"t"` // ms since the start
	Conn   string         `json:"conn"`
	Dir    string         `json:"dir"`
	Frame  map[string]any `json:"frame"`
	Text   *string        `json:"text"` // where it was no JSON object
	Code   int            `json:"code"`
	Reason string         `json:"reason"`
}

// Load reads a recording.
func Load(path string) (*Recording, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load recording: %w", err)
	}
	r := &Recording{Name: strings.TrimSuffix(filepath.Base(path), ".jsonl"), greeted: map[string]bool{}}
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 16<<20)
	for n := 1; sc.Scan(); n++ {
		var l Line
		d := json.NewDecoder(bytes.NewReader(sc.Bytes()))
		d.UseNumber()
		if err := d.Decode(&l); err != nil {
			return nil, fmt.Errorf("load recording: %s:%d: %w", path, n, err)
		}
		if l.Dir == dirRecv && str(l.Frame, "payload", "type") == "hello-ok" {
			r.greeted[l.Conn] = true
		}
		r.Lines = append(r.Lines, l)
	}
	return r, sc.Err()
}

// closedByClient reports whether a close line is the client's doing: a plain
// close of a connection that was let in. A gateway closes those with a reason.
func (r *Recording) closedByClient(l Line) bool {
	return l.Code == 1000 && l.Reason == "" && r.greeted[l.Conn]
}

// str walks into nested objects and returns the string at the end, or "".
func str(v any, path ...string) string {
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = m[p]
	}
	s, _ := v.(string)
	return s
}

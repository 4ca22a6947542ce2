package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	// known holds the devices that had been let in before the recording: they show
	// a token that is the answer, too.
	known []device
}

// device is a device with a token.
type device struct {
	connect Line   // its first one
	token   string // that it shows
	scopes  any    // that the token has
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
	// byClient says that the client closed. Only a recording through a proxy tells.
	byClient bool
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
		r.Lines = append(r.Lines, l)
	}
	r.joinAttempts()
	r.look()
	return r, sc.Err()
}

// look finds out what follows from more than one line.
func (r *Recording) look() {
	connects, closed := map[string]Line{}, map[string]bool{}
	r.Lines = slices.DeleteFunc(r.Lines, func(l Line) bool {
		again := l.Dir == dirClose && closed[l.Conn]
		closed[l.Conn] = closed[l.Conn] || l.Dir == dirClose
		return again // a proxy sees both sides close
	})
	for i, l := range r.Lines {
		switch {
		case l.Dir == dirClose:
			if side, reason, ok := strings.Cut(l.Reason, " side: "); ok {
				r.Lines[i].byClient, r.Lines[i].Reason = side == dirSend, reason
			}
		case str(l.Frame, "method") == "connect":
			connects[l.Conn] = l
		case str(l.Frame, "payload", "type") == "hello-ok":
			r.greeted[l.Conn] = true
			shown := str(connects[l.Conn].Frame, "params", "auth", "token")
			same := func(d device) bool { return d.token == shown }
			if strings.HasPrefix(shown, "<token-") && shown == str(l.Frame, "payload", "auth", "deviceToken") && !slices.ContainsFunc(r.known, same) {
				auth := l.Frame["payload"].(map[string]any)["auth"].(map[string]any)
				r.known = append(r.known, device{connect: connects[l.Conn], token: shown, scopes: auth["scopes"]})
			}
		}
	}
}

// Split cuts a recording at its notes into plays of their own, each with what
// came before the first note. It is for recordings whose parts do not depend on
// each other and take long.
func (r *Recording) Split() []*Recording {
	var notes []int
	for i, l := range r.Lines {
		if l.Dir == "" {
			notes = append(notes, i)
		}
	}
	var parts []*Recording
	for i, from := range notes {
		to := len(r.Lines)
		if i+1 < len(notes) {
			to = notes[i+1]
		}
		part := *r
		part.Lines = slices.Concat(r.Lines[:notes[0]], r.Lines[from:to])
		parts = append(parts, &part)
	}
	return parts
}

// closedByClient reports whether a close line is the client's doing: a plain
// close of a connection that was let in. A gateway closes those with a reason.
func (r *Recording) closedByClient(l Line) bool {
	return l.byClient || l.Code == 1000 && l.Reason == "" && r.greeted[l.Conn]
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

package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	"openclaw/internal/turn"
)

// maxRepeats is how often the same call may give the same result in a row.
const maxRepeats = 25

// guard notices a model that repeats one call for ever. It never interferes
// with calls whose results change, such as polling a command.
type guard struct {
	call, result [sha256.Size]byte
	repeats      int
}

// blocks reports whether the call must be refused.
func (g *guard) blocks(name string, args json.RawMessage) bool {
	return g.repeats >= maxRepeats && g.call == fingerprint(name, args)
}

// record notes what a call answered.
func (g *guard) record(name string, args json.RawMessage, content turn.Content) {
	call := fingerprint(name, args)
	data, err := json.Marshal(content)
	if err != nil {
		g.repeats = 0 // not comparable, so never the same
		return
	}
	result := sha256.Sum256(data)
	if g.repeats > 0 && call == g.call && result == g.result {
		g.repeats++
		return
	}
	*g = guard{call: call, result: result, repeats: 1}
}

// fingerprint identifies a call whatever the order of its arguments.
func fingerprint(name string, args json.RawMessage) [sha256.Size]byte {
	var value any
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	if dec.Decode(&value) == nil {
		if canonical, err := json.Marshal(value); err == nil { // object keys come out sorted
			args = canonical
		}
	}
	return sha256.Sum256(append([]byte(name+"\x00"), args...))
}

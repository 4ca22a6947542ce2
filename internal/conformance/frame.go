package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
)

// class says how strictly the place of a frame among the others is compared.
type class int

const (
	// ordered frames must come in the recorded order: what a run tells.
	ordered class = iota
	// answer frames are matched by request id; the protocol lets them come in
	// any order.
	answer
	// state frames tell the state at a time; newer ones replace older ones.
	state
	// clocked frames come by the clock; how many there are is not compared.
	clocked
)

// Frame is a received frame with what it is compared by.
type Frame struct {
	Key   string // what it is, such as "res agent r2" or "event agent run-1 assistant"
	class class
	body  map[string]any
	// used is set when a recorded frame was matched with it.
	used bool
}

// describe works out the key and the class of a frame. Methods maps the ids of
// requests to their methods.
func describe(body map[string]any, methods map[string]string) Frame {
	f := Frame{body: body}
	if str(body, "type") == "res" {
		id := str(body, "id")
		f.class = answer
		f.Key = strings.TrimSpace("res " + methods[id] + " " + id)
		return f
	}
	name := str(body, "event")
	f.Key = "event " + name
	switch name {
	case "health", "presence":
		f.class = state
	case "tick":
		f.class = clocked
	case "agent":
		f.Key += " " + str(body, "payload", "runId") + " " + str(body, "payload", "stream")
		if phase := str(body, "payload", "data", "phase"); phase != "" {
			f.Key += "." + phase
		}
	case "chat":
		id, s := str(body, "payload", "runId"), str(body, "payload", "state")
		if strings.HasPrefix(id, "inject-") {
			id = "inject" // its number is random, and known only later from the answer
		}
		f.Key += " " + id + " " + s
		if s == "delta" {
			f.class = clocked // at most one each 150 ms
		}
	case "connect.challenge":
		f.class = ordered
	}
	return f
}

// decode reads a frame with its numbers as they are written.
func decode(data []byte) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var body map[string]any
	if err := d.Decode(&body); err != nil {
		return nil, fmt.Errorf("decode frame: %w", err)
	}
	return body, nil
}

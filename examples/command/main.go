package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// ask is a line from the adapter.
type ask struct {
	Type    string `json:"type"` // turn, reason, describe or cancel
	ID      string `json:"id"`   // goes into every line of the answer
	Kind    string `json:"kind"` // of a turn: chat, or reasoning for what was said in a call
	Text    string `json:"text"`
	Purpose string `json:"purpose"` // of a job
	Input   string `json:"input"`   // of a job: what it is about, as JSON
	History []struct {
		Role string `json:"role"`
		Text string `json:"text"`
	} `json:"history"`
}

// answer is a line to the adapter.
type answer struct {
	Type    string `json:"type"` // typing, delta, message, taken, done or error
	ID      string `json:"id"`
	Label   string `json:"label,omitempty"`
	Text    string `json:"text,omitempty"`
	Profile any    `json:"profile,omitempty"`
}

func main() {
	out := json.NewEncoder(os.Stdout)
	say := func(a answer) {
		if err := out.Encode(a); err != nil {
			os.Exit(1)
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var q ask
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			fmt.Fprintln(os.Stderr, "not a line of JSON:", err)
			continue
		}
		switch q.Type {
		case "turn":
			turn(&q, say)
		case "reason":
			say(answer{Type: "done", ID: q.ID, Text: reason(&q)})
		case "describe":
			say(answer{Type: "done", ID: q.ID, Profile: map[string]any{"models": []string{"example/word-counter"}}})
		case "cancel": // nothing here takes long enough to be cancelled
		}
	}
}

// turn answers what a person wrote, or what was said in a call.
func turn(q *ask, say func(answer)) {
	n := len(strings.Fields(q.Text))
	if q.Kind == "reasoning" && n < 50 {
		say(answer{Type: "done", ID: q.ID, Text: "none"}) // nothing worth an interruption
		return
	}
	say(answer{Type: "typing", ID: q.ID, Label: "Counting"})
	before := 0
	for _, m := range q.History {
		if m.Role == "user" {
			before += len(strings.Fields(m.Text))
		}
	}
	say(answer{Type: "delta", ID: q.ID, Text: "That is "})
	say(answer{Type: "message", ID: q.ID, Text: fmt.Sprintf("That is %d words, after %d before.", n, before)})
	say(answer{Type: "done", ID: q.ID})
}

// reason answers a job. The answer has to fit the schema that comes with it; these two
// are the ones a desktop asks for during and after a call.
func reason(q *ask) string {
	n := len(strings.Fields(q.Input))
	switch q.Purpose {
	case "live_analysis":
		return fmt.Sprintf(`{"signals":[{"severity":"green","message":"%d words so far."}],"no_signal_reason":""}`, n)
	case "session_summary":
		return fmt.Sprintf(`{"summary":"A call of %d words.","key_points":[],"action_items":[],"follow_ups":[]}`, n)
	}
	return "I count words."
}

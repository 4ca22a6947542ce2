package session

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/turn"
)

func TestRepairPairs(t *testing.T) {
	a := func(calls ...string) turn.Message {
		var blocks []turn.Block
		for _, id := range calls {
			blocks = append(blocks, call(id))
		}
		return assistant(blocks...)
	}
	r := func(id string) turn.Message { return result(id, id) }
	u := user("u")
	tests := []struct {
		name string
		in   []turn.Message
		want []string
	}{
		{"sound", []turn.Message{u, a("1", "2"), r("2"), r("1"), u}, []string{"user:u", "assistant:[1][2]", "result:2", "result:1", "user:u"}},
		{"late result", []turn.Message{a("1"), u, r("1")}, []string{"assistant:[1]", "result:1", "user:u"}},
		{"missing", []turn.Message{a("1", "2"), r("2"), u}, []string{"assistant:[1][2]", "result:1!", "result:2", "user:u"}},
		{"twice", []turn.Message{a("1"), r("1"), r("1")}, []string{"assistant:[1]", "result:1"}},
		{"orphan", []turn.Message{u, r("9"), a()}, []string{"user:u", "assistant:"}},
		{"before its call", []turn.Message{r("1"), a("1")}, []string{"assistant:[1]", "result:1!"}},
		{"id used again", []turn.Message{a("1"), r("1"), u, a("1"), r("1")}, []string{"assistant:[1]", "result:1", "user:u", "assistant:[1]", "result:1"}},
		{"id used again, first unanswered", []turn.Message{a("1"), u, a("1"), r("1")}, []string{"assistant:[1]", "result:1!", "user:u", "assistant:[1]", "result:1"}},
		{"id twice in one message", []turn.Message{a("1", "1"), r("1"), r("1")}, []string{"assistant:[1]", "result:1"}},
		{"end", []turn.Message{u, a("1")}, []string{"user:u", "assistant:[1]", "result:1!"}},
		{"empty", nil, nil},
	}
	for _, tt := range tests {
		got := RepairPairs(tt.in)
		if diff := cmp.Diff(tt.want, outline(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if !paired(got) {
			t.Errorf("%s: still not paired", tt.name)
		}
		if diff := cmp.Diff(got, RepairPairs(got)); diff != "" {
			t.Errorf("%s: a second repair changes something:\n%s", tt.name, diff)
		}
	}
}

// P7: whatever order and mixture, the repair is what a strict provider accepts and
// loses no text of users and assistants.
func TestRepairPairsProperty(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for n := range 3000 {
		var msgs []turn.Message
		words := 0
		for i := range rnd.IntN(12) {
			id := func() string { return fmt.Sprint(rnd.IntN(4)) }
			switch rnd.IntN(4) {
			case 0:
				msgs = append(msgs, user(fmt.Sprint(i)))
				words++
			case 1:
				msgs = append(msgs, assistant(text(fmt.Sprint(i)), call(id()), call(id())))
				words++
			default:
				msgs = append(msgs, result(id(), "r"))
			}
		}
		got := RepairPairs(msgs)
		kept := 0
		for _, m := range got {
			if m.Role != turn.RoleToolResult {
				kept++
			}
		}
		if !paired(got) || kept != words {
			t.Fatalf("case %d: %v -> %v", n, outline(msgs), outline(got))
		}
	}
}

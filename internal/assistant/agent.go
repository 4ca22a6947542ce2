package assistant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"openclaw/byo"
)

// Agent is what thinks: our gateway, or another program behind the adapter. One value
// serves one pairing, so that no memory of one is seen by another. Its methods are
// called concurrently.
type Agent interface {
	// Reason answers one question. It runs apart from every conversation, remembers
	// nothing, uses no tool that has side effects, and ends when ctx does.
	Reason(ctx context.Context, q Question) (Answer, error)
	// Turn puts what a person said, or what was said in a call, into the memory of
	// its session and tells emit what the agent does and says about it. It returns
	// when the agent has nothing more to say. A [*TurnError] says what the person is
	// told; any other error becomes agent_error. When ctx ends it stops early.
	Turn(ctx context.Context, t Turn, emit func(Output)) error
	// Describe returns the profile without RawDescription, which is asked for with
	// Reason. Skills come from the agent's own registry.
	Describe(ctx context.Context) (byo.Profile, error)
}

// Question is a reasoning job in clear.
type Question struct {
	// ID is the job's, the same when the job is run again after a crash.
	ID      string
	Purpose string // byo.PurposeLiveAnalysis, …
	// System is the instruction; Input what is to be reasoned about, usually JSON.
	System, Input string
	// Schema is the JSON Schema of the answer; empty for plain text.
	Schema    json.RawMessage
	Model     string // empty for the agent's own
	MaxTokens int    // of the answer
}

// Answer is what the model said.
type Answer struct {
	Text     string
	ModelRef string          // provider/model, when it is known
	RunID    string          // of the agent, when it has one
	Usage    json.RawMessage // an object, when it is known
}

// Kind says which thread of a session a turn belongs to.
type Kind string

const (
	Chat      Kind = "chat"      // a person writes
	Reasoning Kind = "reasoning" // the call is transcribed: other people's words
)

// SessionKey names the session in which an agent of a gateway keeps a thread. An id
// that is not lower case gets a piece of its hash, so that ids that differ in case only
// never share a memory. See docs/byo.md#incoming.
func SessionKey(agentID, session string, kind Kind) string {
	lower := strings.ToLower(session)
	if lower != session {
		sum := sha256.Sum256([]byte(session))
		lower += "-" + hex.EncodeToString(sum[:4])
	}
	return "agent:" + agentID + ":stagewhisper:direct:sw:" + lower + ":" + string(kind)
}

// Turn is one thing said.
type Turn struct {
	// ID is the task's, the same when the turn is run again after a crash: an agent
	// that knows it already shall not take the text twice.
	ID        string
	SessionID string // as the desktop wrote it
	Kind      Kind
	// Text is exactly what was said. Context stands in front of it when it is not
	// empty: what the desktop said once about the session.
	Text, Context string
	// Again is how often the turn was begun before and did not end.
	Again int
}

// Prompt returns Text with its Context in front.
func (t Turn) Prompt() string {
	if t.Context == "" {
		return t.Text
	}
	return "[Context: " + t.Context + "]\n\n" + t.Text
}

// Output is one thing an agent does or says in a turn. One field is set, but for Fresh.
type Output struct {
	// Taken tells that the text is in the agent's hands, so that the next message of
	// the session may follow before this turn ends, as an approval must. An agent
	// that never says so gets one turn of a session after the other.
	Taken bool
	// Typing is a short label of what the agent does.
	Typing string
	// Message is one whole thing said. A turn that was begun before repeats what it
	// said then, which is told once; Fresh marks a message that repeats nothing.
	Message string
	Fresh   bool
	// Delta is a piece of a message that is still being said.
	Delta string
}

// TurnError is a turn that failed, in words for the person who wrote.
type TurnError struct {
	Code string // byo.CodeAgentError, CodeExecutionError or CodeAgentTimeout
	Text string
}

func (e *TurnError) Error() string { return e.Code + ": " + e.Text }

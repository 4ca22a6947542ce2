package modeltest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"openclaw/internal/model"
	"openclaw/internal/turn"
)

// Sent is one request as a server got it.
type Sent struct {
	Path   string
	Header http.Header
	Body   []byte // indented
}

// Capture opens the model that t describes against a server that refuses
// everything, asks it, and returns what the server got.
func Capture(t *testing.T, open func(*testing.T, model.Target) model.Model, target model.Target, req model.Request) Sent {
	t.Helper()
	var sent Sent
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var b bytes.Buffer
		if err := json.Indent(&b, body, "", "  "); err != nil {
			t.Errorf("the body is no JSON: %s", body)
		}
		b.WriteByte('\n')
		sent = Sent{r.URL.Path, r.Header, b.Bytes()}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer h.Close()
	target.BaseURL = h.URL + target.BaseURL
	Collect(t, t.Context(), open(t, target), req)
	return sent
}

// Stream opens the model that t describes against a server that answers with
// body, and collects the stream.
func Stream(t *testing.T, open func(*testing.T, model.Target) model.Model, target model.Target, body string) Result {
	t.Helper()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}))
	defer h.Close()
	target.BaseURL = h.URL + target.BaseURL
	return Collect(t, t.Context(), open(t, target), ask("hello"))
}

// History is a conversation with everything in it that a family must convert:
// images, reasoning, several calls, a failed result, an answer that broke off,
// and answers of another vendor. The answers are those of info.
func History(info model.Info, signature string) []turn.Message {
	at := time.UnixMilli(1)
	yes := true
	image := turn.Block{Type: turn.BlockImage, MimeType: "image/png", Data: "iVBORw0KGgo="}
	call := func(id, name, args string) turn.Block {
		return turn.Block{Type: turn.BlockToolCall, ID: id, Name: name, Arguments: json.RawMessage(args)}
	}
	text := func(s, sig string) turn.Block {
		return turn.Block{Type: turn.BlockText, Text: s, TextSignature: sig}
	}
	answer := func(i model.Info, stop turn.StopReason, blocks ...turn.Block) turn.Message {
		return turn.Message{Role: turn.RoleAssistant, API: string(i.API), Provider: i.Ref.Provider, Model: i.Ref.ID, StopReason: stop, Content: blocks}
	}
	other := model.Info{Ref: model.Ref{Provider: "elsewhere", ID: "old"}, API: "another-api"}
	result := func(id string, failed *bool, content ...turn.Block) turn.Message {
		return turn.Message{Role: turn.RoleToolResult, ToolCallID: id, ToolName: "read", Content: content, IsError: failed}
	}
	return []turn.Message{
		{Role: turn.RoleUser, Content: turn.Content{text("look at <this> & that", ""), image}},
		answer(other, turn.StopToolUse, turn.Block{Type: turn.BlockThinking, Thinking: "foreign", ThinkingSignature: "foreign"},
			text("foreign text", "msg_foreign"), call("call_abc|fc_def", "read", `{"path":"f"}`)),
		result("call_abc|fc_def", nil, text("foreign result", "")),
		answer(info, turn.StopError, text("half an ans", ""), call("lost", "read", `{}`)),
		result("lost", nil, text("never seen", "")),
		answer(info, turn.StopToolUse, turn.Block{Type: turn.BlockThinking, Thinking: "hm", ThinkingSignature: signature},
			text("I will read", "msg_own"), call("call_1|fc_1", "read", `{"path":"a"}`), call("call_2|fc_2", "read", ``)),
		result("call_1|fc_1", nil, text("line one", ""), text("line two", "")),
		result("call_2|fc_2", &yes, text("not found", ""), image),
		turn.User("and now?", at),
	}
}

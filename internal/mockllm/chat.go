package mockllm

import (
	"fmt"
	"net/http"
)

// callID is unique within a conversation: each turn sees a longer history.
func (x *exchange) callID(i int) string { return fmt.Sprintf("call_mock_%d_%d", x.conv.messages, i) }

func (x *exchange) finishReason() string {
	switch {
	case len(x.reply.Calls) > 0:
		return "tool_calls"
	case x.reply.Stop == "length":
		return "length"
	case x.reply.Stop == "refusal":
		return "content_filter"
	}
	return "stop"
}

// serveChat answers Chat Completions.
func (s *Server) serveChat(w http.ResponseWriter, x *exchange) error {
	id := s.requestID("chatcmpl-mock-%d")
	in, out := x.usage()
	usage := obj{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
	if x.conv.stream {
		return s.streamChat(w, x, id, usage)
	}
	msg := obj{"role": "assistant", "content": x.reply.Text}
	if x.reply.Thinking != "" {
		msg["reasoning_content"] = x.reply.Thinking
	}
	var calls []any
	for i, t := range x.reply.Calls {
		calls = append(calls, obj{"id": x.callID(i), "type": "function", "function": obj{"name": t.Name, "arguments": t.Args}})
	}
	if calls != nil {
		msg["tool_calls"] = calls
		if x.reply.Text == "" {
			msg["content"] = nil
		}
	}
	writeJSON(w, http.StatusOK, obj{"id": id, "object": "chat.completion", "created": fixedTime, "model": x.conv.model,
		"choices": []any{obj{"index": 0, "message": msg, "finish_reason": x.finishReason()}}, "usage": usage})
	return nil
}

func (s *Server) streamChat(w http.ResponseWriter, x *exchange, id string, usage obj) error {
	e := s.newSSE(w, x, false)
	chunk := func(choices ...any) obj {
		return obj{"id": id, "object": "chat.completion.chunk", "created": fixedTime, "model": x.conv.model, "choices": choices}
	}
	delta := func(d obj, finish any) {
		e.send("", chunk(obj{"index": 0, "delta": d, "finish_reason": finish}))
	}
	delta(obj{"role": "assistant", "content": ""}, nil)
	e.pieces(x.reply.Thinking, func(p string) { delta(obj{"reasoning_content": p}, nil) })
	e.text(x.reply.Text, func(p string) { delta(obj{"content": p}, nil) })
	for i, t := range x.reply.Calls {
		delta(obj{"tool_calls": []any{obj{"index": i, "id": x.callID(i), "type": "function",
			"function": obj{"name": t.Name, "arguments": ""}}}}, nil)
		e.pieces(t.Args, func(p string) {
			delta(obj{"tool_calls": []any{obj{"index": i, "function": obj{"arguments": p}}}}, nil)
		})
	}
	delta(obj{}, x.finishReason())
	if x.conv.usageChunk {
		last := chunk()
		last["choices"], last["usage"] = []any{}, usage
		e.send("", last)
	}
	if e.err == nil {
		_, _ = fmt.Fprint(w, "data: [DONE]\n\n") // the caller has all it needs
	}
	return e.err
}

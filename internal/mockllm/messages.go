package mockllm

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// signature is what the mock signs its thinking with.
const signature = "mock-signature"

func (x *exchange) toolUseID(i int) string {
	return fmt.Sprintf("toolu_mock_%d_%d", x.conv.messages, i)
}

func (x *exchange) stopReason() string {
	switch {
	case len(x.reply.Calls) > 0:
		return "tool_use"
	case x.reply.Stop == "length":
		return "max_tokens"
	case x.reply.Stop == "refusal":
		return "refusal"
	}
	return "end_turn"
}

func messagesUsage(in, out int) obj {
	return obj{"input_tokens": in, "output_tokens": out, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
}

// serveMessages answers Anthropic Messages.
func (s *Server) serveMessages(w http.ResponseWriter, x *exchange) error {
	id := s.requestID("msg_mock_%d")
	in, out := x.usage()
	if x.conv.stream {
		return s.streamMessages(w, x, id, in, out)
	}
	blocks := []any{}
	if x.reply.Thinking != "" {
		blocks = append(blocks, obj{"type": "thinking", "thinking": x.reply.Thinking, "signature": signature})
	}
	if x.reply.Text != "" {
		blocks = append(blocks, obj{"type": "text", "text": x.reply.Text})
	}
	for i, t := range x.reply.Calls {
		input := json.RawMessage(t.Args)
		if !json.Valid(input) {
			input = json.RawMessage("{}")
		}
		blocks = append(blocks, obj{"type": "tool_use", "id": x.toolUseID(i), "name": t.Name, "input": input})
	}
	writeJSON(w, http.StatusOK, obj{"id": id, "type": "message", "role": "assistant", "model": x.conv.model, "content": blocks,
		"stop_reason": x.stopReason(), "stop_sequence": nil, "usage": messagesUsage(in, out)})
	return nil
}

func (s *Server) streamMessages(w http.ResponseWriter, x *exchange, id string, in, out int) error {
	e := s.newSSE(w, x, true)
	send := func(typ string, v obj) {
		v["type"] = typ
		e.send(typ, v)
	}
	send("message_start", obj{"message": obj{"id": id, "type": "message", "role": "assistant", "model": x.conv.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": messagesUsage(in, 1)}})
	send("ping", obj{})
	at := 0
	delta := func(d obj) { send("content_block_delta", obj{"index": at, "delta": d}) }
	block := func(start obj, deltas func()) {
		send("content_block_start", obj{"index": at, "content_block": start})
		deltas()
		send("content_block_stop", obj{"index": at})
		at++
	}
	if x.reply.Thinking != "" {
		block(obj{"type": "thinking", "thinking": "", "signature": ""}, func() {
			e.pieces(x.reply.Thinking, func(p string) { delta(obj{"type": "thinking_delta", "thinking": p}) })
			delta(obj{"type": "signature_delta", "signature": signature})
		})
	}
	if x.reply.Text != "" {
		block(obj{"type": "text", "text": ""}, func() {
			e.text(x.reply.Text, func(p string) { delta(obj{"type": "text_delta", "text": p}) })
		})
	}
	for i, t := range x.reply.Calls {
		block(obj{"type": "tool_use", "id": x.toolUseID(i), "name": t.Name, "input": obj{}}, func() {
			e.pieces(t.Args, func(p string) { delta(obj{"type": "input_json_delta", "partial_json": p}) })
		})
	}
	send("message_delta", obj{"delta": obj{"stop_reason": x.stopReason(), "stop_sequence": nil}, "usage": obj{"output_tokens": out}})
	send("message_stop", obj{})
	return e.err
}

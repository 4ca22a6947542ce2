package mockllm

import (
	"fmt"
	"net/http"

	"openclaw/internal/cue"
)

// response builds the objects of one Responses reply.
type response struct {
	x *exchange
	n int64 // number of the call, part of every id
}

func (r response) reasoning() obj {
	return obj{"type": "reasoning", "id": fmt.Sprintf("rs_mock_%d", r.n),
		"summary": []any{obj{"type": "summary_text", "text": r.x.reply.Thinking}}}
}

func (r response) message() obj {
	return obj{"type": "message", "id": fmt.Sprintf("msg_mock_%d", r.n), "role": "assistant", "status": "completed",
		"content": []any{outputText(r.x.reply.Text)}}
}

func (r response) call(i int, t cue.Call, args, status string) obj {
	return obj{"type": "function_call", "id": fmt.Sprintf("fc_mock_%d_%d", r.n, i), "call_id": r.x.callID(i),
		"name": t.Name, "arguments": args, "status": status}
}

func outputText(text string) obj {
	return obj{"type": "output_text", "text": text, "annotations": []any{}}
}

func (r response) hasMessage() bool { return r.x.reply.Text != "" || len(r.x.reply.Calls) == 0 }

// envelope is the response object itself.
func (r response) envelope(status string, items []any, usage any) obj {
	o := obj{"id": fmt.Sprintf("resp_mock_%d", r.n), "object": "response", "created_at": fixedTime, "status": status,
		"model": r.x.conv.model, "output": items, "usage": usage, "error": nil, "incomplete_details": nil}
	if status == "incomplete" {
		o["incomplete_details"] = obj{"reason": "max_output_tokens"}
	}
	return o
}

func (r response) status() string {
	if r.x.reply.Stop == "length" {
		return "incomplete"
	}
	return "completed"
}

// serveResponses answers the Responses API.
func (s *Server) serveResponses(w http.ResponseWriter, x *exchange) error {
	r := response{x: x, n: s.calls.Load()}
	in, out := x.usage()
	usage := obj{"input_tokens": in, "output_tokens": out, "total_tokens": in + out,
		"input_tokens_details":  obj{"cached_tokens": 0},
		"output_tokens_details": obj{"reasoning_tokens": tokensOf(x.reply.Thinking)}}
	if x.conv.stream {
		return s.streamResponses(w, r, usage)
	}
	items := []any{}
	if x.reply.Thinking != "" {
		items = append(items, r.reasoning())
	}
	if r.hasMessage() {
		items = append(items, r.message())
	}
	for i, t := range x.reply.Calls {
		items = append(items, r.call(i, t, t.Args, "completed"))
	}
	writeJSON(w, http.StatusOK, r.envelope(r.status(), items, usage))
	return nil
}

// itemStream sends the items of a streamed response one after the other.
type itemStream struct {
	*sse
	items []any
}

func (e *itemStream) event(typ string, v obj) {
	v["type"] = typ
	v["sequence_number"] = e.seq
	e.seq++
	e.send(typ, v)
}

// item sends one output item: opened, its deltas, done.
func (e *itemStream) item(opened, done obj, deltas func(common func(extra obj) obj)) {
	at := len(e.items)
	e.event("response.output_item.added", obj{"output_index": at, "item": opened})
	deltas(func(extra obj) obj {
		extra["item_id"], extra["output_index"] = done["id"], at
		return extra
	})
	e.event("response.output_item.done", obj{"output_index": at, "item": done})
	e.items = append(e.items, done)
}

func (s *Server) streamResponses(w http.ResponseWriter, r response, usage obj) error {
	e := &itemStream{sse: s.newSSE(w, r.x, true), items: []any{}}
	e.event("response.created", obj{"response": r.envelope("in_progress", []any{}, nil)})
	e.event("response.in_progress", obj{"response": r.envelope("in_progress", []any{}, nil)})
	if r.x.reply.Thinking != "" {
		e.reasoning(r)
	}
	if r.hasMessage() {
		e.message(r)
	}
	for i, t := range r.x.reply.Calls {
		e.item(r.call(i, t, "", "in_progress"), r.call(i, t, t.Args, "completed"), func(common func(obj) obj) {
			e.pieces(t.Args, func(p string) { e.event("response.function_call_arguments.delta", common(obj{"delta": p})) })
			e.event("response.function_call_arguments.done", common(obj{"arguments": t.Args}))
		})
	}
	e.event("response."+r.status(), obj{"response": r.envelope(r.status(), e.items, usage)})
	return e.err
}

func (e *itemStream) reasoning(r response) {
	text := r.x.reply.Thinking
	done := r.reasoning()
	opened := obj{"type": "reasoning", "id": done["id"], "summary": []any{}}
	part := func(text string) obj { return obj{"type": "summary_text", "text": text} }
	e.item(opened, done, func(common func(obj) obj) {
		e.event("response.reasoning_summary_part.added", common(obj{"summary_index": 0, "part": part("")}))
		e.pieces(text, func(p string) {
			e.event("response.reasoning_summary_text.delta", common(obj{"summary_index": 0, "delta": p}))
		})
		e.event("response.reasoning_summary_text.done", common(obj{"summary_index": 0, "text": text}))
		e.event("response.reasoning_summary_part.done", common(obj{"summary_index": 0, "part": part(text)}))
	})
}

func (e *itemStream) message(r response) {
	text := r.x.reply.Text
	done := r.message()
	opened := obj{"type": "message", "id": done["id"], "role": "assistant", "status": "in_progress", "content": []any{}}
	e.item(opened, done, func(common func(obj) obj) {
		e.event("response.content_part.added", common(obj{"content_index": 0, "part": outputText("")}))
		e.text(text, func(p string) { e.event("response.output_text.delta", common(obj{"content_index": 0, "delta": p})) })
		e.event("response.output_text.done", common(obj{"content_index": 0, "text": text}))
		e.event("response.content_part.done", common(obj{"content_index": 0, "part": outputText(text)}))
	})
}

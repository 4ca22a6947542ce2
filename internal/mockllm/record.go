package mockllm

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// record writes one line about an exchange. Keys never reach it.
func (s *Server) record(x *exchange) {
	if s.cfg.Record == nil {
		return
	}
	line := obj{
		"seq": x.seq, "at_ms": x.began.Sub(s.start).Milliseconds(),
		"took_ms": float64(time.Since(x.began).Microseconds()) / 1000,
		"method":  x.req.Method, "path": x.req.URL.Path, "headers": safeHeaders(x.req.Header),
		"status": x.status, "outcome": x.outcome,
		"reply": obj{"text": x.reply.Text, "thinking": x.reply.Thinking, "tool_calls": x.reply.Calls, "fail": x.reply.Failure},
	}
	if json.Valid(x.body) {
		line["body"] = json.RawMessage(x.body)
	} else {
		line["body_text"] = string(x.body)
	}
	out, err := json.Marshal(line)
	if err != nil {
		return
	}
	s.recordMu.Lock()
	defer s.recordMu.Unlock()
	_, _ = s.cfg.Record.Write(append(out, '\n')) // a test that reads it will notice
}

func safeHeaders(h http.Header) map[string]string {
	head := make(map[string]string, len(h))
	for k, v := range h {
		switch k = strings.ToLower(k); k {
		case "authorization", "x-api-key", "cookie":
			head[k] = "<redacted>"
		default:
			head[k] = strings.Join(v, ", ")
		}
	}
	return head
}

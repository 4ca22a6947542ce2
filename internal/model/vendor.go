package model

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"openclaw/internal/logs"
)

// maxVendorText bounds what a vendor's message may add to an error text.
const maxVendorText = 300

// Failure is what a server said about a failed call.
type Failure struct {
	Status     int    // HTTP status, 0 for a failure inside a stream
	Type, Code string // such as rate_limit_error, context_length_exceeded
	Message    string
	RetryAfter time.Duration
}

// ParseFailure reads an error body in any of the shapes servers use. A body that
// is no JSON adds nothing: it may be a whole web page.
func ParseFailure(status int, body []byte) Failure {
	f := Failure{Status: status}
	f.read(bytes.TrimSpace(body), 0)
	f.Message = clean(f.Message)
	return f
}

// wireFailure is the union of the shapes.
type wireFailure struct {
	Type     string          `json:"type"`
	Code     json.RawMessage `json:"code"`
	Status   json.RawMessage `json:"status"`
	Message  json.RawMessage `json:"message"`
	Msg      string          `json:"msg"`
	Detail   json.RawMessage `json:"detail"`
	Error    json.RawMessage `json:"error"`
	Metadata struct {
		Raw string `json:"raw"`
	} `json:"metadata"`
	Details []struct {
		RetryDelay string `json:"retryDelay"`
	} `json:"details"`
}

// maxNesting bounds errors within errors, as relays send them.
const maxNesting = 4

func (f *Failure) read(body []byte, depth int) {
	if len(body) == 0 || depth > maxNesting {
		return
	}
	switch body[0] {
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			f.read(list[0], depth+1)
		}
	case '"':
		var s string
		if json.Unmarshal(body, &s) == nil {
			f.Message = s
		}
	case '{':
		var w wireFailure
		if json.Unmarshal(body, &w) == nil {
			f.merge(w, depth)
		}
	}
}

func (f *Failure) merge(w wireFailure, depth int) {
	if w.Type != "" && w.Type != "error" {
		f.Type = w.Type
	}
	if code := scalar(w.Code); code != "" {
		f.Code = code
	}
	if status := scalar(w.Status); status != "" && f.Type == "" {
		f.Type = status // Google: RESOURCE_EXHAUSTED and the like
	}
	for _, d := range w.Details {
		if delay, err := time.ParseDuration(d.RetryDelay); err == nil && delay > 0 {
			f.RetryAfter = delay
		}
	}
	for _, inner := range [][]byte{w.Message, w.Detail, w.Error} {
		f.read(bytes.TrimSpace(inner), depth+1)
	}
	if f.Message == "" {
		f.Message = w.Msg
	}
	// A relay's own message says little; the upstream one stands in the metadata.
	if raw := strings.TrimSpace(w.Metadata.Raw); strings.HasPrefix(raw, "{") || strings.HasPrefix(raw, "[") {
		f.read([]byte(raw), depth+1)
	}
}

// scalar is a JSON string or number as text.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		return string(raw)
	}
	return ""
}

// clean makes a vendor's message fit for people: one line, no credentials, not
// a page, not a document.
func clean(msg string) string {
	msg = strings.TrimSpace(msg)
	if strings.HasPrefix(msg, "<") {
		return ""
	}
	if strings.HasPrefix(msg, "{") || strings.HasPrefix(msg, "[") {
		var f Failure
		f.read([]byte(msg), maxNesting-1)
		msg = f.Message
		if strings.HasPrefix(msg, "{") || strings.HasPrefix(msg, "[") {
			return ""
		}
	}
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(strings.Map(printable, logs.Redact(msg))) {
		size := len([]rune(word)) + 1
		if n += size; n > maxVendorText {
			if b.Len() == 0 {
				b.WriteString(string([]rune(word)[:maxVendorText-1]))
			}
			b.WriteString("…")
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
}

// printable turns control characters into spaces.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
		return ' '
	}
	return r
}

// efforts reads the levels that follow "supported values are:" in a message.
func efforts(msg string) []string {
	lower := strings.ToLower(msg)
	i := strings.Index(lower, "supported values are:")
	if i < 0 {
		return nil
	}
	var levels []string
	for _, w := range regexp.MustCompile(`[a-z]+`).FindAllString(lower[i+len("supported values are:"):], -1) {
		switch w {
		case "and", "or":
		case "none", "off", "minimal", "low", "medium", "high", "xhigh", "max":
			levels = append(levels, w)
		default:
			return levels
		}
	}
	return levels
}

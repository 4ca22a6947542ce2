package tool

import (
	"bytes"
	"encoding/json"
	"strings"

	"openclaw/internal/turn"
)

// Text returns a result of one text block.
func Text(text string) Result { return Result{Content: turn.Text(text)} }

// JSONResult returns v as indented JSON for the model and as details.
func JSONResult(v any) Result {
	data, err := marshal(v, "  ")
	if err != nil {
		return Result{Content: turn.Text("result has no JSON form: " + err.Error()), IsError: true}
	}
	return Result{Content: turn.Text(string(data)), Details: v}
}

// failure is the form in which a tool's own error reaches the model and the
// transcript. See docs/tools.md#failures.
type failure struct {
	Status string `json:"status"`
	Tool   string `json:"tool"`
	Error  string `json:"error"`
}

// Failure returns the result of a call that went wrong inside the named tool.
// Its IsError stays false, as in the transcripts of the reference; [Failed]
// knows it by its status.
func Failure(name string, err error) Result {
	return JSONResult(failure{Status: "error", Tool: name, Error: err.Error()})
}

// DetailsJSON encodes the details of r, nil for none.
func (r Result) DetailsJSON() (json.RawMessage, error) {
	switch d := r.Details.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return d, nil
	}
	return marshal(r.Details, "")
}

// Failed reports whether a result counts as an error, for events and summaries,
// and if so its first line: details that say so, or isError itself.
func Failed(isError bool, content turn.Content, details json.RawMessage) (text string, failed bool) {
	var d struct {
		Status  string `json:"status"`
		Error   any    `json:"error"`
		Message any    `json:"message"`
	}
	_ = json.Unmarshal(details, &d) // details of any other shape say nothing
	if !isError && d.Status != "error" && d.Status != "timeout" {
		return "", false
	}
	text, _ = d.Error.(string)
	if text == "" {
		text, _ = d.Message.(string)
	}
	if text == "" {
		text = content.Text()
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return cutChars(strings.TrimSpace(text), 400), true
}

// maxEventText is how much of a text block an event carries.
const maxEventText = 8000

// EventContent returns c as events carry it: long text cut, no image data.
func EventContent(c turn.Content) turn.Content {
	out := make(turn.Content, len(c))
	for i, b := range c {
		switch b.Type {
		case turn.BlockText:
			if cut := cutChars(b.Text, maxEventText); len(cut) < len(b.Text) {
				b.Text = cut + "\n…(truncated)…"
			}
		case turn.BlockImage:
			b.Bytes, b.Omitted = decodedLen(b.Data), true
			b.Data = ""
		}
		out[i] = b
	}
	return out
}

// decodedLen is the number of bytes that base64 text stands for.
func decodedLen(b64 string) int {
	return len(strings.TrimRight(b64, "=")) * 3 / 4
}

// cutChars returns the first n characters of s, counted as JavaScript does in
// UTF-16 units, so that limits agree with the reference; no pair is split.
func cutChars(s string, n int) string {
	if len(s) <= n {
		return s
	}
	units := 0
	for i, r := range s {
		units++
		if r > 0xFFFF {
			units++
		}
		if units > n {
			return s[:i]
		}
	}
	return s
}

// marshal is json.Marshal without HTML escaping; a non-empty indent spreads it
// over lines.
func marshal(v any, indent string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"openclaw/internal/schema"
)

// ArgumentError says what is wrong with the arguments of a call, in words for
// the model that wrote them.
//
// Before arguments are refused, what models commonly get wrong is corrected:
// numbers, booleans, arrays and objects written as strings, scalars where a
// string is due, one value where an array is due, null for an absent property.
type ArgumentError struct {
	Tool     string
	Problems []string // such as "command: must have required property 'command'"
	// Args is what was received, indented where it is JSON.
	Args string
}

func (e *ArgumentError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Validation failed for tool %q:\n", e.Tool)
	for _, p := range e.Problems {
		fmt.Fprintf(&b, "  - %s\n", p)
	}
	fmt.Fprintf(&b, "\nReceived arguments:\n%s", e.Args)
	return b.String()
}

// maxEcho bounds how much of bad arguments is shown to the model again.
const maxEcho = 4000

func newArgumentError(tool string, args json.RawMessage, err error) *ArgumentError {
	e := &ArgumentError{Tool: tool}
	var indented bytes.Buffer
	if json.Indent(&indented, bytes.TrimSpace(args), "", "  ") == nil {
		e.Args = indented.String()
	} else {
		e.Args = string(args)
	}
	if cut := cutChars(e.Args, maxEcho); len(cut) < len(e.Args) {
		e.Args = cut + "…"
	}
	var list *schema.Errors
	if !errors.As(err, &list) {
		e.Problems = []string{"root: " + err.Error()}
		return e
	}
	for _, p := range list.Problems {
		e.Problems = append(e.Problems, problem(p))
	}
	if list.More > 0 {
		e.Problems = append(e.Problems, fmt.Sprintf("root: %d more problems", list.More))
	}
	return e
}

func problem(p schema.Problem) string {
	at, message := strings.TrimPrefix(p.Pointer, "/"), p.Message
	if p.Unexpected != "" {
		message = fmt.Sprintf("unexpected property '%s'", p.Unexpected)
	}
	if at == "" {
		at = "root"
		if rest, ok := strings.CutPrefix(message, "must have required property '"); ok {
			at = strings.TrimSuffix(rest, "'")
		}
	}
	return at + ": " + message
}

// shape is the part of a JSON Schema that guides corrections.
type shape struct {
	Type       kinds            `json:"type"`
	Properties map[string]shape `json:"properties"`
	Items      *shape           `json:"items"`
	Required   []string         `json:"required"`
}

// kinds is a JSON Schema type: a name or several.
type kinds []string

func (k *kinds) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*k = kinds{""}
		return json.Unmarshal(data, &(*k)[0])
	}
	return json.Unmarshal(data, (*[]string)(k))
}

// correct rewrites data so that it fits schemaJSON where its author's intent is plain.
func correct(schemaJSON, data json.RawMessage) (json.RawMessage, bool) {
	var s shape
	if json.Unmarshal(schemaJSON, &s) != nil {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return nil, false
	}
	out, err := json.Marshal(s.fit(v))
	return out, err == nil
}

// fit returns v in the form that s wants, or v itself.
func (s shape) fit(v any) any {
	if len(s.Type) != 1 {
		return v
	}
	switch s.Type[0] {
	case "string":
		switch v := v.(type) {
		case json.Number:
			return v.String()
		case bool:
			return strconv.FormatBool(v)
		}
	case "number", "integer":
		if text, ok := v.(string); ok {
			if text = strings.TrimSpace(text); isNumber(text) {
				return json.Number(text)
			}
		}
	case "boolean":
		return fitBool(v)
	case "array":
		return s.fitArray(v)
	case "object":
		return s.fitObject(v)
	}
	return v
}

func fitBool(v any) any {
	switch x := v.(type) {
	case string:
		switch strings.ToLower(strings.TrimSpace(x)) {
		case "true", "1", "yes":
			return true
		case "false", "0", "no", "":
			return false
		}
	case json.Number:
		switch x {
		case "1":
			return true
		case "0":
			return false
		}
	}
	return v
}

func (s shape) fitArray(v any) any {
	list, ok := v.([]any)
	if !ok {
		if list, ok = decodeText(v, '[').([]any); !ok {
			if v == nil {
				return v
			}
			list = []any{v}
		}
	}
	if s.Items != nil {
		for i := range list {
			list[i] = s.Items.fit(list[i])
		}
	}
	return list
}

func (s shape) fitObject(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		if object, ok = decodeText(v, '{').(map[string]any); !ok {
			return v
		}
	}
	for name, sub := range s.Properties {
		value, present := object[name]
		switch {
		case !present:
		case value == nil:
			delete(object, name)
		default:
			object[name] = sub.fit(value)
		}
	}
	return object
}

// decodeText returns the JSON value inside the string v if it starts with open.
func decodeText(v any, open byte) any {
	text, ok := v.(string)
	if text = strings.TrimSpace(text); !ok || text == "" || text[0] != open {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var inner any
	if dec.Decode(&inner) != nil || dec.More() {
		return nil
	}
	return inner
}

func isNumber(s string) bool {
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return false
	}
	return json.Valid([]byte(s))
}

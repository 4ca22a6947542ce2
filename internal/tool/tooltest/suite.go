package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"openclaw/internal/tool"
	"openclaw/internal/turn"
)

// patience is how long a call may take that has nothing to do.
const patience = 10 * time.Second

// Run checks tools, which are called with arguments that are wrong or minimal.
// They should work in a folder of the test's own.
func Run(t *testing.T, tools []tool.Tool) {
	t.Helper()
	names := map[string]bool{}
	for _, tl := range tools {
		s := tl.Spec()
		if names[s.Name] {
			t.Errorf("two tools are named %s", s.Name)
		}
		names[s.Name] = true
		t.Run(s.Name, func(t *testing.T) {
			checkSpec(t, s)
			checkArguments(t, tl)
			checkEnded(t, tl)
		})
	}
}

func checkSpec(t *testing.T, s tool.Spec) {
	if s.Name == "" || s.Name != strings.ToLower(s.Name) || strings.ContainsAny(s.Name, " -*:") {
		t.Errorf("name %q is not a plain lower-case word", s.Name)
	}
	if s.Label == "" || s.Description == "" || s.Summary == "" || strings.Contains(s.Summary, "\n") {
		t.Errorf("spec = %+v, want a label, a description and a summary of one line", s)
	}
	var schema map[string]any
	if err := json.Unmarshal(s.Parameters, &schema); err != nil || schema["type"] != "object" || schema["$schema"] != nil {
		t.Errorf("parameters = %s, %v, want a schema of an object without $schema", s.Parameters, err)
	}
}

func checkArguments(t *testing.T, tl tool.Tool) {
	for _, args := range []string{"", "{}", "[]", "7", `"text"`, "{", "null", `{"unknown":{"a":[1,2]}}`, `{"path":{},"command":[[1]],"action":{}}`} {
		// An update function is set by the agent; a tool must also live without one.
		res, err := tl.Execute(t.Context(), tool.Call{ID: "call", Args: json.RawMessage(args)})
		var bad *tool.ArgumentError
		switch {
		case errors.As(err, &bad):
			if len(bad.Problems) == 0 || bad.Tool != tl.Spec().Name {
				t.Errorf("Execute(%s) = %+v, want the tool and its problems", args, bad)
			}
		case err != nil:
			t.Errorf("Execute(%s) = %v, want a result or an argument error", args, err)
		default:
			checkResult(t, args, res)
		}
		if d, ok := tl.(tool.Describer); ok {
			d.Describe(json.RawMessage(args))
		}
	}
}

func checkResult(t *testing.T, args string, res tool.Result) {
	if len(res.Content) == 0 {
		t.Errorf("Execute(%s) answers nothing", args)
	}
	for _, b := range res.Content {
		if b.Type != turn.BlockText && b.Type != turn.BlockImage {
			t.Errorf("Execute(%s) answers with a block %q, want text and images", args, b.Type)
		}
	}
	details, err := res.DetailsJSON()
	if err != nil || details != nil && !json.Valid(details) {
		t.Errorf("Execute(%s): details = %s, %v, want JSON", args, details, err)
	}
}

func checkEnded(t *testing.T, tl tool.Tool) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	_, _ = tl.Execute(ctx, tool.Call{ID: "call", Args: json.RawMessage(`{"path":"x","content":"y","command":"true","action":"list"}`)})
	if took := time.Since(start); took > patience {
		t.Errorf("Execute with an ended context took %v", took)
	}
}

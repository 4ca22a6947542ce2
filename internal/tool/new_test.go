package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/turn"
)

type params struct {
	_ struct{} `schema:"open"`

	Command string         `json:"command" jsonschema:"what to run"`
	Limit   float64        `json:"limit,omitempty"`
	Count   *int           `json:"count,omitempty"`
	Fast    *bool          `json:"fast,omitempty"`
	Keys    []string       `json:"keys,omitempty"`
	Env     map[string]any `json:"env,omitempty"`
	Mode    string         `json:"mode,omitempty" schema:"enum=a|b"`
}

func (p params) Meta() string { return "runs " + p.Command }

func echo(t *testing.T, got *params) Tool {
	t.Helper()
	return New(Spec{Name: "exec"}, func(_ context.Context, _ Call, p params) (Result, error) {
		*got = p
		return Text("ok"), nil
	})
}

func TestNewSpec(t *testing.T) {
	var p params
	want := `{"type":"object","properties":{"command":{"type":"string","description":"what to run"},"limit":{"type":"number"},` +
		`"count":{"type":"integer"},"fast":{"type":"boolean"},"keys":{"type":"array","items":{"type":"string"}},` +
		`"env":{"type":"object","additionalProperties":true},"mode":{"type":"string","enum":["a","b"]}},"required":["command"]}`
	var got, expected any
	if err := json.Unmarshal(echo(t, &p).Spec().Parameters, &got); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(want), &expected)
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("parameters (-want +got):\n%s\n%s", diff, echo(t, &p).Spec().Parameters)
	}
}

// What models get wrong is corrected before it is refused.
func TestArgumentsAreCorrected(t *testing.T) {
	tests := []struct {
		args string
		want params
	}{
		{`{"command":"ls"}`, params{Command: "ls"}},
		{`{"command":"ls","unknown":1}`, params{Command: "ls"}},
		{`{"command":"ls","limit":" 2.5 ","count":"3"}`, params{Command: "ls", Limit: 2.5, Count: new(3)}},
		{`{"command":42,"fast":"true"}`, params{Command: "42", Fast: new(true)}},
		{`{"command":"ls","fast":0}`, params{Command: "ls", Fast: new(false)}},
		{`{"command":"ls","limit":null,"keys":null,"mode":null}`, params{Command: "ls"}},
		{`{"command":"ls","keys":"C-c"}`, params{Command: "ls", Keys: []string{"C-c"}}},
		{`{"command":"ls","keys":"[\"a\",1]"}`, params{Command: "ls", Keys: []string{"a", "1"}}},
		{`{"command":"ls","env":"{\"A\":\"b\"}"}`, params{Command: "ls", Env: map[string]any{"A": "b"}}},
		{`"{\"command\":\"ls\"}"`, params{Command: "ls"}},
	}
	for _, tt := range tests {
		var got params
		if _, err := echo(t, &got).Execute(t.Context(), Call{Args: json.RawMessage(tt.args)}); err != nil {
			t.Errorf("Execute(%s) = %v, want it corrected", tt.args, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b struct{}) bool { return true }), cmp.AllowUnexported(params{})); diff != "" {
			t.Errorf("arguments of %s (-want +got):\n%s", tt.args, diff)
		}
	}
}

// Invalid arguments name the problems and what was received; see 11.4 of the runtime notes.
func TestArgumentError(t *testing.T) {
	tests := []struct{ args, want string }{
		{`{}`, "Validation failed for tool \"exec\":\n  - command: must have required property 'command'\n\nReceived arguments:\n{}"},
		{``, "Validation failed for tool \"exec\":\n  - command: must have required property 'command'\n\nReceived arguments:\n"},
		{`{"command":["x"],"limit":"many"}`, "Validation failed for tool \"exec\":\n  - command: must be string\n  - limit: must be number\n\n" +
			"Received arguments:\n{\n  \"command\": [\n    \"x\"\n  ],\n  \"limit\": \"many\"\n}"},
		{`{"command":"x","mode":"c"}`, "Validation failed for tool \"exec\":\n  - mode: must be one of a, b\n\nReceived arguments:\n{\n  \"command\": \"x\",\n  \"mode\": \"c\"\n}"},
	}
	for _, tt := range tests {
		var p params
		_, err := echo(t, &p).Execute(t.Context(), Call{Args: json.RawMessage(tt.args)})
		var bad *ArgumentError
		if !errors.As(err, &bad) {
			t.Errorf("Execute(%s) = %v, want an *ArgumentError", tt.args, err)
			continue
		}
		if diff := cmp.Diff(tt.want, bad.Error()); diff != "" {
			t.Errorf("error of %s (-want +got):\n%s", tt.args, diff)
		}
	}
	for _, broken := range []string{`{"command":`, `[1]`, `7`, `"plain"`, "\xff"} {
		var p params
		_, err := echo(t, &p).Execute(t.Context(), Call{Args: json.RawMessage(broken)})
		var bad *ArgumentError
		if !errors.As(err, &bad) || len(bad.Problems) == 0 {
			t.Errorf("Execute(%s) = %v, want an *ArgumentError with a problem", broken, err)
		}
	}
	_, err := echo(t, new(params)).Execute(t.Context(), Call{Args: json.RawMessage(`{"mode":"` + strings.Repeat("x", 9000) + `"}`)})
	if n := len(err.Error()); n > 5000 {
		t.Errorf("error of long arguments has %d bytes, want them cut", n)
	}
}

func TestExecuteErrors(t *testing.T) {
	boom := errors.New("it <broke> & burned")
	tool := New(Spec{Name: "exec"}, func(ctx context.Context, call Call, p params) (Result, error) {
		call.Update(Text("still here")) // never nil
		return Result{}, boom
	})
	call := Call{Args: json.RawMessage(`{"command":"x"}`)}
	got, err := tool.Execute(t.Context(), call)
	if err != nil {
		t.Fatalf("Execute = %v, want the failure as a result", err)
	}
	want := "{\n  \"status\": \"error\",\n  \"tool\": \"exec\",\n  \"error\": \"it <broke> & burned\"\n}"
	if diff := cmp.Diff(want, got.Content.Text()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	details, err := got.DetailsJSON()
	if want := `{"status":"error","tool":"exec","error":"it <broke> & burned"}`; string(details) != want || err != nil {
		t.Errorf("details = %s, %v, want %s", details, err, want)
	}
	if text, failed := Failed(got.IsError, got.Content, details); !failed || text != boom.Error() {
		t.Errorf("Failed = %q, %v, want %q, true", text, failed, boom.Error())
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tool.Execute(ctx, call); !errors.Is(err, boom) {
		t.Errorf("Execute with an ended context = %v, want the error itself", err)
	}
}

func TestDescribe(t *testing.T) {
	var p params
	d, ok := echo(t, &p).(Describer)
	if !ok {
		t.Fatal("a tool whose parameters have Meta has no Describe")
	}
	if got := d.Describe(json.RawMessage(`{"command":"ls"}`)); got != "runs ls" {
		t.Errorf("Describe = %q, want %q", got, "runs ls")
	}
	if got := d.Describe(json.RawMessage(`{}`)); got != "" {
		t.Errorf("Describe of bad arguments = %q, want nothing", got)
	}
}

func TestNewPanicsWithoutSchema(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New of a type without JSON form did not panic")
		}
	}()
	New(Spec{Name: "x"}, func(context.Context, Call, func()) (Result, error) { return Result{}, nil })
}

func TestOwnParameters(t *testing.T) {
	tool := New(Spec{Name: "x", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)},
		func(_ context.Context, _ Call, p map[string]any) (Result, error) { return JSONResult(p), nil })
	got, err := tool.Execute(t.Context(), Call{Args: json.RawMessage(`{"n":"4"}`)})
	if err != nil || got.Content.Text() != "{\n  \"n\": 4\n}" {
		t.Errorf("Execute = %q, %v, want n as a number", got.Content.Text(), err)
	}
	if _, err := tool.Execute(t.Context(), Call{}); err == nil {
		t.Error("Execute without n = nil, want an error")
	}
}

func TestNeed(t *testing.T) {
	if got, err := Need("path", "", "  ", " a b "); got != "a b" || err != nil {
		t.Errorf("Need = %q, %v, want the first value, trimmed", got, err)
	}
	if _, err := Need("path", " "); err == nil || err.Error() != "path required" {
		t.Errorf("Need of nothing = %v, want %q", err, "path required")
	}
}

func TestFailed(t *testing.T) {
	long := strings.Repeat("é", 500)
	tests := []struct {
		name    string
		isError bool
		text    string
		details string
		want    string
		failed  bool
	}{
		{"fine", false, "text", `{"status":"completed"}`, "", false},
		{"no details", false, "text", ``, "", false},
		{"status error", false, "text", `{"status":"error","error":"first\nsecond"}`, "first", true},
		{"status timeout", false, "text", `{"status":"timeout","message":"too slow"}`, "too slow", true},
		{"isError without details", true, "\n Tool x not found \nmore", `{}`, "Tool x not found", true},
		{"details of another shape", true, "text", `[1]`, "text", true},
		{"error of another shape", false, "text", `{"status":"error","error":{"code":1}}`, "text", true},
		{"cut", true, long, ``, strings.Repeat("é", 400), true},
	}
	for _, tt := range tests {
		got, failed := Failed(tt.isError, turn.Text(tt.text), json.RawMessage(tt.details))
		if got != tt.want || failed != tt.failed {
			t.Errorf("%s: Failed = %q, %v, want %q, %v", tt.name, got, failed, tt.want, tt.failed)
		}
	}
}

// Events cut text at 8000 characters and carry no image data.
func TestEventContent(t *testing.T) {
	exact := strings.Repeat("x", 8000)
	emoji := strings.Repeat("😀", 4001) // two UTF-16 units each
	in := turn.Content{
		{Type: turn.BlockText, Text: exact},
		{Type: turn.BlockText, Text: exact + "y"},
		{Type: turn.BlockText, Text: emoji},
		{Type: turn.BlockImage, MimeType: "image/png", Data: "aGVsbG8="},
	}
	want := turn.Content{
		{Type: turn.BlockText, Text: exact},
		{Type: turn.BlockText, Text: exact + "\n…(truncated)…"},
		{Type: turn.BlockText, Text: strings.Repeat("😀", 4000) + "\n…(truncated)…"},
		{Type: turn.BlockImage, MimeType: "image/png", Bytes: 5, Omitted: true},
	}
	if diff := cmp.Diff(want, EventContent(in)); diff != "" {
		t.Errorf("EventContent (-want +got):\n%s", diff)
	}
	if in[3].Data == "" {
		t.Error("EventContent changed its argument")
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, `{"command":"x","keys":"[1]","env":"{}"}`, `"{\"command\":1}"`, `[`, `{"limit":"1e999"}`, `{"command":"a","command":2}`} {
		f.Add([]byte(s))
	}
	tool := New(Spec{Name: "exec"}, func(_ context.Context, _ Call, p params) (Result, error) {
		return JSONResult(p), nil
	})
	f.Fuzz(func(t *testing.T, args []byte) {
		got, err := tool.Execute(t.Context(), Call{Args: args})
		var bad *ArgumentError
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("Execute(%q) = %v, want nil or an *ArgumentError", args, err)
		}
		if err == nil && !json.Valid([]byte(got.Content.Text())) {
			t.Fatalf("Execute(%q) = %q, want JSON", args, got.Content.Text())
		}
	})
}

func BenchmarkExecute(b *testing.B) {
	tool := New(Spec{Name: "exec"}, func(context.Context, Call, params) (Result, error) { return Result{}, nil })
	call := Call{Args: json.RawMessage(`{"command":"echo one; echo two","limit":10}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tool.Execute(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNew is what each tool costs a run when its list is built.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		New(Spec{Name: "exec"}, func(context.Context, Call, params) (Result, error) { return Result{}, nil })
	}
}

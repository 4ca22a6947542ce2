package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"openclaw/internal/schema"
)

// New returns the tool that calls fn. The parameter schema is that of P, a
// struct with the tags of package schema, unless spec.Parameters is set. Unknown
// properties are ignored; see [ArgumentError] for what is corrected.
//
// An error of fn becomes a [Failure], which the model reads as any other
// result. Execute itself returns an error only for bad arguments, an
// [*ArgumentError], and when ctx has ended.
//
// A P with the method Meta() string also gives the tool the power [Describer].
// New panics if P has no schema, which is a mistake of the programmer.
func New[P any](spec Spec, fn func(context.Context, Call, P) (Result, error)) Tool {
	s, err := schema.For[P]()
	if spec.Parameters != nil {
		s, err = schema.Parse(spec.Parameters)
	} else if err == nil {
		spec.Parameters, err = parametersOf(reflect.TypeFor[P](), s)
	}
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", spec.Name, err))
	}
	return &typed[P]{spec: spec, schema: s, fn: fn}
}

// written holds the parameter schemas by Go type, beside the cache of package
// schema: a tool is made anew for every run, its schema is not.
var written sync.Map // reflect.Type to json.RawMessage

func parametersOf(t reflect.Type, s *schema.Schema) (json.RawMessage, error) {
	if p, ok := written.Load(t); ok {
		return p.(json.RawMessage), nil
	}
	p, err := s.JSON()
	if err == nil {
		written.Store(t, p)
	}
	return p, err
}

// Describer is an extra power of a [Tool]: a short line that tells people what
// a call is about, such as the path or the command. Bad arguments give "".
type Describer interface {
	Describe(args json.RawMessage) string
}

type typed[P any] struct {
	spec   Spec
	schema *schema.Schema
	fn     func(context.Context, Call, P) (Result, error)
}

func (t *typed[P]) Spec() Spec { return t.spec }

func (t *typed[P]) Execute(ctx context.Context, call Call) (Result, error) {
	params, err := t.params(call.Args)
	if err != nil {
		return Result{}, err
	}
	if call.Update == nil {
		call.Update = func(Result) {}
	}
	result, err := t.fn(ctx, call, params)
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return Result{}, err
	}
	return Failure(t.spec.Name, err), nil
}

func (t *typed[P]) Describe(args json.RawMessage) string {
	params, err := t.params(args)
	if err != nil {
		return ""
	}
	if d, ok := any(params).(interface{ Meta() string }); ok {
		return d.Meta()
	}
	return ""
}

// params checks and decodes the arguments; those that do not fit as they are
// get a second chance in corrected form.
func (t *typed[P]) params(args json.RawMessage) (P, error) {
	var params P
	data := args
	if len(bytes.TrimSpace(data)) == 0 {
		data = json.RawMessage("{}")
	}
	err := t.schema.Validate(data)
	if err != nil {
		if corrected, ok := correct(t.spec.Parameters, data); ok {
			data, err = corrected, t.schema.Validate(corrected)
		}
	}
	if err == nil {
		err = json.Unmarshal(data, &params)
	}
	if err != nil {
		return params, newArgumentError(t.spec.Name, args, err)
	}
	return params, nil
}

// Need returns the first of values that is not blank, trimmed. With none the
// error is "<name> required". It serves parameters that have aliases.
func Need(name string, values ...string) (string, error) {
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" {
			return v, nil
		}
	}
	return "", fmt.Errorf("%s required", name)
}

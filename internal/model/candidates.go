package model

import (
	"fmt"
	"slices"
	"strings"
)

// Route describes a request whose fallbacks are wanted.
type Route struct {
	Requested Ref
	Primary   Ref // the configured primary
	// Fallbacks in order. Explicit says that they were given for this agent,
	// an empty list included, rather than taken from the defaults.
	Fallbacks []Ref
	Explicit  bool
	// Allowed filters the fallbacks; nil allows all.
	Allowed func(Ref) bool
}

// Candidates lists the models to try in order, each once: the requested one, the
// allowed fallbacks, and the primary when the request overrode it without
// fallbacks of its own. See agent-runtime 18.6.
func (r Route) Candidates() []Ref {
	list := []Ref{r.Requested}
	add := func(ref Ref) {
		if !ref.IsZero() && !slices.Contains(list, ref) {
			list = append(list, ref)
		}
	}
	for _, f := range r.Fallbacks {
		if r.Allowed == nil || r.Allowed(f) {
			add(f)
		}
	}
	if r.Requested != r.Primary && !r.Explicit {
		add(r.Primary)
	}
	return list
}

// Candidates lists the models to try for a request: text is a ref, an alias or
// empty; fallbacks are those of the agent, nil for the defaults. Fallbacks that
// name no model are left out.
func (d *Directory) Candidates(text string, fallbacks []string) ([]Ref, error) {
	s := d.cfg.Settings()
	route := Route{Primary: d.Default(), Explicit: fallbacks != nil, Allowed: d.Allowed}
	route.Requested = route.Primary
	if strings.TrimSpace(text) != "" {
		var err error
		if route.Requested, err = ParseRef(text, s.Aliases); err != nil {
			return nil, err
		}
	}
	if fallbacks == nil {
		fallbacks = s.Fallbacks
	}
	for _, f := range fallbacks {
		if ref, err := ParseRef(f, s.Aliases); err == nil {
			route.Fallbacks = append(route.Fallbacks, ref)
		}
	}
	if route.Requested == OfflineRef() {
		return []Ref{route.Requested}, nil // nothing to fall back from
	}
	return route.Candidates(), nil
}

// HasFallbacks reports whether fallbacks are configured, by the agent's list or,
// if that is nil, by the defaults. See agent-runtime 11.2: without them the error
// of a model that was asked is the answer.
func (d *Directory) HasFallbacks(fallbacks []string) bool {
	if fallbacks == nil {
		fallbacks = d.cfg.Settings().Fallbacks
	}
	return len(fallbacks) > 0
}

// Attempt is one candidate that failed.
type Attempt struct {
	Ref Ref
	Err error
}

// AllFailed joins the failures of all candidates into one error. A single
// candidate's own error is returned as it is; none gives nil.
func AllFailed(attempts []Attempt) error {
	switch len(attempts) {
	case 0:
		return nil
	case 1:
		return attempts[0].Err
	}
	parts := make([]string, len(attempts))
	for i, a := range attempts {
		parts[i] = fmt.Sprintf("%s: %v (%s)", a.Ref, a.Err, KindOf(a.Err).reason())
	}
	last := attempts[len(attempts)-1]
	return &Error{Kind: KindOf(last.Err), Ref: last.Ref, Err: last.Err,
		Text: fmt.Sprintf("All models failed (%d): %s", len(attempts), strings.Join(parts, " | "))}
}

// reason is the failover class of a kind. See agent-runtime 18.5.
func (k Kind) reason() string {
	switch k {
	case KindRateLimit, KindOverloaded:
		return "rate_limit"
	case KindNetwork:
		return "timeout"
	case KindAuth, KindBilling, KindTimeout, KindFormat:
		return string(k)
	}
	return "unknown"
}

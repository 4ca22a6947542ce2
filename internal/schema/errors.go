package schema

import (
	"errors"
	"fmt"
	"strings"
)

// ErrSyntax is returned, wrapped, for input that is not JSON at all.
var ErrSyntax = errors.New("not valid JSON")

// Problem is one thing wrong with a JSON value.
type Problem struct {
	// Pointer is the JSON pointer of the value, empty at the root.
	Pointer string
	// Message says what is wrong, such as "must be string".
	Message string
	// Unexpected is the name of a key that is not allowed; Message is then empty.
	Unexpected string
}

// String returns the text of p as clients of the gateway see it.
func (p Problem) String() string {
	switch {
	case p.Unexpected != "" || p.Message == "":
		at := p.Pointer
		if at == "" {
			at = "root"
		}
		return fmt.Sprintf("at %s: unexpected property '%s'", at, cut(p.Unexpected))
	case p.Pointer == "":
		return p.Message
	default:
		return "at " + cut(p.Pointer) + ": " + p.Message
	}
}

// Errors is everything that is wrong with a JSON value, in the order in which
// clients know it: by object, missing keys first, then unexpected ones.
type Errors struct {
	Problems []Problem
	// More counts problems that were found after the list was full.
	More int
}

// maxProblems bounds an answer to a hostile message.
const maxProblems = 100

// Error joins the distinct problems with "; ".
func (e *Errors) Error() string {
	parts := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		parts = append(parts, p.String())
	}
	if e.More > 0 {
		parts = append(parts, fmt.Sprintf("%d more problems", e.More))
	}
	return strings.Join(parts, "; ")
}

// add keeps p unless it is already there.
func (e *Errors) add(p Problem) {
	for _, q := range e.Problems {
		if q == p {
			return
		}
	}
	if len(e.Problems) >= maxProblems {
		e.More++
		return
	}
	e.Problems = append(e.Problems, p)
}

func (e *Errors) none() bool { return len(e.Problems) == 0 }

func (e *Errors) merge(other *Errors) {
	for _, p := range other.Problems {
		e.add(p)
	}
	e.More += other.More
}

// cut bounds text that the sender chose.
func cut(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

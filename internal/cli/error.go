package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// Error is a failure as a person should read it: one line, then what to try.
type Error struct {
	Text string
	// Details are printed as they are, indented, below the line.
	Details []string
	// Hints say what to type or to do next.
	Hints []string
	// Code is the exit code; zero means 1.
	Code int
	// Quiet is set when the command has already said everything.
	Quiet bool
	Err   error
}

func (e *Error) Error() string {
	switch {
	case e.Err == nil:
		return e.Text
	case e.Text == "":
		return e.Err.Error()
	}
	return e.Text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Fail returns an [*Error] with the given line and hints.
func Fail(text string, hints ...string) error { return &Error{Text: text, Hints: hints} }

// Failf is [Fail] with a formatted line and no hints.
func Failf(format string, args ...any) error { return &Error{Text: fmt.Sprintf(format, args...)} }

// Hint adds what to try next to err; nil stays nil.
func Hint(err error, hints ...string) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) && err == error(e) {
		c := *e
		c.Hints = append(append([]string(nil), e.Hints...), hints...)
		return &c
	}
	return &Error{Err: err, Hints: hints}
}

// Exit ends a command with code without printing anything more.
func Exit(code int) error { return &Error{Text: fmt.Sprintf("exit %d", code), Code: code, Quiet: true} }

// Interrupted is the cause of a context that a signal ended.
type Interrupted struct{ Signal os.Signal }

func (i Interrupted) Error() string { return "interrupted by " + i.Signal.String() }

// ExitCode maps an error to the process exit code: 0 for nil, 130 and 143 for
// SIGINT and SIGTERM, the error's own code, else 1.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	var in Interrupted
	if errors.As(err, &in) {
		return signalCode(in.Signal)
	}
	var e *Error
	if errors.As(err, &e) && e.Code != 0 {
		return e.Code
	}
	return 1
}

func signalCode(sig os.Signal) int {
	if sig == syscall.SIGTERM {
		return 143
	}
	return 130
}

// Cause replaces err by the signal that ended ctx, if one did; a command that
// was interrupted reports that and not the errors the interruption caused.
func Cause(ctx context.Context, err error) error {
	var in Interrupted
	if err != nil && errors.As(context.Cause(ctx), &in) {
		return in
	}
	return err
}

// Report prints err in the voice of the command line. Interruptions and quiet
// errors print nothing.
func Report(w io.Writer, program string, err error) {
	if err == nil || errors.As(err, new(Interrupted)) {
		return
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{}
	}
	if e.Quiet {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", program, strings.TrimSpace(err.Error()))
	for _, d := range e.Details {
		fmt.Fprintf(&b, "  %s\n", d)
	}
	for _, h := range e.Hints {
		fmt.Fprintf(&b, "  hint: %s\n", h)
	}
	_, _ = io.WriteString(w, b.String()) // nothing is left to tell it to
}

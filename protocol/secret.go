package protocol

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a credential. It travels as a plain JSON string but never prints
// itself: every fmt verb and slog show a placeholder. Convert it to string to
// use it.
type Secret string

const hidden = "[secret]"

// Format implements fmt.Formatter for all verbs.
func (s Secret) Format(f fmt.State, _ rune) {
	if s == "" {
		return
	}
	_, _ = io.WriteString(f, hidden)
}

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(s)) }

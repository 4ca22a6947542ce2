package byo

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// FieldError says which field of a message is wrong, and how. Its text never
// holds what was sent.
type FieldError struct {
	Field   string
	Problem string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + " " + e.Problem }

func fieldf(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// CheckUUID accepts a UUID of any version in its usual form of 36 characters.
func CheckUUID(field, s string) error {
	if len(s) != 36 {
		return &FieldError{Field: field, Problem: "must be a UUID"}
	}
	for i := range len(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !hexDigit(s[i]) {
			return &FieldError{Field: field, Problem: "must be a UUID"}
		}
	}
	return nil
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// CheckID accepts 1 to limit characters of A-Z a-z 0-9 . _ : -
func CheckID(field, s string, limit int) error {
	if s == "" || len(s) > limit || !only(s, "._:-") {
		return fieldf(field, "must have 1 to %d characters of A-Z a-z 0-9 . _ : -", limit)
	}
	return nil
}

// CheckSessionID accepts a session id as the relay topology and our own desktop
// write it. The direct topology takes any 1 to 128 characters from others.
func CheckSessionID(s string) error { return CheckID("session_id", s, MaxSessionID) }

// CheckMeta accepts a metadata value of an envelope: at most 200 characters of
// A-Z a-z 0-9 . _ : + - so that no two languages escape it differently. The
// empty text is no such value.
func CheckMeta(field, s string) error {
	if s == "" || len(s) > MaxMeta || !only(s, "._:+-") {
		return fieldf(field, "must have 1 to %d characters of A-Z a-z 0-9 . _ : + -", MaxMeta)
	}
	return nil
}

// CheckLabel accepts a short text for people: no control characters.
func CheckLabel(field, s string) error {
	if !utf8.ValidString(s) || utf8.RuneCountInString(s) > MaxLabel || strings.ContainsFunc(s, unicode.IsControl) {
		return fieldf(field, "must have at most %d printable characters", MaxLabel)
	}
	return nil
}

// CheckProviderKind accepts a lower-case name of 2 to 32 characters.
func CheckProviderKind(s string) error {
	ok := len(s) >= 2 && len(s) <= 32 && s[0] >= 'a' && s[0] <= 'z'
	for i := range len(s) {
		c := s[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	}
	if !ok {
		return &FieldError{Field: "provider_kind", Problem: "must match ^[a-z][a-z0-9_-]{1,31}$"}
	}
	return nil
}

// only reports whether s has ASCII letters, digits and the extra ones only.
func only(s, extra string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(extra, c) >= 0) {
			return false
		}
	}
	return true
}

// FormatTime writes a time as this wire does: RFC 3339, UTC, milliseconds when
// there are any.
func FormatTime(t time.Time) string {
	t = t.UTC().Truncate(time.Millisecond)
	if t.Nanosecond() == 0 {
		return t.Format("2006-01-02T15:04:05Z")
	}
	return t.Format("2006-01-02T15:04:05.000Z")
}

// ParseTime reads an RFC 3339 time.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, &FieldError{Field: "time", Problem: "must be an RFC 3339 time"}
	}
	return t, nil
}

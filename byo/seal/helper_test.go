package seal

import (
	"io"
	"testing"
	"time"

	"openclaw/byo"
)

func headerOf(e byo.Envelope) Header {
	return Header{MessageID: e.MessageID, SessionID: e.SessionID, CorrelationID: e.CorrelationID, ContentType: e.ContentType,
		JobID: e.JobID, Purpose: e.Purpose, DeadlineAt: e.DeadlineAt}
}

func bindingOf(e byo.Envelope) Binding {
	return Binding{JobID: e.JobID, Purpose: e.Purpose, DeadlineAt: e.DeadlineAt, ContentType: e.ContentType}
}

// clock stands still.
func clock(t testing.TB, at string) func() time.Time {
	t.Helper()
	now, err := time.Parse(time.RFC3339, at)
	if err != nil {
		t.Fatal(err)
	}
	return func() time.Time { return now }
}

// count is a random source that is none: it counts up from a byte.
type count byte

func counting(from byte) io.Reader { c := count(from); return &c }

func (c *count) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(*c)
		*c++
	}
	return len(p), nil
}

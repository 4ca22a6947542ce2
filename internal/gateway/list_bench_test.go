package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"openclaw/internal/session"
	"openclaw/protocol"
)

// manySessions fills the store of a house with n sessions and their transcripts.
func manySessions(tb testing.TB, h *house, n int) {
	tb.Helper()
	st := h.store()
	text := `{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}` + "\n"
	for i := range 50 {
		text += fmt.Sprintf(`{"type":"message","id":"%08x","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"question %d %s"}],"timestamp":1}}`+"\n", 2*i, i, strings.Repeat("x", 300))
		text += fmt.Sprintf(`{"type":"message","id":"%08x","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"answer %d %s"}],"timestamp":1}}`+"\n", 2*i+1, i, strings.Repeat("y", 300))
	}
	if err := os.MkdirAll(st.Dir(), 0o700); err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		id := fmt.Sprintf("session-%d", i)
		if err := os.WriteFile(filepath.Join(st.Dir(), id+".jsonl"), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
		_, err := st.Update(tb.Context(), fmt.Sprintf("agent:main:session-%d", i), func(e *session.Entry) error {
			e.SessionID, e.UpdatedAt, e.Channel = id, int64(1_000_000+i), "webchat"
			e.InputTokens, e.OutputTokens, e.TotalTokens = new(100), new(10), new(100)
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkSessionsList lists 5,000 sessions the ways clients do. How to profile
// it stands in docs/performance.md.
func BenchmarkSessionsList(b *testing.B) {
	h := newHouse(b, "")
	manySessions(b, h, 5000)
	for _, bm := range []struct {
		name string
		p    protocol.SessionsListParams
	}{
		{"all", protocol.SessionsListParams{}},
		{"newest-50", protocol.SessionsListParams{Limit: new(50)}},
		{"search", protocol.SessionsListParams{Search: "session-4321"}},
		{"newest-50-with-texts", protocol.SessionsListParams{Limit: new(50), IncludeDerivedTitles: true, IncludeLastMessage: true}},
		{"all-with-texts", protocol.SessionsListParams{IncludeDerivedTitles: true, IncludeLastMessage: true}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := h.g.sessionsList(b.Context(), nil, &bm.p)
				if err != nil {
					b.Fatal(err)
				}
				data, err := encodePayload(res)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(data)))
			}
		})
	}
}

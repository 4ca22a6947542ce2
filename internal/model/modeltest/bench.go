package modeltest

import (
	"net/http/httptest"
	"testing"

	"openclaw/internal/mockllm"
	"openclaw/internal/model"
)

// Bench measures one call against a server that answers at once, and the cost
// of a streamed word.
func Bench(b *testing.B, open func(target model.Target) (model.Model, error), target model.Target) {
	for _, c := range []struct{ name, ask string }{{"call", "say hello there"}, {"1000 words", "long 1000"}} {
		b.Run(c.name, func(b *testing.B) {
			h := httptest.NewServer(mockllm.New(mockllm.Config{ChunkSize: 6}))
			defer h.Close()
			t := target
			t.BaseURL = h.URL + target.BaseURL
			m, err := open(t)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range m.Stream(b.Context(), ask(c.ask)) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

package protocol_test

import (
	"testing"

	"openclaw/internal/schema"
	"openclaw/protocol"
)

// The decoding that every request pays.
func BenchmarkDecode(b *testing.B) {
	frame := []byte(`{"type":"req","id":"c12","method":"health","params":{"probe":false}}`)
	agent := []byte(`{"message":"hello there","agentId":"main","sessionKey":"main","idempotencyKey":"6f1c2a9e","timeout":60}`)
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var req protocol.Request
			if err := schema.Decode(frame, &req); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("agent", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var p protocol.AgentParams
			if err := schema.Decode(agent, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

package jetstream_test

import (
	"testing"
	"time"

	"openclaw/internal/relay"
	"openclaw/internal/relay/jetstream"
	"openclaw/internal/relay/relaytest"
	"openclaw/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func open(t testing.TB, cfg jetstream.Config) *jetstream.Broker {
	t.Helper()
	b, err := jetstream.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return b
}

func TestEmbedded(t *testing.T) {
	relaytest.Run(t, func(t *testing.T, _ func() time.Time) []relay.Broker {
		b := open(t, jetstream.Config{Dir: t.TempDir()})
		return []relay.Broker{b, b}
	})
}

package relay_test

import (
	"testing"
	"time"

	"openclaw/internal/relay"
	"openclaw/internal/relay/relaytest"
	"openclaw/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestMemory(t *testing.T) {
	relaytest.Run(t, func(_ *testing.T, now func() time.Time) []relay.Broker {
		m := relay.NewMemory(now)
		return []relay.Broker{m, m}
	})
}

package jetstream_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"openclaw/internal/relay"
	"openclaw/internal/relay/jetstream"
	"openclaw/internal/relay/jetstream/jetstreamtest"
	"openclaw/internal/relay/relaytest"
)

// start runs servers on loopback, as a cluster when there are several.
func start(t *testing.T, n int) (servers []*server.Server, urls string) {
	t.Helper()
	all, err := jetstreamtest.Start(t.TempDir(), n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = all.Close() }) // it gives no error
	return all.List, all.URLs
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// until waits for what the servers do among themselves.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("%s did not happen", what)
		}
	}
}

func TestExternal(t *testing.T) {
	relaytest.Run(t, func(t *testing.T, _ func() time.Time) []relay.Broker {
		_, urls := start(t, 1)
		cfg := jetstream.Config{URL: urls, Replicas: 1}
		return []relay.Broker{open(t, cfg), open(t, cfg)}
	})
}

// SW-25, SW-30: a cluster of three servers, the relay's nodes on different ones.
// When one dies nothing is lost: jobs are created, delivered and completed on.
func TestCluster(t *testing.T) {
	servers, urls := start(t, 3)
	until(t, "the election of a leader", func() bool {
		for _, s := range servers {
			if s.JetStreamIsLeader() {
				return true
			}
		}
		return false
	})
	var brokers []relay.Broker
	for i := range 2 {
		list := strings.Split(urls, ",")
		brokers = append(brokers, open(t, jetstream.Config{URL: list[i] + "," + list[2]}))
	}
	relaytest.Cluster(t, brokers, func() {
		servers[0].Shutdown()
		servers[0].WaitForShutdown()
	})
}

// SW-25: two relays that meet on a cluster that nobody has used yet.
func TestTwoOnAFreshCluster(t *testing.T) {
	_, urls := start(t, 3)
	opened := make(chan error, 2)
	for range cap(opened) {
		go func() {
			b, err := jetstream.Open(t.Context(), jetstream.Config{URL: urls, Replicas: 3})
			if err == nil {
				err = b.Close()
			}
			opened <- err
		}()
	}
	for range cap(opened) {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
}

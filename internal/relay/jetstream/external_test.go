package jetstream_test

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"openclaw/internal/relay"
	"openclaw/internal/relay/jetstream"
	"openclaw/internal/relay/relaytest"
)

// start runs servers on loopback, as a cluster when there are several.
func start(t *testing.T, n int) (servers []*server.Server, urls string) {
	t.Helper()
	var routes []*url.URL
	ports := make([]int, n)
	if n > 1 {
		for i := range ports {
			ports[i] = freePort(t)
			routes = append(routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("127.0.0.1:%d", ports[i])})
		}
	}
	var addrs []string
	for i := range n {
		opts := &server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: t.TempDir(),
		}
		if n > 1 {
			opts.Cluster = server.ClusterOpts{Name: "relay", Host: "127.0.0.1", Port: ports[i], NoAdvertise: true}
			opts.Routes = routes
		}
		s, err := server.NewServer(opts)
		if err != nil {
			t.Fatalf("make server: %v", err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		servers = append(servers, s)
	}
	for _, s := range servers {
		if !s.ReadyForConnections(20 * time.Second) {
			t.Fatal("a server does not get ready")
		}
		addrs = append(addrs, s.ClientURL())
	}
	return servers, strings.Join(addrs, ",")
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

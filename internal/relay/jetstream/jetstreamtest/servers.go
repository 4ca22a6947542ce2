package jetstreamtest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Servers are NATS servers on loopback.
type Servers struct {
	List []*server.Server
	URLs string // of all, as relays take them
}

// Start runs n servers that keep what they store below dir, as a cluster when there are
// several. Close them.
func Start(dir string, n int) (*Servers, error) {
	all := &Servers{}
	var routes []*url.URL
	ports := make([]int, n)
	for i := range ports {
		if n > 1 {
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			ports[i] = port
			routes = append(routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("127.0.0.1:%d", port)})
		}
	}
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		store := filepath.Join(dir, name)
		if err := os.MkdirAll(store, 0o700); err != nil {
			return nil, errors.Join(err, all.Close())
		}
		opts := &server.Options{ServerName: name, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: store}
		if n > 1 {
			opts.Cluster = server.ClusterOpts{Name: "relay", Host: "127.0.0.1", Port: ports[i], NoAdvertise: true}
			opts.Routes = routes
		}
		s, err := server.NewServer(opts)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make a server: %w", err), all.Close())
		}
		s.Start()
		all.List = append(all.List, s)
	}
	var addrs []string
	for _, s := range all.List {
		if !s.ReadyForConnections(20 * time.Second) {
			return nil, errors.Join(errors.New("a server does not get ready"), all.Close())
		}
		addrs = append(addrs, s.ClientURL())
	}
	if n > 1 && !all.led() {
		return nil, errors.Join(errors.New("the servers have no leader"), all.Close())
	}
	all.URLs = strings.Join(addrs, ",")
	return all, nil
}

// led waits until the servers have agreed on a leader.
func (s *Servers) led() bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(20 * time.Second)
	for !slices.ContainsFunc(s.List, (*server.Server).JetStreamIsLeader) {
		select {
		case <-tick.C:
		case <-timeout:
			return false
		}
	}
	return true
}

// Close ends all servers.
func (s *Servers) Close() error {
	for _, one := range s.List {
		one.Shutdown()
		one.WaitForShutdown()
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

package relay

import (
	"context"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

// Only a trusted proxy is believed, and only what it saw itself.
func TestAddr(t *testing.T) {
	r := &Relay{cfg: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	for _, tt := range []struct{ peer, header, want, network string }{
		{"203.0.113.9:1", "", "203.0.113.9", "203.0.113.0/24"},
		{"203.0.113.9:1", "198.51.100.1", "203.0.113.9", "203.0.113.0/24"},
		{"10.0.0.1:1", "198.51.100.1", "198.51.100.1", "198.51.100.0/24"},
		{"10.0.0.1:1", "198.51.100.1, 203.0.113.9, 10.0.0.2", "203.0.113.9", "203.0.113.0/24"},
		{"10.0.0.1:1", "nonsense", "10.0.0.1", "10.0.0.0/24"},
		{"[2001:db8:1:2::3]:1", "", "2001:db8:1:2::3", "2001:db8:1::/48"},
		{"[::ffff:203.0.113.9]:1", "", "203.0.113.9", "203.0.113.0/24"},
		{"pipe", "", "invalid IP", "unknown"},
	} {
		req := &http.Request{RemoteAddr: tt.peer, Header: http.Header{}}
		if tt.header != "" {
			req.Header.Set("X-Forwarded-For", tt.header)
		}
		c := &call{Relay: r, req: req}
		if got := c.addr(); got.String() != tt.want || network(got) != tt.network {
			t.Errorf("addr(%s, %q) = %s in %s, want %s in %s", tt.peer, tt.header, got, network(got), tt.want, tt.network)
		}
	}
}

func TestLimiter(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := newLimiter(func() time.Time { return now })
	for i := range 3 {
		if wait := l.take("x", 3, time.Minute); wait != 0 {
			t.Errorf("take %d = %v, want none to wait", i, wait)
		}
	}
	if wait := l.take("x", 3, time.Minute); wait < 19*time.Second || wait > 21*time.Second {
		t.Errorf("take of too many = %v, want 20 s", wait)
	}
	if wait := l.take("y", 3, time.Minute); wait != 0 {
		t.Errorf("take of another name = %v, want none to wait", wait)
	}
	now = now.Add(20*time.Second + time.Millisecond)
	if wait := l.take("x", 3, time.Minute); wait != 0 {
		t.Errorf("take after the wait = %v, want none", wait)
	}
}

// Nodes share limits; one that is silent does not count.
func TestNodes(t *testing.T) {
	now := time.Unix(1e9, 0)
	n := newNodes(func() time.Time { return now })
	if !n.alive("other") || n.count() != 1 {
		t.Error("a node that just began thinks others dead, or has a count other than 1")
	}
	now = now.Add(nodeFor)
	if n.alive("other") {
		t.Error("a node that never spoke is alive")
	}
	if !n.seen("a") || n.seen("a") || !n.seen("b") || n.count() != 2 || !n.alive("a") {
		t.Error("two nodes that spoke are not both there")
	}
	now = now.Add(nodeFor)
	if n.seen("b"); n.count() != 1 || n.alive("a") {
		t.Error("a silent node still counts")
	}
}

// A token is known at every moment of an approval, which moves it from one table to
// the other.
func TestTokenWhileItMoves(t *testing.T) {
	moving := &movingStore{Memory: NewMemory(nil)}
	r, err := New(Config{Broker: moving, OpenRegistration: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := create(ctx, r.store, Pairings, "token.h", token{Kind: kindAssistant, ID: "i", Pairing: "p"}); err != nil {
		t.Fatal(err)
	}
	moving.before = func(b Bucket) {
		if b != Pairings {
			return
		}
		moving.before = nil
		if err := create(ctx, r.store, Tokens, "h", token{Kind: kindAssistant, ID: "i"}); err != nil {
			t.Error(err)
		}
		if err := r.store.Delete(ctx, Pairings, "token.h", 0); err != nil {
			t.Error(err)
		}
	}
	if got, err := r.findToken(ctx, "h"); err != nil || got.ID != "i" || got.Pairing != "" {
		t.Errorf("findToken = %+v, %v", got, err)
	}
}

// movingStore does something before it reads from a bucket.
type movingStore struct {
	*Memory
	before func(Bucket)
}

func (s *movingStore) Get(ctx context.Context, b Bucket, key string) (Entry, error) {
	if s.before != nil {
		s.before(b)
	}
	return s.Memory.Get(ctx, b, key)
}

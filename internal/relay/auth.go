package relay

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"time"

	"openclaw/byo"
)

// Kinds of tokens, which are the names of their holders in the log.
const (
	kindDesktop   = "desktop"
	kindAssistant = "integration"
)

// authorize finds whose token the request carries. A token of the wrong kind is
// as unknown as any other.
func (c *call) authorize(want auth) error {
	if want == nobody {
		return nil
	}
	text, found := strings.CutPrefix(c.req.Header.Get("Authorization"), "Bearer ")
	if !found || len(text) > 200 {
		return errUnauthorized
	}
	c.hash = byo.TokenHash(text)
	who, err := c.findToken(c.req.Context(), c.hash)
	if err != nil {
		return err
	}
	if want == byDesktop && who.Kind != kindDesktop || want == byAssistant && who.Kind != kindAssistant {
		return errUnauthorized
	}
	c.who = who
	return nil
}

// findToken looks among the tokens of active integrations and desktops, then
// among those of pairings under way.
func (r *Relay) findToken(ctx context.Context, hash string) (token, error) {
	t, cached := r.tokens.get(hash)
	if !cached {
		var err error
		t, _, err = read[token](ctx, r.store, Tokens, hash)
		if errors.Is(err, ErrNotFound) {
			t, _, err = read[token](ctx, r.store, Pairings, "token."+hash)
		}
		if errors.Is(err, ErrNotFound) { // approval may have moved it between the two looks
			t, _, err = read[token](ctx, r.store, Tokens, hash)
		}
		if errors.Is(err, ErrNotFound) {
			return token{}, errUnauthorized
		}
		if err != nil {
			return token{}, err
		}
		r.tokens.put(hash, t)
	}
	if t.Expires != 0 && millis(r.now()) >= t.Expires {
		return token{}, errUnauthorized
	}
	return t, nil
}

// bond returns the active integration of the path's id if it is the caller's.
// Whatever is wrong looks the same; only its own pending integration is told
// apart.
func (c *call) bond() (bond, error) {
	id := c.path("id")
	if c.who.Kind == kindAssistant {
		if id != "" && id != c.who.ID {
			return bond{}, errNotFound
		}
		id = c.who.ID
		if c.who.Pairing != "" {
			return bond{}, errPairState
		}
	}
	b, err := c.findBond(c.req.Context(), id)
	switch {
	case errors.Is(err, ErrNotFound) && c.who.Kind == kindAssistant:
		return bond{}, errUnauthorized // revoked a moment ago
	case errors.Is(err, ErrNotFound):
		if p, err := c.pendingOf(id); err == nil && p.State != byo.PairActive {
			return bond{}, errPairState
		}
		return bond{}, errNotFound
	case err != nil:
		return bond{}, err
	case c.who.Kind == kindDesktop && b.Desktop != c.who.ID:
		return bond{}, errNotFound
	}
	return b, nil
}

// findBond reads an integration, through the cache.
func (r *Relay) findBond(ctx context.Context, id string) (bond, error) {
	if b, ok := r.bonds.get(id); ok {
		return b, nil
	}
	if byo.CheckUUID("id", id) != nil {
		return bond{}, ErrNotFound
	}
	b, _, err := read[bond](ctx, r.store, Integrations, id)
	if err == nil {
		r.bonds.put(id, b)
	}
	return b, err
}

// cacheFor bounds how long a change on another node whose signal got lost stays
// unseen.
const cacheFor = time.Second

// cache keeps records for a moment.
type cache[T any] struct {
	now     func() time.Time
	mu      sync.Mutex
	entries map[string]cached[T]
}

type cached[T any] struct {
	value T
	until time.Time
}

func newCache[T any](now func() time.Time) *cache[T] {
	return &cache[T]{now: now, entries: map[string]cached[T]{}}
}

func (c *cache[T]) get(key string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if ok && !c.now().Before(e.until) {
		delete(c.entries, key)
		ok = false
	}
	return e.value, ok
}

func (c *cache[T]) put(key string, v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= 16384 {
		clear(c.entries)
	}
	c.entries[key] = cached[T]{v, c.now().Add(cacheFor)}
}

func (c *cache[T]) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}

func (c *cache[T]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}

// addr is who called: the peer, or whom a trusted proxy names.
func (c *call) addr() netip.Addr {
	ap, err := netip.ParseAddrPort(c.req.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := ap.Addr().Unmap()
	hops := strings.Split(strings.Join(c.req.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && c.trusted(addr); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		addr = next.Unmap()
	}
	return addr.WithZone("")
}

func (r *Relay) trusted(addr netip.Addr) bool {
	for _, p := range r.cfg.TrustedProxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// network is the part of an address that its neighbours share: /24 or /48.
func network(addr netip.Addr) string {
	bits := 48
	if addr.Is4() {
		bits = 24
	}
	p, err := addr.Prefix(bits)
	if err != nil || !p.IsValid() {
		return "unknown"
	}
	return p.String()
}

func isAbsent(err error) bool { return errors.Is(err, ErrNotFound) }

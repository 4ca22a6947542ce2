package guard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/internal/guard"
)

func TestLoopback(t *testing.T) {
	for remote, want := range map[string]bool{
		"127.0.0.1:5": true, "[::1]:5": true, "[::ffff:127.0.0.1]:5": true,
		"127.0.0.2:5": false, "10.0.0.1:5": false, "[fe80::1]:5": false, "127.0.0.1": false, "": false, "localhost:5": false,
	} {
		if got := guard.Loopback(remote); got != want {
			t.Errorf("Loopback(%q) = %v, want %v", remote, got, want)
		}
	}
}

func TestHostName(t *testing.T) {
	for host, want := range map[string]string{
		"localhost": "localhost", "LocalHost:80": "localhost", "127.0.0.1:8765": "127.0.0.1", "[::1]:1": "::1", "[::1]": "::1",
		"evil.example": "evil.example",
		"":             "!", ":80": "!", "[::1": "!", "[::1]x": "!", "[::1]:": "!", "a:b": "!", "a:1:2": "!", "a:99999": "!", "a:-1": "!",
		"[localhost]": "!", "::1": "!", "a]": "!", "user@localhost": "!", "[127.0.0.1]": "!",
	} {
		got, ok := guard.HostName(host)
		if !ok {
			got = "!"
		}
		if got != want {
			t.Errorf("HostName(%q) = %q, want %q", host, got, want)
		}
	}
}

func TestBearer(t *testing.T) {
	const token = "0123456789abcdef"
	for header, want := range map[string]bool{
		"Bearer " + token: true, "bearer " + token: false, "Bearer  " + token: false, "Bearer " + token + " ": false,
		token: false, "": false, "Bearer ": false, "Bearer 0123456789abcdeF": false, "Basic " + token: false,
	} {
		if got := guard.Bearer(header, token); got != want {
			t.Errorf("Bearer(%q) = %v, want %v", header, got, want)
		}
	}
	if guard.Bearer("Bearer ", "") {
		t.Error("an empty token lets everybody in")
	}
}

func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := guard.Window{Max: 3, Open: 2, Tracked: 2}
		enter := func(peer string, want error) func() {
			t.Helper()
			leave, _, err := w.Enter(peer)
			if !errors.Is(err, want) {
				t.Fatalf("Enter(%s) = %v, want %v", peer, err, want)
			}
			return leave
		}
		one := enter("a", nil)
		enter("a", nil)
		enter("a", guard.ErrTooMany)
		one()
		one() // twice is once
		three := enter("a", nil)
		three()
		if _, retry, err := w.Enter("a"); !errors.Is(err, guard.ErrTooOften) || retry != time.Minute {
			t.Fatalf("fourth request: %v, retry after %v", err, retry)
		}
		enter("b", nil)()
		enter("c", guard.ErrTooOften) // no place to count for it
		time.Sleep(time.Minute)
		enter("c", nil) // b is forgotten, a has one open
		enter("a", nil)
	})
}

func TestDialerChecksEveryAddress(t *testing.T) {
	var lookups int
	var dialled []string
	d := &guard.Dialer{
		Allow: func(a netip.Addr) bool { return a.IsLoopback() },
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			lookups++
			switch name {
			case "good.example":
				return []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1")}, nil
			case "mixed.example":
				return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("169.254.169.254")}, nil
			}
			return nil, nil
		},
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			a, _ := net.Pipe()
			return a, nil
		},
	}
	if _, err := d.DialContext(t.Context(), "tcp", "good.example:80"); err != nil {
		t.Errorf("good.example: %v", err)
	}
	for _, name := range []string{"mixed.example:80", "8.8.8.8:80", "[2001:db8::1]:80"} {
		if _, err := d.DialContext(t.Context(), "tcp", name); !errors.Is(err, guard.ErrAddress) {
			t.Errorf("%s: %v, want ErrAddress", name, err)
		}
	}
	if _, err := d.DialContext(t.Context(), "tcp", "none.example:80"); err == nil {
		t.Error("a name without addresses was dialled")
	}
	if got := strings.Join(dialled, " "); got != "127.0.0.1:80" || lookups != 3 {
		t.Errorf("dialled %q after %d lookups, want the one checked address and a lookup for each name", got, lookups)
	}
}

func TestClientKeepsToItself(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	var elsewhere bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere = true }))
	defer other.Close()
	srv := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer srv.Close()
	c := (&guard.Dialer{Allow: netip.Addr.IsLoopback}).Client(0)
	defer c.CloseIdleConnections()
	resp, err := c.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusFound || elsewhere {
		t.Errorf("answer %d, other server asked: %v; want the redirect itself", resp.StatusCode, elsewhere)
	}
}

func FuzzHostName(f *testing.F) {
	for _, s := range []string{"localhost:1", "[::1]:2", "[", "a:b:c", "%zz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if name, ok := guard.HostName(s); ok && guard.LocalName(name) && strings.ContainsAny(name, " /@[]") {
			t.Errorf("HostName(%q) = %q", s, name)
		}
	})
}

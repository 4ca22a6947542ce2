package assistant_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/byo"
	"openclaw/internal/assistant"
)

// host runs a host over the fake relay; names tells what it serves after a look.
func (r *relay) host(t *testing.T, dir string, serves func(string) bool) (names func() []string) {
	h := assistant.NewHost(assistant.HostConfig{Dir: dir, HTTP: r.http(), Serves: serves,
		Agent: func(string, string, string) (assistant.Agent, error) { return &agent{turn: echo}, nil }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("host: %v", err)
		}
	})
	return func() []string {
		time.Sleep(3 * time.Second) // of the bubble
		synctest.Wait()
		names := []string{}
		for _, s := range h.Served() {
			names = append(names, s.Name)
		}
		return names
	}
}

func TestHost(t *testing.T) {
	bubble(t, "pairings come and go", func(t *testing.T, r *relay, dir string) {
		parent := filepath.Dir(dir)
		var off atomic.Bool
		names := r.host(t, parent, func(string) bool { return !off.Load() })
		if diff := cmp.Diff([]string{integration}, names()); diff != "" {
			t.Errorf("served (-want +got):\n%s", diff)
		}
		if off.Store(true); len(names()) != 0 {
			t.Error("a pairing that is switched off is served")
		}
		if off.Store(false); len(names()) != 1 {
			t.Error("a pairing that is switched on again is not served")
		}
		if err := assistant.RemovePairing(dir); err != nil {
			t.Fatal(err)
		}
		if got := names(); len(got) != 0 {
			t.Errorf("a removed pairing is served: %v", got)
		}
	})
	bubble(t, "SW-24 a revoked pairing is forgotten", func(t *testing.T, r *relay, dir string) {
		names := r.host(t, filepath.Dir(dir), nil)
		if len(names()) != 1 {
			t.Fatal("the pairing is not served")
		}
		r.push(map[string]string{"event_type": byo.EventRevoked})
		if got := names(); len(got) != 0 {
			t.Errorf("a revoked pairing is served: %v", got)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("its folder is there: %v", err)
		}
	})
	bubble(t, "a damaged pairing keeps no other from being served", func(t *testing.T, r *relay, dir string) {
		bad := filepath.Join(filepath.Dir(dir), "22222222-2222-4222-8222-222222222222")
		if err := os.MkdirAll(bad, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bad, "pairing.json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{integration}, r.host(t, filepath.Dir(dir), nil)()); diff != "" {
			t.Errorf("served (-want +got):\n%s", diff)
		}
	})
}

// A host of a command says at once what is wrong.
func TestStrictHost(t *testing.T) {
	run := func(dir string, how assistant.Listening) error {
		h := assistant.NewHost(assistant.HostConfig{Dir: dir, Strict: true, HTTP: http.DefaultClient,
			Agent:     func(string, string, string) (assistant.Agent, error) { return &agent{turn: echo}, nil },
			Listening: func() assistant.Listening { return how }})
		return h.Run(t.Context())
	}
	if err := run(t.TempDir(), assistant.Listening{}); !errors.Is(err, assistant.ErrNothing) {
		t.Errorf("nothing is paired: %v", err)
	}
	if err := run(t.TempDir(), assistant.Listening{Token: "short"}); err == nil || errors.Is(err, assistant.ErrNothing) {
		t.Errorf("a short token: %v", err)
	}
	if err := run(t.TempDir(), assistant.Listening{Token: "0123456789abcdef", Host: "0.0.0.0"}); err == nil || errors.Is(err, assistant.ErrNothing) {
		t.Errorf("SW-47 an address of other machines: %v", err)
	}
}

// What no flag changes stays as it was.
func TestPairCode(t *testing.T) {
	dir := t.TempDir()
	code, d, err := assistant.PairCode(dir, assistant.DirectChange{Port: 9000, Label: "Box", ProviderKind: "hermes"})
	if err != nil || d.URL != "http://127.0.0.1:9000" {
		t.Fatalf("PairCode = %+v, %v", d, err)
	}
	again, same, err := assistant.PairCode(dir, assistant.DirectChange{})
	if err != nil || again != code || *same != *d {
		t.Errorf("PairCode again = %+v, %v, want %+v", same, err, d)
	}
	moved, d2, err := assistant.PairCode(dir, assistant.DirectChange{Port: 9001, NewToken: true})
	if err != nil || d2.URL != "http://127.0.0.1:9001" || d2.Token == d.Token || d2.Label != "Box" || moved == code {
		t.Errorf("PairCode with another port = %+v, %v", d2, err)
	}
	for _, bad := range []assistant.DirectChange{{Port: 80}, {URL: "http://example.com"}, {ProviderKind: "Not Good"}} {
		if _, _, err := assistant.PairCode(dir, bad); err == nil {
			t.Errorf("PairCode(%+v) is taken", bad)
		}
	}
	if kept, err := assistant.LoadDirect(dir); err != nil || *kept != *d2 {
		t.Errorf("LoadDirect = %+v, %v, want %+v", kept, err, d2)
	}
}

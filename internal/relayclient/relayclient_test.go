package relayclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/byo"
	"openclaw/internal/relayclient"
	"openclaw/internal/sse"
)

// trip is a relay without a network.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

func client(f trip) *relayclient.Client {
	return &relayclient.Client{Base: "https://relay.example/", Token: func() byo.Secret { return "swr_x" }, HTTP: &http.Client{Transport: f}}
}

func TestCall(t *testing.T) {
	c := client(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.String() != "https://relay.example/api/v1/openclaw/pair/start" || r.Header.Get("Authorization") != "Bearer swr_x" || string(body) != `{"a":1}` {
			t.Errorf("request %s with %q and body %q", r.URL, r.Header.Get("Authorization"), body)
		}
		return answer(200, `{"b":2}`), nil
	})
	var out map[string]int
	if err := c.Call(t.Context(), http.MethodPost, "/pair/start", map[string]int{"a": 1}, &out); err != nil || out["b"] != 2 {
		t.Errorf("Call = %v, %v", out, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string
		gone       bool
	}{
		{404, `{"error":{"code":"pairing_code_invalid","message":"no"}}`, byo.CodePairingCodeInvalid, false},
		{404, `{"error":{"code":"not_found","message":"no"}}`, byo.CodeNotFound, true},
		{401, `nothing of ours`, byo.CodeUnauthorized, true},
		{502, `<html>`, byo.CodeStorageUnavailable, false},
		{302, ``, byo.CodeInvalidRequest, false},
	} {
		err := client(func(*http.Request) (*http.Response, error) { return answer(c.status, c.body), nil }).Call(t.Context(), http.MethodGet, "/x", nil, nil)
		if relayclient.Code(err) != c.want || relayclient.Gone(err) != c.gone {
			t.Errorf("%d %s: %v, gone %v; want code %s, gone %v", c.status, c.body, err, relayclient.Gone(err), c.want, c.gone)
		}
	}
}

// SW-41: 1 s, 2 s, 4 s … up to a minute, and up to a second more, also after a clean
// end; a connection that held for a minute begins anew.
func TestStreamBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var at []time.Time
		holds := 0
		c := client(func(r *http.Request) (*http.Response, error) {
			at = append(at, time.Now())
			switch n := len(at); {
			case n == 10:
				holds = 61
			case n == 12:
				cancel()
			}
			body, w := io.Pipe()
			go func() {
				for range holds {
					io.WriteString(w, ": keep-alive\n\n")
					time.Sleep(time.Second)
				}
				holds = 0
				w.Close()
			}()
			resp := answer(200, "")
			resp.Body = body
			return resp, nil
		})
		err := c.Stream(ctx, relayclient.Stream{Path: "/s", Handle: func(sse.Event) error { return nil }})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Stream = %v", err)
		}
		want := []int{1, 2, 4, 8, 16, 32, 60, 60, 60, 62, 2}
		for i, w := range want {
			got := at[i+1].Sub(at[i])
			if got < time.Duration(w)*time.Second || got > time.Duration(w+1)*time.Second {
				t.Errorf("wait %d = %v, want %d s to %d s", i, got, w, w+1)
			}
		}
	})
}

func TestStreamResumesAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		answers := []string{"id: 7\ndata: {}\n\n", "id: 8\ndata: {}\n\n", ""}
		c := client(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.Header.Get("Last-Event-ID"))
			if len(asked) > len(answers) {
				return answer(401, ""), nil
			}
			return answer(200, answers[len(asked)-1]), nil
		})
		events := 0
		err := c.Stream(t.Context(), relayclient.Stream{Path: "/s", Handle: func(sse.Event) error { events++; return nil }})
		if !relayclient.Gone(err) || events != 2 || strings.Join(asked, ",") != ",7,8,8" {
			t.Errorf("Stream = %v after %d events, asked %q; want unauthorized, 2 and ,7,8,8", err, events, asked)
		}
	})
}

// A relay that is gone without a word is noticed.
func TestStreamNoticesSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		var ended error
		c := client(func(r *http.Request) (*http.Response, error) {
			if n++; n == 2 {
				cancel()
			}
			body, w := io.Pipe()
			context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
			resp := answer(200, "")
			resp.Body = body
			return resp, nil
		})
		began := time.Now()
		c.Stream(ctx, relayclient.Stream{Path: "/s", Handle: func(sse.Event) error { return nil }, Connected: func(up bool, err error) {
			if !up && ended == nil {
				ended = err
			}
		}})
		if d := time.Since(began); d < 45*time.Second || d > 48*time.Second || ended == nil {
			t.Errorf("the second connection came after %v (%v), want after 45 s of silence", d, ended)
		}
	})
}

func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name  string
			err   error
			tries int
		}{
			{"network", errors.New("refused"), 8},
			{"busy", &byo.Error{Code: byo.CodeRateLimited}, 8},
			{"final", &byo.Error{Code: byo.CodeJobExpired}, 1},
			{"fine", nil, 1},
		} {
			n := 0
			err := relayclient.Retry(t.Context(), time.Now().Add(time.Hour), func(context.Context) error { n++; return c.err })
			if n != c.tries || !errors.Is(err, c.err) {
				t.Errorf("%s: %d tries and %v, want %d", c.name, n, err, c.tries)
			}
		}
		n := 0
		relayclient.Retry(t.Context(), time.Now().Add(time.Second), func(context.Context) error { n++; return errors.New("x") })
		if n != 3 { // at 0, 250 and 750 ms; the next would be too late
			t.Errorf("%d tries within a second, want 3", n)
		}
	})
}

func TestPin(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	for pin, ok := range map[string]bool{byo.TokenHash(string(srv.Certificate().Raw)): true, strings.Repeat("0", 64): false, "": false} {
		c := &relayclient.Client{Base: srv.URL, HTTP: relayclient.NewHTTP(pin)}
		if err := c.Call(t.Context(), http.MethodGet, "/", nil, nil); (err == nil) != ok {
			t.Errorf("pin %.8q: %v", pin, err)
		}
	}
}

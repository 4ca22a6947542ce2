package desktop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/desktop"
	"openclaw/internal/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// desk runs a desktop with a real callback listener; stop ends it like its process.
type desk struct {
	*desktop.Desk
	t    *testing.T
	stop func()
}

func open(t *testing.T, cfg desktop.Config) *desk {
	t.Helper()
	d, err := desktop.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return &desk{d, t, stop}
}

// call is an assistant's callback; the answer is status and body in one line.
func (d *desk) call(task string, c any, change func(*http.Request)) string {
	d.t.Helper()
	var data string
	switch c := c.(type) {
	case string:
		data = c
	default:
		b, err := json.Marshal(c)
		if err != nil {
			d.t.Fatal(err)
		}
		data = string(b)
	}
	req, err := http.NewRequest(http.MethodPost, d.CallbackURL()+"/tasks/"+task, strings.NewReader(data))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+string(d.CallbackToken()))
	req.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(req)
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(body)))
}

// httpClient keeps no connections, so that none outlives its test.
var httpClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// said lists the messages of a tab: "role:content", failures with their code.
func (d *desk) said(session, tab string) string {
	d.t.Helper()
	list, err := d.Store().Messages(session, tab, "", 0)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, m := range list {
		out = append(out, m.Role+":"+m.Content+m.ErrorCode)
	}
	return strings.Join(out, " | ")
}

// until waits for an event that fits.
func (d *desk) until(what string, fits func(desktop.Event) bool) (wait func() desktop.Event) {
	next, leave := d.Watch()
	return func() desktop.Event {
		d.t.Helper()
		defer leave()
		ctx, cancel := context.WithTimeout(d.t.Context(), 20*time.Second)
		defer cancel()
		for ctx.Err() == nil {
			for _, ev := range next(ctx.Done()) {
				if fits(ev) {
					return ev
				}
			}
		}
		d.t.Fatalf("no event: %s", what)
		return desktop.Event{}
	}
}

// helper is an assistant's listener: it takes what the desktop says and answers with
// whatever reply makes of it, by callback.
type helper struct {
	*httptest.Server
	t     *testing.T
	reply func(in byo.Incoming) []byo.Callback

	mu    sync.Mutex
	heard []byo.Incoming
	busy  int // answers 503 so often first
	got   chan byo.Incoming
	work  sync.WaitGroup
}

const helperToken = "listener-token-of-32-characters-"

func newHelper(t *testing.T, reply func(byo.Incoming) []byo.Callback) *helper {
	h := &helper{t: t, reply: reply, got: make(chan byo.Incoming, 100)}
	h.Server = httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); h.work.Wait() })
	return h
}

func (h *helper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+helperToken {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.URL.Path == "/v1/ping" {
		io.WriteString(w, `{"ok":true}`)
		return
	}
	data, _ := io.ReadAll(r.Body)
	in, err := byo.ParseIncoming(data)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy > 0 {
		h.busy--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if err != nil || r.Header.Get(byo.HeaderIdempotencyKey) != in.TaskID {
		h.t.Errorf("the desktop sent %s: %v", data, err)
	}
	h.heard = append(h.heard, in)
	w.WriteHeader(http.StatusAccepted)
	h.got <- in
	h.work.Go(func() {
		for _, c := range h.reply(in) {
			c.SessionID, c.UserMessageID = in.SessionID, in.Payload.UserMessageID
			body, _ := json.Marshal(c)
			req, _ := http.NewRequest(http.MethodPost, in.Callback.URL+"/tasks/"+in.TaskID, strings.NewReader(string(body)))
			req.Header.Set("Authorization", "Bearer "+string(in.Callback.Token))
			resp, err := httpClient.Do(req)
			if err != nil {
				return // the desktop has ended
			}
			resp.Body.Close()
		}
	})
}

// says makes a helper answer each message with one text.
func says(text string) func(byo.Incoming) []byo.Callback {
	return func(in byo.Incoming) []byo.Callback {
		return []byo.Callback{{Status: byo.StatusMessage, MessageID: in.TaskID + ":msg:0", ReplyText: text}}
	}
}

// code is the pairing code of a helper.
func (h *helper) code() string {
	text, err := (&byo.DirectCode{URL: h.URL, Token: helperToken, Label: "Hermes"}).Encode()
	if err != nil {
		h.t.Fatal(err)
	}
	return text
}

// streamer is an assistant that answers on its event stream: our own ingress.
type streamer struct {
	*httptest.Server
	t  *testing.T
	mu sync.Mutex
	in []byo.Incoming
}

func newStreamer(t *testing.T) *streamer {
	t.Helper()
	s := &streamer{t: t}
	talk, err := assistant.OpenTalk(assistant.TalkConfig{Path: filepath.Join(t.TempDir(), "talk.jsonl"), Agent: &thinker{turn: func(turn assistant.Turn, emit func(assistant.Output)) {
		emit(assistant.Output{Message: "re: " + turn.Text})
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ingress := assistant.NewIngress(assistant.IngressConfig{Token: func() byo.Secret { return helperToken }, Talk: talk, Callbacks: assistant.Callbacks{}.Dial(guard.Dialer{})})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if in, err := byo.ParseIncoming(data); err == nil {
			s.mu.Lock()
			s.in = append(s.in, in)
			s.mu.Unlock()
		}
		r.Body = io.NopCloser(strings.NewReader(string(data)))
		ingress.ServeHTTP(w, r)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { _ = talk.Run(ctx) })
	t.Cleanup(func() { cancel(); work.Wait(); s.CloseClientConnections(); s.Close() })
	return s
}

func (s *streamer) said() []byo.Incoming {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in
}

func (s *streamer) code() string {
	text, err := (&byo.DirectCode{URL: s.URL, Token: helperToken, Label: "Stream"}).Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

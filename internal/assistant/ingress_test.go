package assistant_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/guard"
)

const token = "ingress-token-of-32-characters--"

// ingress serves an assistant on a real loopback port.
func ingress(t *testing.T, a *agent, set func(*assistant.IngressConfig, *assistant.Callbacks)) string {
	t.Helper()
	callbacks := assistant.Callbacks{}
	cfg := assistant.IngressConfig{Token: func() byo.Secret { return token }, Version: "1.2.0"}
	if set != nil {
		set(&cfg, &callbacks)
	}
	cfg.Callbacks = callbacks.Dial(guard.Dialer{})
	tk, err := assistant.OpenTalk(assistant.TalkConfig{Path: filepath.Join(t.TempDir(), "talk.jsonl"), Agent: a, Courier: cfg.Callbacks.Deliver})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Talk = tk
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = tk.Run(ctx) })
	srv := httptest.NewServer(assistant.NewIngress(cfg))
	t.Cleanup(func() { cancel(); group.Wait(); srv.Close(); http.DefaultClient.CloseIdleConnections() })
	return srv.URL
}

// ask sends a request and returns the status and the body in one line.
func ask(t *testing.T, method, url, body string, change func(*http.Request)) (string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(data))), resp.Header
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// SW-46: the validation of a message, in order, and what is answered.
func TestIncoming(t *testing.T) {
	url := ingress(t, &agent{turn: echo}, nil)
	good := map[string]any{"task_id": task(1), "session_id": "s", "reason": "chat_message", "payload": map[string]any{"text": "hi"},
		"callback": map[string]any{"url": "http://127.0.0.1:9", "token": "0123456789abcdef"}}
	with := func(changes ...any) string {
		m := map[string]any{}
		for k, v := range good {
			m[k] = v
		}
		for i := 0; i < len(changes); i += 2 {
			m[changes[i].(string)] = changes[i+1]
		}
		return encode(t, m)
	}
	for _, c := range []struct{ name, body, want string }{
		{"no object", `[]`, "400 body"},
		{"no JSON", `{`, "400 body"},
		{"task id", with("task_id", "x"), "400 task_id"},
		{"session", with("session_id", ""), "400 session_id"},
		{"long session", with("session_id", strings.Repeat("ä", 129)), "400 session_id"},
		{"reason", with("reason", "hello"), "400 reason"},
		{"payload", with("payload", "x"), "400 payload"},
		{"text", with("payload", map[string]any{"text": 1}), "400 payload.text"},
		{"long text", with("payload", map[string]any{"text": strings.Repeat("ä", 16001)}), "400 payload.text"},
		{"callback", with("callback", "x"), "400 callback"},
		{"callback path", with("callback", map[string]any{"url": "http://127.0.0.1:9/x", "token": "0123456789abcdef"}), "400 callback.url"},
		{"callback elsewhere", with("callback", map[string]any{"url": "http://10.0.0.1:9", "token": "0123456789abcdef"}), "400 callback.url"},
		{"callback token", with("callback", map[string]any{"url": "http://127.0.0.1:9", "token": "short"}), "400 callback.token"},
		{"first of two", with("task_id", "x", "reason", "y"), "400 task_id"},
		{"longest", with("task_id", task(2), "session_id", strings.Repeat("ä", 128), "payload", map[string]any{"text": strings.Repeat("ä", 16000)}), `202 {"status":"accepted","task_id":"` + task(2) + `"}`},
		{"too large", with("x", strings.Repeat("x", 262144)), "413 body"},
		{"not final", with("task_id", task(3), "reason", "transcript_chunk"), `202 {"status":"accepted","task_id":"` + task(3) + `","dispatched":false}`},
		{"prelude", with("task_id", task(4), "reason", "system_prelude"), `202 {"status":"accepted","task_id":"` + task(4) + `"}`},
		{"null callback", with("task_id", task(5), "callback", nil), `202 {"status":"accepted","task_id":"` + task(5) + `"}`},
	} {
		got, header := ask(t, http.MethodPost, url+"/v1/incoming", c.body, nil)
		if strings.HasPrefix(c.want, "202") && got != c.want || !strings.HasPrefix(strings.ReplaceAll(got, `{"error":"`, ""), strings.TrimSuffix(c.want, "}")) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if header.Get(byo.HeaderReplay) != "" {
			t.Errorf("%s: told to be a replay", c.name)
		}
	}
	for i, want := range []string{"", "true", "true"} {
		got, header := ask(t, http.MethodPost, url+"/v1/incoming", with(), nil)
		if got != `202 {"status":"accepted","task_id":"`+task(1)+`"}` || header.Get(byo.HeaderReplay) != want {
			t.Errorf("time %d: %s, replay %q, want %q", i, got, header.Get(byo.HeaderReplay), want)
		}
	}
}

// SW-47: who may talk to the listener, in order of the checks.
func TestIngressGuards(t *testing.T) {
	url := ingress(t, &agent{turn: echo}, func(c *assistant.IngressConfig, _ *assistant.Callbacks) { c.Hosts = []string{"studio.ts.net"} })
	for _, c := range []struct {
		name, method, path string
		change             func(*http.Request)
		want               string
	}{
		{"ping", "POST", "/v1/ping", nil, `200 {"ok":true,"version":"1.2.0"}`},
		{"health needs no token", "GET", "/v1/health", func(r *http.Request) { r.Header.Del("Authorization") }, `200 {"ok":true,"version":"1.2.0"}`},
		{"health checks the host", "GET", "/v1/health", func(r *http.Request) { r.Host = "evil.example" }, `403 {"error":"invalid_host"}`},
		{"listed host", "POST", "/v1/ping", func(r *http.Request) { r.Host = "Studio.ts.net:8765" }, `200 {"ok":true,"version":"1.2.0"}`},
		{"foreign host before token", "POST", "/v1/ping", func(r *http.Request) { r.Host = "evil.example"; r.Header.Del("Authorization") }, `403 {"error":"invalid_host"}`},
		{"port is no number", "POST", "/v1/ping", func(r *http.Request) { r.Host = "localhost:http" }, `403 {"error":"invalid_host"}`},
		{"page", "POST", "/v1/ping", func(r *http.Request) { r.Header.Set("Origin", "null") }, `403 {"error":"browser_rejected"}`},
		{"no token", "POST", "/v1/ping", func(r *http.Request) { r.Header.Del("Authorization") }, `401 {"error":"invalid_token"}`},
		{"other token", "POST", "/v1/ping", func(r *http.Request) { r.Header.Set("Authorization", "Bearer ingress-token-of-32-characters-+") }, `401 {"error":"invalid_token"}`},
		{"scheme", "POST", "/v1/ping", func(r *http.Request) { r.Header.Set("Authorization", "bearer "+token) }, `401 {"error":"invalid_token"}`},
		{"token before path", "GET", "/v1/secret", func(r *http.Request) { r.Header.Del("Authorization") }, `401 {"error":"invalid_token"}`},
		{"form", "POST", "/v1/incoming", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, `415 {"error":"content type must be application/json"}`},
		{"other path", "GET", "/v1/incoming", nil, `404 {"error":"not_found"}`},
		{"no session", "GET", "/v1/events?session_id=%20", nil, `400 {"error":"session_id_required"}`},
	} {
		if got, _ := ask(t, c.method, url+c.path, "{}", c.change); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}

	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, "http://localhost/v1/ping", nil)
	req.RemoteAddr = "10.0.0.7:1234"
	assistant.NewIngress(assistant.IngressConfig{Token: func() byo.Secret { return token }}).ServeHTTP(rec, req)
	if rec.Code != http.StatusForbidden || !strings.Contains(rec.Body.String(), byo.ListenerNonLoopback) {
		t.Errorf("another machine: %d %s", rec.Code, rec.Body)
	}
}

func TestIngressLimits(t *testing.T) {
	url := ingress(t, &agent{turn: echo}, nil)
	strange := func(r *http.Request) { r.Header.Del("Authorization") }
	for i := range 121 {
		got, header := ask(t, http.MethodPost, url+"/v1/ping", "{}", strange)
		if want := i == 120; strings.HasPrefix(got, "429") != want || want && header.Get("Retry-After") == "" {
			t.Fatalf("request %d without a token: %s", i, got)
		}
	}
	if got, _ := ask(t, http.MethodPost, url+"/v1/ping", "{}", nil); !strings.HasPrefix(got, "200") {
		t.Errorf("strangers used up what the desktop may send: %s", got)
	}
}

// A token that is too short to be one lets nobody in.
func TestIngressNeedsAToken(t *testing.T) {
	url := ingress(t, &agent{turn: echo}, func(c *assistant.IngressConfig, _ *assistant.Callbacks) {
		c.Token = func() byo.Secret { return "short" }
	})
	if got, _ := ask(t, http.MethodPost, url+"/v1/ping", "{}", func(r *http.Request) { r.Header.Set("Authorization", "Bearer short") }); !strings.HasPrefix(got, "401") {
		t.Errorf("answer %s", got)
	}
}

// SW-48: which answers of a desktop are final, and that no redirect is followed.
func TestCallbacks(t *testing.T) {
	var mu sync.Mutex
	var status []int
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != "/tasks/"+task(1) || r.Header.Get("Authorization") != "Bearer 0123456789abcdef" {
			t.Errorf("request %s with %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		code := status[min(n, len(status)-1)]
		n++
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(code)
	}))
	defer srv.Close()
	callbacks := assistant.Callbacks{}.Dial(guard.Dialer{})
	for _, c := range []struct {
		status  string
		answers []int
		tries   int
		refused bool
		fine    bool
	}{
		{"message", []int{200}, 1, false, true},
		{"message", []int{500, 429, 204}, 3, false, true},
		{"message", []int{503}, 4, false, false},
		{"typing", []int{503}, 1, false, false},
		{"stream", []int{503}, 1, false, false},
		{"message", []int{302}, 1, true, false},
		{"message", []int{409}, 1, true, false},
		{"message", []int{410}, 1, true, false},
		{"message", []int{401}, 1, true, false},
	} {
		mu.Lock()
		status, n = c.answers, 0
		mu.Unlock()
		err := callbacks.Deliver(t.Context(), assistant.Route{URL: srv.URL, Token: "0123456789abcdef"}, &byo.Callback{TaskID: task(1), SessionID: "s", Status: c.status})
		if (err == nil) != c.fine || errors.Is(err, assistant.ErrRefused) != c.refused || n != c.tries {
			t.Errorf("%s answered with %v: %v after %d tries, want refused %v after %d", c.status, c.answers, err, n, c.refused, c.tries)
		}
	}
}

// SW-47: where answers may go. A name that leads elsewhere by the time it is called
// does not help.
func TestCallbackAddresses(t *testing.T) {
	for _, c := range []struct {
		url    string
		listed []string
		remote bool
		ok     bool
	}{
		{"http://127.0.0.1:9", nil, false, true},
		{"http://localhost:9", nil, false, true},
		{"http://LOCALHOST:9/", nil, false, true},
		{"http://[::1]:9", nil, false, false},
		{"http://127.0.0.1:9", nil, true, false},
		{"http://127.0.0.1:9", []string{"http://127.0.0.1:9"}, true, true},
		{"http://127.0.0.1:10", []string{"http://127.0.0.1:9"}, true, false},
		{"https://desk.example", []string{"https://desk.example/"}, true, true},
		{"http://desk.example", []string{"https://desk.example"}, true, false},
		{"http://user@127.0.0.1:9", nil, false, false},
		{"http://127.0.0.1:9?x", nil, false, false},
		{"ftp://127.0.0.1", nil, false, false},
	} {
		err := assistant.Callbacks{Allowed: c.listed, RemoteIngress: c.remote}.Dial(guard.Dialer{}).Check(c.url)
		if (err == nil) != c.ok {
			t.Errorf("Check(%q) with %v, remote %v: %v", c.url, c.listed, c.remote, err)
		}
	}
	dialled := 0
	callbacks := assistant.Callbacks{Allowed: []string{"http://desk.example"}}.Dial(guard.Dialer{
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
		},
		Dial: func(context.Context, string, string) (net.Conn, error) { dialled++; return nil, io.EOF },
	})
	for _, url := range []string{"http://desk.example", "http://localhost:80"} {
		err := callbacks.Deliver(t.Context(), assistant.Route{URL: url, Token: "0123456789abcdef"}, &byo.Callback{TaskID: task(1), SessionID: "s", Status: byo.StatusMessage})
		if !errors.Is(err, assistant.ErrRefused) || dialled != 0 {
			t.Errorf("%s, which leads to a link-local address: %v, dialled %d times", url, err, dialled)
		}
	}
}

// reader follows an event stream.
type reader struct {
	*bufio.Reader
	close func()
}

func events(t *testing.T, url, last string) *reader {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		cancel()
		resp.Body.Close()
		t.Fatalf("event stream: %s", resp.Status)
	}
	r := &reader{bufio.NewReader(resp.Body), func() { cancel(); resp.Body.Close() }}
	t.Cleanup(r.close)
	return r
}

// next returns the next durable frame's id and callback.
func (r *reader) next(t *testing.T) (id string, c byo.Callback) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok && id != "" {
			if err := json.Unmarshal([]byte(v), &c); err != nil {
				t.Fatal(err)
			}
			return id, c
		}
	}
}

// SW-51: ids, resume, what a strange id does, and the limit of readers.
func TestEventStream(t *testing.T) {
	url := ingress(t, &agent{turn: echo}, nil)
	say := func(n int, text string) {
		t.Helper()
		in := chat(n, "s", text)
		in.Callback = nil
		if got, _ := ask(t, http.MethodPost, url+"/v1/incoming", encode(t, in), nil); !strings.HasPrefix(got, "202") {
			t.Fatal(got)
		}
	}
	stream := url + "/v1/events?session_id=s"
	first := events(t, stream, "")
	say(1, "a")
	id1, c := first.next(t)
	if c.ReplyText != "re: a" || c.SessionID != "s" || c.MessageID != task(1)+":msg:0" {
		t.Errorf("first event %+v", c)
	}
	say(2, "b")
	id2, _ := first.next(t)
	epoch, _, _ := strings.Cut(id1, "-")
	for _, c := range []struct{ last, want string }{
		{id1, "re: b"}, {"", "re: a"}, {"other-1.2", "re: a"}, {epoch + "-1.999", "re: a"}, {"%", "re: a"},
	} {
		r := events(t, stream, c.last)
		if _, got := r.next(t); got.ReplyText != c.want {
			t.Errorf("after %q comes %q, want %q", c.last, got.ReplyText, c.want)
		}
		r.close()
	}
	query := events(t, stream+"&last_event_id="+id2, "")
	say(3, "c")
	if _, got := query.next(t); got.ReplyText != "re: c" {
		t.Errorf("after id 2 comes %q", got.ReplyText)
	}
	for range byo.MaxSessionReaders - 2 {
		events(t, stream, "")
	}
	if got, _ := ask(t, http.MethodGet, stream, "", nil); got != `429 {"error":"too_many_streams"}` {
		t.Errorf("one reader too many: %s", got)
	}
}

// SW-51: the past of a session is bounded in events and bytes.
func TestEventStreamBounds(t *testing.T) {
	url := ingress(t, &agent{turn: func(_ context.Context, turn assistant.Turn, emit func(assistant.Output)) error {
		if turn.Text == "large" {
			for range 9 {
				emit(assistant.Output{Message: strings.Repeat("\x01", byo.MaxReplyPart)}) // six bytes each in JSON
			}
			return nil
		}
		for i := range 100 {
			emit(assistant.Output{Message: fmt.Sprint(i)})
		}
		return nil
	}}, nil)
	for i, session := range []string{"large", "many"} {
		in := chat(i+1, session, session)
		in.Callback = nil
		ask(t, http.MethodPost, url+"/v1/incoming", encode(t, in), nil)
		r := events(t, url+"/v1/events?session_id="+session, "")
		n := 9
		if session == "many" {
			n = 100
		}
		var last string
		for {
			id, c := r.next(t)
			last = id
			if c.MessageID == fmt.Sprintf("%s:msg:%d", task(i+1), n-1) {
				break
			}
		}
		r.close()
		r = events(t, url+"/v1/events?session_id="+session, "unknown-1.1")
		kept := 0
		for {
			id, _ := r.next(t)
			kept++
			if id == last {
				break
			}
		}
		r.close()
		if session == "many" && kept != byo.MaxSessionEvents || session == "large" && kept > 5 {
			t.Errorf("%s: %d events are kept", session, kept)
		}
	}
}

package killtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"openclaw/client"
	"openclaw/protocol"
)

// chaos is a model server that fails in every way a network knows, unless the message
// asks for an honest answer.
type chaos struct {
	mu     sync.Mutex
	rng    *rand.Rand
	served map[string]int
	done   chan struct{}
}

func (c *chaos) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	kinds := []string{"reset", "half", "junk", "empty", "endless", "status", "cut", "binary"}
	c.mu.Lock()
	kind := kinds[c.rng.IntN(len(kinds))]
	var req struct {
		Messages []struct{ Content json.RawMessage }
	}
	if json.Unmarshal(body, &req) == nil && len(req.Messages) > 0 && strings.Contains(string(req.Messages[len(req.Messages)-1].Content), "honest") {
		kind = "honest"
	}
	c.served[kind]++
	c.mu.Unlock()
	event := func(text string) string {
		data, _ := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": []any{map[string]any{"index": 0, "delta": map[string]string{"role": "assistant", "content": text}}}})
		return "data: " + string(data) + "\n\n"
	}
	stream := func() { w.Header().Set("Content-Type", "text/event-stream") }
	switch kind {
	case "reset", "half":
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if kind == "reset" {
			conn.(*net.TCPConn).SetLinger(0)
		} else {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"+event("half")[:20])
		}
		conn.Close()
	case "junk":
		io.WriteString(w, "<html>It works!</html>")
	case "empty":
		stream()
	case "binary":
		stream()
		w.Write([]byte{0, 1, 2, 255, 254, '\n', '\n'})
	case "status":
		w.WriteHeader([]int{500, 502, 503, 504, 418}[len(body)%5])
	case "cut":
		stream()
		io.WriteString(w, event("cut off"))
	case "endless":
		stream()
		for {
			if _, err := io.WriteString(w, event("more ")); err != nil {
				return
			}
			http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-c.done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	case "honest":
		stream()
		io.WriteString(w, event("honest answer")+`data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}
}

// P15, P22: whatever the network does to the model, the gateway lives, answers others,
// every run has exactly one end, and the next run on the same session works.
func TestChaos(t *testing.T) {
	model := &chaos{rng: rand.New(rand.NewPCG(1, 2)), served: map[string]int{}, done: make(chan struct{})}
	api := httptest.NewServer(model)
	t.Cleanup(func() { close(model.done); api.CloseClientConnections(); api.Close() })
	w := newWorld(t, 1)
	w.config["models"].(map[string]any)["providers"].(map[string]any)["mock"].(map[string]any)["baseUrl"] = api.URL + "/v1"
	if err := os.WriteFile(filepath.Join(w.state, "openclaw.json"), w.raw("#000000"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := w.start()
	watcher, err := w.dial(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	events := watcher.Subscribe(protocol.EventAgent)
	defer events.Close()
	ends := map[string]int{}
	seqs := map[string]int64{}
	var watching sync.WaitGroup
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	watched, stop := context.WithCancel(ctx)
	watching.Go(func() {
		for {
			e, err := events.Next(watched)
			if err != nil {
				return
			}
			var a struct {
				RunID, Stream string
				Seq           int64
				Data          struct{ Phase string }
			}
			if e.Decode(&a) != nil {
				continue
			}
			if seqs[a.RunID]++; a.Seq != seqs[a.RunID] {
				t.Errorf("run %s: event %d comes as number %d", a.RunID, seqs[a.RunID], a.Seq)
				seqs[a.RunID] = a.Seq
			}
			if a.Stream == "lifecycle" && (a.Data.Phase == "end" || a.Data.Phase == "error") {
				ends[a.RunID]++
			}
		}
	})

	const sessions, each = 8, 3
	var group sync.WaitGroup
	for i := range sessions {
		group.Go(func() {
			c, err := w.dial(nil, "")
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			key := fmt.Sprintf("agent:main:chaos%d", i)
			for n := range each {
				chaosRun(ctx, t, c, key, fmt.Sprintf("bad-%d-%d", i, n), "tell me something")
			}
			if text := chaosRun(ctx, t, c, key, fmt.Sprintf("good-%d", i), "an honest question"); !strings.Contains(text, "honest answer") {
				t.Errorf("after the failures session %s answers %q", key, text)
			}
			if err := c.Call(ctx, protocol.MethodHealth, nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	stop()
	watching.Wait()
	if len(ends) != sessions*(each+1) {
		t.Errorf("%d runs ended for the watcher, want %d", len(ends), sessions*(each+1))
	}
	for id, n := range ends {
		if n != 1 {
			t.Errorf("run %s ended %d times", id, n)
		}
	}
	w.stop(p)
	if out := p.output.String(); strings.Contains(out, "panic") || strings.Contains(out, "mock-key") {
		t.Errorf("the gateway says\n%s", out)
	}
	model.mu.Lock()
	defer model.mu.Unlock()
	if len(model.served) < 7 {
		t.Errorf("only %v were tried", model.served)
	}
}

// chaosRun asks for a run and returns its answer, however it ends.
func chaosRun(ctx context.Context, t *testing.T, c *client.Client, key, id, message string) string {
	timeout := int64(2)
	var out struct {
		Status string
		Result struct{ Payloads []struct{ Text string } }
	}
	err := c.CallFinal(ctx, protocol.MethodAgent, map[string]any{"sessionKey": key, "message": message, "idempotencyKey": id, "timeout": timeout}, &out)
	if err != nil && ctx.Err() != nil {
		t.Errorf("run %s has no end: %v", id, err)
	}
	var end protocol.AgentWaitResult
	if err := c.Call(ctx, protocol.MethodAgentWait, protocol.AgentWaitParams{RunID: id}, &end); err != nil || end.Status == protocol.StatusTimeout {
		t.Errorf("run %s: agent.wait says %q, %v", id, end.Status, err)
	}
	if (err == nil) != (end.Status == protocol.StatusOK) {
		t.Errorf("run %s: the request ends with %v, agent.wait with %q", id, err, end.Status)
	}
	var texts []string
	for _, p := range out.Result.Payloads {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, " ")
}

// P2: many agents with many sessions cost nothing on the way of a request: what is
// asked for is in memory, even when the folders are gone.
func TestManySessions(t *testing.T) {
	w := newWorld(t, 1)
	const agents, sessions = 60, 20
	var list []any
	for a := range agents {
		id := fmt.Sprintf("a%d", a)
		list = append(list, map[string]any{"id": id})
		dir := filepath.Join(w.state, "agents", id, "sessions")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		index := map[string]any{}
		for s := range sessions {
			index[fmt.Sprintf("agent:%s:s%d", id, s)] = map[string]any{"sessionId": fmt.Sprintf("%08d-0000-4000-8000-%012d", a, s), "updatedAt": time.Now().UnixMilli() - int64(s)}
		}
		data, err := json.Marshal(index)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "sessions.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.config["agents"].(map[string]any)["list"] = list
	if err := os.WriteFile(filepath.Join(w.state, "openclaw.json"), w.raw("#000000"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := w.start()
	defer w.stop(p)
	c, err := w.dial(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ask := func(when string) {
		t.Helper()
		var got struct{ Count int }
		if err := c.Call(t.Context(), protocol.MethodSessionsList, map[string]any{"limit": 5000}, &got); err != nil || got.Count != agents*sessions {
			t.Errorf("%s: %d sessions (%v), want %d", when, got.Count, err, agents*sessions)
		}
		var h protocol.HealthResult
		if err := c.Call(t.Context(), protocol.MethodHealth, nil, &h); err != nil || len(h.Agents) != agents {
			t.Errorf("%s: health of %d agents (%v), want %d", when, len(h.Agents), err, agents)
		}
	}
	ask("at first")
	if err := os.Rename(filepath.Join(w.state, "agents"), filepath.Join(w.state, "gone")); err != nil {
		t.Fatal(err)
	}
	ask("without the folders")
	if err := os.Rename(filepath.Join(w.state, "gone"), filepath.Join(w.state, "agents")); err != nil {
		t.Fatal(err)
	}
}

package killtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"openclaw/client"
	"openclaw/internal/device"
	"openclaw/internal/mockllm"
	"openclaw/protocol"
)

const token = "kill-test-token-0123456789abcdef"

// world is a state folder, a model and a gateway that is killed again and again.
type world struct {
	t      *testing.T
	rng    *rand.Rand // of the test's goroutine only
	bin    string
	state  string
	temp   string // with the instance lock
	config map[string]any
	port   int
	calls  *recorder
	model  *mockllm.Server

	mu      sync.Mutex
	runs    map[string]*accepted // by idempotency key
	labels  map[string]written   // by session key
	colour  written
	devices []*device.Identity
	rotated []*device.Identity         // whose tokens are rotated
	tokens  map[string]protocol.Secret // by device
	serial  int
	acks    map[string]int // acknowledged things, by kind
}

// accepted is a run that the gateway has acknowledged.
type accepted struct {
	key, session, marker, method string
	round                        int
	ended                        string // ok or error, once it is known; it must stay
}

// written is a value whose last acknowledged write is known, and the writes after it
// that may or may not have come through.
type written struct {
	sure  string
	maybe []string
}

func (w *written) holds(value string) bool {
	if value == w.sure {
		return true
	}
	for _, m := range w.maybe {
		if value == m {
			return true
		}
	}
	return false
}

// recorder counts how often the model was asked about each marker.
type recorder struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.data.Write(p)
}

// P6, P7, RT-016: what was acknowledged before a kill is there after it, each accepted
// run has one end, and no lock of a dead process is in the way.
func TestKills(t *testing.T) {
	kills, seed := 40, uint64(time.Now().UnixNano())
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills = n
	}
	if n, err := strconv.ParseUint(os.Getenv("KILLSEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("%d kills, KILLSEED=%d", kills, seed)
	w := newWorld(t, seed)
	for round := range kills {
		w.round(round)
		if t.Failed() {
			t.Fatalf("round %d failed; KILLSEED=%d", round, seed)
		}
	}
	w.age()
	p := w.start()
	w.check(kills)
	w.stop(p)
	w.litter()
	t.Logf("acknowledged: %v", w.acks)
	for _, kind := range []string{"chat", "agent", "config", "label", "pair", "rotate"} {
		if w.acks[kind] < kills/4 {
			t.Errorf("only %d of kind %s were acknowledged in %d rounds: the load tests nothing", w.acks[kind], kind, kills)
		}
	}
}

func newWorld(t *testing.T, seed uint64) *world {
	dir := t.TempDir()
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 0)), bin: filepath.Join(dir, "openclaw"), state: filepath.Join(dir, "state"), temp: t.TempDir(), port: freePort(t),
		calls: &recorder{}, runs: map[string]*accepted{}, labels: map[string]written{}, tokens: map[string]protocol.Secret{}, acks: map[string]int{}}
	build := exec.Command("go", "build", "-o", w.bin, "../cmd/openclaw")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the gateway: %v\n%s", err, out)
	}
	w.model = mockllm.New(mockllm.Config{ChunkDelay: 2 * time.Millisecond, Record: w.calls})
	api := httptest.NewServer(w.model)
	t.Cleanup(api.Close)
	w.config = map[string]any{
		"gateway": map[string]any{"mode": "local", "port": w.port, "auth": map[string]any{"mode": "token", "token": token}},
		"models": map[string]any{"providers": map[string]any{"mock": map[string]any{"baseUrl": api.URL + "/v1", "apiKey": "mock-key", "api": "openai-completions",
			"models": []any{map[string]any{"id": "mock-1", "name": "Mock", "input": []string{"text"}, "contextWindow": 200000, "maxTokens": 8192}}}}},
		"agents": map[string]any{"defaults": map[string]any{"model": map[string]any{"primary": "mock/mock-1"}, "workspace": filepath.Join(w.state, "ws")}},
		"ui":     map[string]any{"seamColor": "#000000"},
	}
	w.colour = written{sure: "#000000"}
	if err := os.MkdirAll(w.state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.state, "openclaw.json"), w.raw("#000000"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		id, err := device.New(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		w.devices = append(w.devices, id)
	}
	w.rotated, w.devices = w.devices[:2], w.devices[2:]
	return w
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (w *world) raw(colour string) []byte {
	w.config["ui"] = map[string]any{"seamColor": colour}
	data, err := json.MarshalIndent(w.config, "", "  ")
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

// process is one life of the gateway.
type process struct {
	cmd    *exec.Cmd
	output *bytes.Buffer
}

func (w *world) command() *exec.Cmd {
	cmd := exec.Command(w.bin, "gateway")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.state, "TMPDIR=" + w.temp, "OPENCLAW_STATE_DIR=" + w.state}
	return cmd
}

// start starts the gateway and waits until it answers: no lock of an earlier life may
// stop it.
func (w *world) start() *process {
	w.t.Helper()
	p := &process{cmd: w.command(), output: &bytes.Buffer{}}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		c, err := w.dial(nil, "")
		if err == nil {
			c.Close()
			return p
		}
		if time.Now().After(deadline) {
			p.cmd.Process.Kill()
			p.cmd.Wait()
			w.t.Fatalf("the gateway does not come up: %v\n%s", err, p.output)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func (w *world) kill(p *process) {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

func (w *world) stop(p *process) {
	w.t.Helper()
	p.cmd.Process.Signal(os.Interrupt)
	if err := p.cmd.Wait(); err != nil {
		w.t.Errorf("the gateway ends with %v:\n%s", err, p.output)
	}
}

func (w *world) dial(id *device.Identity, secret protocol.Secret) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	o := client.Options{URL: fmt.Sprintf("ws://127.0.0.1:%d", w.port), Token: token, Scopes: []string{"operator.admin", "operator.read", "operator.write", "operator.pairing", "operator.approvals"}}
	if id != nil {
		o.Signer = id
	}
	if secret != "" {
		o.Token, o.Tokens = "", &held{secret}
	}
	return client.Dial(ctx, o)
}

// held gives one token and keeps none.
type held struct{ token protocol.Secret }

func (h *held) Token(string) (protocol.Secret, error)        { return h.token, nil }
func (h *held) Save(string, protocol.Secret, []string) error { return nil }
func (h *held) Delete(string) error                          { return nil }

// round runs the load, kills the gateway in the middle of it and checks what is left.
func (w *world) round(n int) {
	if n%4 == 3 {
		w.killEarly()
	}
	p := w.start()
	w.check(n)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	seeds := w.rng.Uint64()
	for i, work := range []func(context.Context, *rand.Rand, int) error{w.chat, w.chat, w.agent, w.agent, w.configure, w.label, w.pair, w.rotate} {
		rng := rand.New(rand.NewPCG(seeds, uint64(i)))
		group.Go(func() {
			for ctx.Err() == nil {
				if err := work(ctx, rng, n); err != nil {
					if refused := (*protocol.Error)(nil); errors.As(err, &refused) {
						w.t.Errorf("round %d: an ordinary request was refused: %v", n, err)
					}
					return // the gateway is gone
				}
			}
		})
	}
	<-time.After(time.Duration(10+w.rng.IntN(190)) * time.Millisecond)
	w.kill(p)
	cancel()
	group.Wait()
	w.readable()
}

// killEarly starts a gateway and kills it before or while it takes over what the last
// one has left.
func (w *world) killEarly() {
	cmd := w.command()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	<-time.After(time.Duration(w.rng.IntN(40)) * time.Millisecond)
	cmd.Process.Kill()
	cmd.Wait()
	w.readable()
}

func (w *world) next() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	return w.serial
}

func sessionKey(rng *rand.Rand) string { return fmt.Sprintf("agent:main:s%d", rng.IntN(6)) }

// note remembers a run that was acknowledged.
func (w *world) note(a *accepted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[a.key] = a
	w.acks[a.method]++
}

// chat sends messages on one connection until it breaks.
func (w *world) chat(ctx context.Context, rng *rand.Rand, round int) error {
	c, err := w.dial(nil, "")
	if err != nil {
		return err
	}
	defer c.Close()
	for ctx.Err() == nil {
		id := w.next()
		a := &accepted{key: fmt.Sprintf("chat-%d", id), session: sessionKey(rng), marker: fmt.Sprintf("mark%dend", id), method: "chat", round: round}
		var got protocol.ChatSendResult
		err := c.Call(ctx, protocol.MethodChatSend, protocol.ChatSendParams{SessionKey: a.session, Message: "say reply to " + a.marker, IdempotencyKey: a.key}, &got)
		if err != nil {
			return err
		}
		w.note(a)
		if rng.IntN(3) > 0 {
			// Its own id ends when the message is queued as well: what that says is not
			// the end of the message.
			var end protocol.AgentWaitResult
			if err := c.Call(ctx, protocol.MethodAgentWait, protocol.AgentWaitParams{RunID: a.key}, &end); err != nil {
				return err
			}
		}
	}
	return nil
}

// agent asks for runs, some with a tool call.
func (w *world) agent(ctx context.Context, rng *rand.Rand, round int) error {
	c, err := w.dial(nil, "")
	if err != nil {
		return err
	}
	defer c.Close()
	for ctx.Err() == nil {
		id := w.next()
		a := &accepted{key: fmt.Sprintf("agent-%d", id), session: sessionKey(rng), marker: fmt.Sprintf("mark%dend", id), method: "agent", round: round}
		message := "say reply to " + a.marker
		if rng.IntN(2) == 0 {
			message = fmt.Sprintf("tool write {\"path\":\"notes/%s.txt\",\"content\":\"x\"} ;; say reply to %s", a.marker, a.marker)
		}
		var got protocol.AgentAccepted
		if err := c.Call(ctx, protocol.MethodAgent, protocol.AgentParams{SessionKey: a.session, Message: message, IdempotencyKey: a.key}, &got); err != nil {
			return err
		}
		w.note(a)
		if rng.IntN(3) > 0 {
			var end protocol.AgentWaitResult
			if err := c.Call(ctx, protocol.MethodAgentWait, protocol.AgentWaitParams{RunID: a.key}, &end); err != nil {
				return err
			}
			w.settle(a, end.Status)
		}
	}
	return nil
}

func (w *world) settle(a *accepted, status string) {
	if status == protocol.StatusTimeout {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	a.ended = status
}

// configure writes the config file.
func (w *world) configure(ctx context.Context, rng *rand.Rand, _ int) error {
	c, err := w.dial(nil, "")
	if err != nil {
		return err
	}
	defer c.Close()
	for ctx.Err() == nil {
		var snap struct{ Hash string }
		if err := c.Call(ctx, protocol.MethodConfigGet, nil, &snap); err != nil {
			return err
		}
		colour := fmt.Sprintf("#%06x", w.next()&0xffffff)
		w.mu.Lock()
		w.colour.maybe = append(w.colour.maybe, colour)
		raw := string(w.raw(colour))
		w.mu.Unlock()
		if err := c.Call(ctx, protocol.MethodConfigSet, map[string]any{"raw": raw, "baseHash": snap.Hash}, nil); err != nil {
			return err
		}
		w.mu.Lock()
		w.colour = written{sure: colour}
		w.acks["config"]++
		w.mu.Unlock()
		<-time.After(time.Duration(rng.IntN(10)) * time.Millisecond)
	}
	return nil
}

// label changes sessions.
func (w *world) label(ctx context.Context, rng *rand.Rand, _ int) error {
	c, err := w.dial(nil, "")
	if err != nil {
		return err
	}
	defer c.Close()
	for ctx.Err() == nil {
		key, label := sessionKey(rng), fmt.Sprintf("label-%d", w.next())
		w.mu.Lock()
		now := w.labels[key]
		now.maybe = append(now.maybe, label)
		w.labels[key] = now
		w.mu.Unlock()
		if err := c.Call(ctx, protocol.MethodSessionsPatch, map[string]any{"key": key, "label": label}, nil); err != nil {
			return err
		}
		w.mu.Lock()
		w.labels[key] = written{sure: label}
		w.acks["label"]++
		w.mu.Unlock()
		<-time.After(time.Duration(rng.IntN(10)) * time.Millisecond)
	}
	return nil
}

// pair connects devices with their keys; the token that hello carries is acknowledged.
func (w *world) pair(_ context.Context, rng *rand.Rand, _ int) error {
	id := w.devices[rng.IntN(len(w.devices))]
	c, err := w.dial(id, "")
	if err != nil {
		return err
	}
	defer c.Close()
	if a := c.Hello().Auth; a != nil && a.DeviceToken != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tokens[id.DeviceID()] = a.DeviceToken
		w.acks["pair"]++
	}
	return nil
}

// rotate has the gateway change a device's token; both the old and the new one are
// in doubt until that is acknowledged.
func (w *world) rotate(ctx context.Context, rng *rand.Rand, _ int) error {
	id := w.rotated[rng.IntN(len(w.rotated))]
	c, err := w.dial(id, "")
	if err != nil {
		return err
	}
	defer c.Close()
	w.mu.Lock()
	delete(w.tokens, id.DeviceID())
	w.mu.Unlock()
	var got struct{ Token protocol.Secret }
	if err := c.Call(ctx, protocol.MethodDeviceTokenRotate, map[string]any{"deviceId": id.DeviceID(), "role": "operator"}, &got); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tokens[id.DeviceID()] = got.Token
	w.acks["rotate"]++
	return nil
}

// check looks at a fresh gateway: everything that was acknowledged is there.
func (w *world) check(round int) {
	t := w.t
	t.Helper()
	c, err := w.dial(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var snap struct {
		Config struct{ UI struct{ SeamColor string } }
	}
	if err := c.Call(ctx, protocol.MethodConfigGet, nil, &snap); err != nil {
		t.Fatal(err)
	}
	if got := snap.Config.UI.SeamColor; !w.colour.holds(got) {
		t.Errorf("the config has colour %q, acknowledged was %q", got, w.colour.sure)
	} else {
		w.colour = written{sure: got}
	}
	w.checkLabels(ctx, c)
	for _, id := range slices.Concat(w.devices, w.rotated) {
		if secret := w.tokens[id.DeviceID()]; secret != "" && round%5 == 0 {
			d, err := w.dial(id, secret)
			if err != nil {
				t.Errorf("a device is refused with the token it was given: %v", err)
				continue
			}
			d.Close()
		}
	}
	w.checkRuns(ctx, c, round)
}

func (w *world) checkLabels(ctx context.Context, c *client.Client) {
	var list struct {
		Sessions []struct{ Key, Label string }
	}
	if err := c.Call(ctx, protocol.MethodSessionsList, map[string]any{}, &list); err != nil {
		w.t.Fatal(err)
	}
	have := map[string]string{}
	for _, s := range list.Sessions {
		have[s.Key] = s.Label
	}
	for key, want := range w.labels {
		if !want.holds(have[key]) {
			w.t.Errorf("session %s has label %q, acknowledged was %q", key, have[key], want.sure)
			continue
		}
		w.labels[key] = written{sure: have[key]}
	}
}

// checkRuns asks about the runs of the last round and of some earlier ones.
func (w *world) checkRuns(ctx context.Context, c *client.Client, round int) {
	t := w.t
	zero := int64(0)
	for _, a := range w.runs {
		if a.round < round-2 {
			continue
		}
		var end protocol.AgentWaitResult
		if err := c.Call(ctx, protocol.MethodAgentWait, protocol.AgentWaitParams{RunID: a.key, TimeoutMs: &zero}, &end); err != nil {
			t.Fatal(err)
		}
		if end.Status != protocol.StatusOK && end.Status != protocol.StatusError {
			t.Errorf("run %s, accepted in round %d, has status %q after the restart: want an end", a.key, a.round, end.Status)
			continue
		}
		if a.ended != "" && a.ended != end.Status {
			t.Errorf("run %s of round %d ended with %s and now says %s: %s", a.key, a.round, a.ended, end.Status, end.Error)
		}
		a.ended = end.Status
	}
	w.checkTranscripts(ctx, c, round)
}

// checkTranscripts looks at what is in the sessions: each message once, each answer
// once, and an answer for each run that ended well. A repeated request must not ask the
// model again.
func (w *world) checkTranscripts(ctx context.Context, c *client.Client, round int) {
	t := w.t
	texts := map[string]string{}
	for i := range 6 {
		key := fmt.Sprintf("agent:main:s%d", i)
		var h protocol.ChatHistoryResult
		if err := c.Call(ctx, protocol.MethodChatHistory, map[string]any{"sessionKey": key, "limit": 1000}, &h); err != nil {
			t.Fatal(err)
		}
		var users, answers strings.Builder
		for _, m := range h.Messages {
			var msg struct {
				Role    string
				Content json.RawMessage
			}
			if err := json.Unmarshal(m, &msg); err != nil {
				t.Fatal(err)
			}
			switch msg.Role {
			case "user":
				users.Write(msg.Content)
				users.WriteByte('\n')
			case "assistant":
				for _, block := range blocks(msg.Content) {
					answers.WriteString(block)
				}
			}
		}
		texts[key+" user"], texts[key+" answer"] = users.String(), answers.String()
	}
	repeat := 0
	for _, a := range w.runs {
		if a.round != round-1 {
			continue
		}
		if n := strings.Count(texts[a.session+" user"], "reply to "+a.marker); n > 1 || n == 0 && a.ended == protocol.StatusOK {
			t.Errorf("run %s ended with %s and its session has its message %d times", a.key, a.ended, n)
			t.Logf("messages of the users there: %s", texts[a.session+" user"])
		}
		if n := strings.Count(texts[a.session+" answer"], "reply to "+a.marker); n > 1 || n == 0 && a.ended == protocol.StatusOK {
			t.Errorf("run %s ended with %s and its session has %d answers", a.key, a.ended, n)
		}
		if repeat++; repeat > 4 {
			continue
		}
		asked := w.asked(a.marker)
		method, params := protocol.MethodChatSend, any(protocol.ChatSendParams{SessionKey: a.session, Message: "say reply to " + a.marker, IdempotencyKey: a.key})
		if a.method == "agent" {
			method, params = protocol.MethodAgent, protocol.AgentParams{SessionKey: a.session, Message: "say reply to " + a.marker, IdempotencyKey: a.key}
		}
		var got struct{ Status string }
		err := c.Call(ctx, method, params, &got)
		if (err == nil) != (a.ended == protocol.StatusOK) {
			t.Errorf("run %s ended with %s, repeating its request gives %q, %v", a.key, a.ended, got.Status, err)
		}
		if now := w.asked(a.marker); now != asked {
			t.Errorf("repeating the request of run %s asked the model again", a.key)
		}
	}
}

// blocks returns the texts of an assistant's message.
func blocks(content json.RawMessage) (list []string) {
	var parts []struct{ Type, Text string }
	if json.Unmarshal(content, &parts) != nil {
		var text string
		json.Unmarshal(content, &text)
		return []string{text}
	}
	for _, p := range parts {
		if p.Type == "text" {
			list = append(list, p.Text)
		}
	}
	return list
}

// asked counts the requests to the model whose newest message has the marker.
func (w *world) asked(marker string) int {
	w.calls.mu.Lock()
	defer w.calls.mu.Unlock()
	return bytes.Count(w.calls.data.Bytes(), []byte(marker))
}

// readable checks every file of the state folder while nobody works on it.
func (w *world) readable() {
	err := filepath.WalkDir(w.state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".json":
			if !json.Valid(data) {
				w.t.Errorf("%s is not JSON after a kill: %.200q", path, data)
			}
		case ".jsonl":
			lines := bytes.Split(data, []byte("\n"))
			for i, line := range lines[:len(lines)-1] { // the last one may be cut
				if len(line) > 0 && !json.Valid(line) {
					w.t.Errorf("%s, line %d is not JSON after a kill: %.200q", path, i+1, line)
				}
			}
		}
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
}

// age makes what is in the state folder look old, so that it counts as left behind.
func (w *world) age() {
	old := time.Now().Add(-time.Hour)
	for _, path := range w.unfinished() {
		if err := os.Chtimes(path, old, old); err != nil {
			w.t.Error(err)
		}
	}
}

// litter checks that kills leave nothing behind that grows.
func (w *world) litter() {
	if left := w.unfinished(); len(left) > 0 {
		w.t.Errorf("temporary files are left: %v", left)
	}
}

// unfinished lists the temporary files in the state folder.
func (w *world) unfinished() (list []string) {
	err := filepath.WalkDir(w.state, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "ws" {
			return fs.SkipDir
		}
		if name := filepath.Base(path); err == nil && !d.IsDir() && (strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".tmp")) {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
	return list
}

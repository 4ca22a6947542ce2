package desktop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/byo"
	"openclaw/byo/seal"
	"openclaw/internal/assistant"
	"openclaw/internal/desktop"
	"openclaw/internal/relay"
	"openclaw/internal/relay/relaytest"
	"openclaw/internal/relayclient"
)

// world is a relay, a desktop and room for assistants, in a bubble.
type world struct {
	t    *testing.T
	node *relaytest.Node
	desk *desk
	cfg  desktop.Config
	dir  string
	// swap changes the JSON that passes between the desktop and the relay, as a relay
	// that reads along would; the same for the assistant's side.
	swapDesk, swapPlugin func(path string, m map[string]any)
	calls                []string // of the desktop
	mu                   sync.Mutex
}

func bubble(t *testing.T, name string, f func(t *testing.T, w *world)) {
	t.Run(name, func(t *testing.T) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, dir: dir}
			w.node = relaytest.NewNet().Start(t, "relay", relay.Config{Broker: relay.NewMemory(nil), OpenRegistration: true})
			w.cfg = desktop.Config{Dir: filepath.Join(dir, "desk"), HTTP: func(string) *http.Client { return w.through(&w.swapDesk, true) }}
			w.desk = open(t, w.cfg)
			synctest.Wait()
			f(t, w)
		})
	})
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through is a client whose answers pass a swap.
func (w *world) through(swap *func(string, map[string]any), note bool) *http.Client {
	next := w.node.Client.Transport
	return &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		if note {
			w.mu.Lock()
			w.calls = append(w.calls, r.Method+" "+strings.TrimPrefix(r.URL.Path, byo.BasePath))
			w.mu.Unlock()
		}
		resp, err := next.RoundTrip(r)
		if err != nil || *swap == nil || strings.HasSuffix(r.URL.Path, "/stream") {
			return resp, err
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var m map[string]any
		if json.Unmarshal(data, &m) == nil {
			(*swap)(r.URL.Path, m)
			data, _ = json.Marshal(m)
		}
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		return resp, err
	})}
}

func (w *world) called(what string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		if strings.Contains(c, what) {
			n++
		}
	}
	return n
}

// pair pairs with an assistant; people say what same says about the numbers.
func (w *world) pair(style string, same bool) (dir, id string, deskErr, pluginErr error) {
	w.t.Helper()
	step, err := w.desk.StartPairing(w.t.Context(), desktop.PairRequest{API: "http://relay/", Label: "Studio", Style: style})
	if err != nil {
		w.t.Fatal(err)
	}
	type outcome struct {
		dir string
		err error
	}
	done := make(chan outcome, 1)
	shown := ""
	go func() {
		dir, _, err := assistant.Pair(context.Background(), assistant.PairConfig{Code: step.Code, API: "http://relay", ParentDir: filepath.Join(w.dir, "plugin"), HostLabel: "box",
			ProviderKind: "openclaw", Version: "1.2.0", HTTP: w.through(&w.swapPlugin, false),
			Show: func(_ context.Context, sas string, must bool) (bool, error) {
				shown = sas
				if must {
					now, _ := w.desk.Pairing(step.ID)
					for range 20 {
						if now.Compare {
							break
						}
						time.Sleep(time.Second)
						now, _ = w.desk.Pairing(step.ID)
					}
					if same && now.SAS != sas {
						w.t.Errorf("the desktop shows %q, the assistant %q", now.SAS, sas)
					}
					_ = w.desk.Decide(step.ID, same) // it may have ended by itself
				}
				return same, nil
			}})
		done <- outcome{dir, err}
	}()
	result := <-done
	time.Sleep(10 * time.Second)
	last, _ := w.desk.Pairing(step.ID)
	if last.Code != "" {
		w.t.Error("the code is still shown after the end")
	}
	if last.Error != "" || last.Assistant == nil {
		return result.dir, "", errors.New(last.State + " " + last.Error), result.err
	}
	if last.SAS == "" || shown != last.SAS {
		w.t.Errorf("number on the desktop %q, on the assistant %q", last.SAS, shown)
	}
	return result.dir, last.Assistant.ID, nil, result.err
}

// thinker is an assistant that answers with fixed texts.
type thinker struct {
	reason string
	turn   func(t assistant.Turn, emit func(assistant.Output))
}

func (a *thinker) Reason(context.Context, assistant.Question) (assistant.Answer, error) {
	return assistant.Answer{Text: a.reason, ModelRef: "mock/m"}, nil
}
func (a *thinker) Turn(_ context.Context, t assistant.Turn, emit func(assistant.Output)) error {
	a.turn(t, emit)
	return nil
}
func (a *thinker) Describe(context.Context) (byo.Profile, error) {
	return byo.Profile{Tools: []string{"web_search"}}, nil
}

// run starts the assistant of a folder.
func (w *world) run(dir string, a assistant.Agent) (stop func() error) {
	w.t.Helper()
	c, err := assistant.OpenClient(assistant.ClientConfig{Dir: dir, Agent: a, Version: "1.2.0", Transport: "gateway", HTTP: w.node.Client})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	synctest.Wait()
	var result error
	once := sync.OnceFunc(func() { cancel(); result = <-ended })
	w.t.Cleanup(once)
	return func() error { once(); return result }
}

const quiet = `{"signals":[{"severity":"orange","message":"They asked for a discount."},{"severity":"green","message":"none"}],"no_signal_reason":""}`

func TestOverRelay(t *testing.T) {
	for _, style := range []string{byo.CodeStyleLong, byo.CodeStyleShort} {
		bubble(t, style+" code: jobs, probe, test, chat, calls, the end", func(t *testing.T, w *world) {
			dir, id, err1, err2 := w.pair(style, true)
			if err1 != nil || err2 != nil {
				t.Fatalf("pairing: %v, %v", err1, err2)
			}
			a := w.desk.Assistants()[0]
			want := map[string]string{byo.CodeStyleLong: byo.VerifiedPSK, byo.CodeStyleShort: byo.VerifiedSAS}[style]
			if a.Verified != want || a.BYOVersion != byo.DuplexV2 || a.HostLabel != "box" {
				t.Errorf("assistant %+v", a)
			}
			agent := &thinker{reason: quiet, turn: func(turn assistant.Turn, emit func(assistant.Output)) {
				emit(assistant.Output{Typing: "Thinking"})
				emit(assistant.Output{Message: "You said " + turn.Text})
			}}
			stop := w.run(dir, agent)

			r, err := w.desk.Ask(t.Context(), id, desktop.Question{Purpose: byo.PurposeLiveAnalysis, Input: byo.ReasoningInput{UserPrompt: "Them: can you do better?", ResponseSchema: byo.ResponseSchema(byo.PurposeLiveAnalysis)}})
			if err != nil || string(r.Result) != quiet || r.ModelRef != "mock/m" {
				t.Fatalf("Ask = %+v, %v", r, err)
			}
			if took, err := w.desk.Test(t.Context(), id); err != nil || took > time.Second {
				t.Errorf("Test = %v, %v", took, err)
			}
			agent.reason = "I know the CRM."
			if err := w.desk.Probe(t.Context(), id); err != nil || !strings.Contains(string(w.desk.Assistants()[0].Profile), "I know the CRM.") {
				t.Errorf("Probe = %v, profile %s", err, w.desk.Assistants()[0].Profile)
			}

			if _, err := w.desk.Say(id, "s-7", "/approve"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if got := w.desk.said("s-7", desktop.TabChat); got != "user:/approve | assistant:You said /approve" {
				t.Errorf("chat %s", got)
			}

			agent.reason = quiet
			if _, err := w.desk.StartCall(desktop.CallRequest{AssistantID: id, SessionID: "call-1"}); err != nil {
				t.Fatal(err)
			}
			if err := w.desk.Feed("call-1", desktop.Segment{Speaker: "Them", Text: "Can you do better?", Final: true}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			if got := w.desk.said("call-1", desktop.TabInsights); got != "assistant:They asked for a discount." {
				t.Errorf("insights %s", got)
			}
			if got := w.desk.said("call-1", desktop.TabChat); got != "" {
				t.Errorf("the chat has %s", got)
			}
			if err := w.desk.EndCall("call-1"); err != nil {
				t.Fatal(err)
			}
			agent.reason = `{"summary":"They want a discount.","key_points":[],"action_items":[{"text":"Offer 5 %"}],"follow_ups":[]}`
			if sum, err := w.desk.Summarise(t.Context(), "call-1"); err != nil || sum.ActionItems[0].Text != "Offer 5 %" {
				t.Errorf("Summarise = %+v, %v", sum, err)
			}

			if err := w.desk.Unpair(t.Context(), id); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Second) // SW-24
			if err := stop(); !errors.Is(err, relayclient.ErrRevoked) && !relayclient.Gone(err) {
				t.Errorf("the assistant ended with %v", err)
			}
		})
	}
}

// What waits when either side ends goes on where it was.
func TestOverRelaySurvives(t *testing.T) {
	bubble(t, "restarts of both sides", func(t *testing.T, w *world) {
		dir, id, err1, err2 := w.pair(byo.CodeStyleLong, true)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if _, err := w.desk.Say(id, "s", "one"); err != nil { // nobody is there yet
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.desk.stop()
		agent := &thinker{turn: func(turn assistant.Turn, emit func(assistant.Output)) {
			emit(assistant.Output{Message: "re: " + turn.Text})
		}}
		stop := w.run(dir, agent)
		time.Sleep(5 * time.Second) // the answer waits on the relay
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		w.desk = open(t, w.cfg)
		w.run(dir, agent)
		time.Sleep(5 * time.Second)
		if _, err := w.desk.Say(id, "s", "two"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if got := w.desk.said("s", ""); got != "user:one | assistant:re: one | user:two | assistant:re: two" {
			t.Errorf("conversation %s", got)
		}
	})
}

// SW-06: whatever a relay swaps is found out on one side at least, and then neither has
// a pairing that works.
func TestPairOverRelayRefusesASwap(t *testing.T) {
	secret, err := seal.Generate(nil)
	if err != nil {
		t.Fatal(err)
	}
	other := secret.Public().String()
	for _, style := range []string{byo.CodeStyleLong, byo.CodeStyleShort} {
		for _, field := range []string{"plugin_public_key", "plugin_nonce", "plugin_confirm"} {
			bubble(t, style+" "+field, func(t *testing.T, w *world) {
				w.swapDesk = func(_ string, m map[string]any) {
					if m[field] != nil {
						m[field] = other
					}
				}
				_, _, deskErr, pluginErr := w.pair(style, false)
				if deskErr == nil || pluginErr == nil || len(w.desk.Assistants()) != 0 {
					t.Errorf("desktop: %v, assistant: %v, paired %v", deskErr, pluginErr, w.desk.Assistants())
				}
				if n := w.called("/reveal"); n > 1 {
					t.Errorf("the desktop showed its part %d times", n)
				}
				if w.called("/approve") != 0 {
					t.Error("the desktop approved")
				}
			})
		}
	}
	bubble(t, "people say no", func(t *testing.T, w *world) {
		_, _, deskErr, pluginErr := w.pair(byo.CodeStyleShort, false)
		if deskErr == nil || !strings.Contains(deskErr.Error(), "rejected") || !errors.Is(pluginErr, assistant.ErrNotSame) {
			t.Errorf("desktop: %v, assistant: %v", deskErr, pluginErr)
		}
	})
	bubble(t, "the part is never shown before the assistant's is there", func(t *testing.T, w *world) {
		w.swapDesk = func(_ string, m map[string]any) {
			if m["plugin_nonce"] != nil {
				m["plugin_nonce"] = nil
			}
		}
		step, err := w.desk.StartPairing(t.Context(), desktop.PairRequest{API: "http://relay", Label: "x"})
		if err != nil {
			t.Fatal(err)
		}
		go assistant.Pair(t.Context(), assistant.PairConfig{Code: step.Code, ParentDir: w.dir, ProviderKind: "openclaw", Version: "1.2.0", HTTP: w.node.Client,
			Show: func(context.Context, string, bool) (bool, error) { return true, nil }})
		time.Sleep(10 * time.Minute)
		if n := w.called("/reveal"); n != 0 {
			t.Errorf("shown %d times", n)
		}
		if last, _ := w.desk.Pairing(step.ID); last.Error == "" {
			t.Errorf("the pairing does not end: %+v", last)
		}
	})
}

// A job whose assistant is away ends by its deadline; one that must not wait says so.
func TestJobsWithoutAssistant(t *testing.T) {
	bubble(t, "", func(t *testing.T, w *world) {
		_, id, err1, err2 := w.pair(byo.CodeStyleLong, true)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		time.Sleep(10 * time.Minute)
		began := time.Now()
		_, err := w.desk.Ask(t.Context(), id, desktop.Question{Purpose: byo.PurposeLiveAnalysis})
		var failed *desktop.JobError
		if !errors.As(err, &failed) || failed.Status != byo.JobTimedOut || time.Since(began) > 24*time.Second {
			t.Errorf("Ask = %v after %v", err, time.Since(began))
		}
		if _, err := w.desk.Ask(t.Context(), id, desktop.Question{Purpose: byo.PurposeLiveAnalysis, RequireLive: true}); relayclient.Code(err) != byo.CodeAssistantOffline {
			t.Errorf("Ask that must not wait = %v", err)
		}
	})
}

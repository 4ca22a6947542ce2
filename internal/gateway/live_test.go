package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/turn"
	"openclaw/protocol"
)

// newer makes a client of protocol 4.
func newer(o object) { o["minProtocol"], o["maxProtocol"] = 4, 4 }

// quiet waits until nothing goes on any more and returns the frames that have come
// up to a marker, as their payloads by event, oldest first.
func (c *wsClient) quiet() map[string][]string {
	c.t.Helper()
	synctest.Wait()
	id := c.request("test.marker", nil)
	got := map[string][]string{}
	for {
		f := c.mustNext()
		if f.Type == protocol.TypeResponse && f.ID == id {
			return got
		}
		name := f.Event
		if f.Type == protocol.TypeResponse {
			name = "res"
		}
		text := stampText.ReplaceAllString(string(f.Payload), "T")
		if f.Seq != 0 && (name == protocol.EventSessionsChanged || name == protocol.EventSessionMessage) {
			c.t.Errorf("event %s has seq %d, want none", name, f.Seq)
		}
		got[name] = append(got[name], uuidText.ReplaceAllString(hexText.ReplaceAllString(text, `"<hex8>"`), "<uuid>"))
	}
}

// say writes a message into the transcript of the run's session, as an agent does.
func (h *house) say(r *scriptedRun, m turn.Message) {
	h.t.Helper()
	tr, err := h.store().OpenTranscript(h.t.Context(), session.TranscriptOptions{SessionID: r.req.SessionID})
	if err != nil {
		h.t.Error(err)
		return
	}
	defer tr.Close()
	if _, err := tr.Append(m); err != nil {
		h.t.Error(err)
	}
}

// The methods of protocol 4 that look at sessions and change them, with their texts.
func TestProtocol4Sessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, `{gateway: {mode: "local", auth: {token: "secret"}}, agents: {list: [{id: "main"}, {id: "work"}]}}`)
		c := h.connect(dialer{}, newer)
		h.seed("agent:main:one", "id-1", func(e *session.Entry) { e.Label = "First" }, "hello", "world")
		row := `{"key":"agent:main:one","kind":"direct","label":"First","displayName":"First",%"updatedAt":T,"sessionId":"id-1","totalTokens":0,"modelProvider":"mock","model":"mock-1","contextTokens":200000,"hasActiveRun":false}`
		h.asks(c, [][3]string{
			{"sessions.describe", `{"key":"one"}`, `{"session":` + strings.Replace(row, "%", "", 1) + `}`},
			{"sessions.describe", `{"key":"one","agentId":"main","includeDerivedTitles":true,"includeLastMessage":true}`,
				`{"session":` + strings.Replace(row, "%", `"derivedTitle":"hello","lastMessagePreview":"world",`, 1) + `}`},
			{"sessions.describe", `{"key":"one","agentId":"work"}`, `{"session":null}`},
			{"sessions.describe", `{"key":"none"}`, `{"session":null}`},
			{"sessions.describe", `{"key":"one","agentId":"nobody"}`, `INVALID_REQUEST: unknown agent id "nobody"`},
			{"sessions.describe", `{"key":"agent:main:one","agentId":"work"}`, `INVALID_REQUEST: agent "work" does not match session key agent "main"`},
			{"sessions.describe", `{"later":1}`, `INVALID_REQUEST: invalid sessions.describe params: must have required property 'key'`},

			{"sessions.get", `{"key":"one","limit":1}`, `{"messages":[{"role":"assistant","content":[{"type":"text","text":"world"}],"usage":{"input":10,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":11,` +
				`"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.25}},"stopReason":"stop","timestamp":T}]}`},
			{"sessions.get", `{"key":"none"}`, `{"messages":[]}`},
			{"sessions.get", `{"key":"one","limit":1001}`, `INVALID_REQUEST: invalid sessions.get params: at /limit: must be <= 1000`},

			{"sessions.subscribe", `{}`, `{"subscribed":true}`},
			{"sessions.subscribe", `{"limit":1}`, `{"subscribed":true,"list":{"ts":T,"path":"(multiple)","count":1,"defaults":{"modelProvider":"mock","model":"mock-1","contextTokens":200000},"sessions":[` +
				strings.Replace(strings.Replace(row, "%", "", 1), `,"hasActiveRun":false`, "", 1) + `]}}`},
			{"sessions.unsubscribe", `{}`, `{"subscribed":false}`},
			{"sessions.messages.subscribe", `{"key":"One"}`, `{"subscribed":true,"key":"agent:main:one"}`},
			{"sessions.messages.subscribe", `{"key":"x","agentId":"Work"}`, `{"subscribed":true,"key":"agent:work:x"}`},
			{"sessions.messages.unsubscribe", `{"key":"one"}`, `{"subscribed":false,"key":"agent:main:one"}`},
			{"sessions.messages.subscribe", `{"key":"unknown"}`, `INVALID_REQUEST: invalid session key`},
			{"sessions.messages.subscribe", `{"key":"x","agentId":"nobody"}`, `INVALID_REQUEST: unknown agent id "nobody"`},
			{"sessions.messages.unsubscribe", `{"key":"x","agentId":"nobody"}`, `INVALID_REQUEST: unknown agent id "nobody"`},

			{"sessions.abort", `{}`, `INVALID_REQUEST: key or runId required`},
			{"sessions.abort", `{"key":"one"}`, `{"ok":true,"status":"no-active-run","abortedRunId":null,"aborted":false,"runIds":[]}`},
			{"sessions.send", `{"key":"none","message":"x"}`, `INVALID_REQUEST: session not found: none`},
			{"sessions.send", `{"key":"one","message":" "}`, `INVALID_REQUEST: message or attachment required`},
			{"sessions.send", `{"key":"one"}`, `INVALID_REQUEST: invalid sessions.send params: must have required property 'message'`},

			{"sessions.create", `{"agentId":"work","label":"New"}`, `{"ok":true,"key":"agent:work:session:<uuid>","sessionId":"<uuid>","entry":{"sessionId":"<uuid>","updatedAt":T,"label":"New"},` +
				`"resolved":{"modelProvider":"mock","model":"mock-1"},"runStarted":false}`},
			{"sessions.create", `{"agentId":"nobody"}`, `INVALID_REQUEST: unknown agent id "nobody"`},
			{"sessions.create", `{"key":"mine","message":"stop"}`, `{"ok":true,"key":"agent:main:mine","sessionId":"<uuid>","entry":{"sessionId":"<uuid>","updatedAt":T},"resolved":{"modelProvider":"mock","model":"mock-1"},"runStarted":false}`},
		})
		h.close()
	})
}

// GW-065: on protocol 3 the methods of protocol 4 do not exist.
func TestProtocol4MethodsOn3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		admin := h.connect(dialer{}, func(o object) { o["caps"] = []string{protocol.CapOpenClawGo} })
		reader := h.connect(dialer{}, scopes(protocol.ScopeRead, protocol.ScopeWrite))
		for name, m := range h.g.methods {
			if !m.only4 {
				continue
			}
			if got, want := admin.ask(name, `{}`), "INVALID_REQUEST: unknown method: "+name; got != want {
				t.Errorf("%s on protocol 3 = %s, want %s", name, got, want)
			}
			if got, want := reader.ask(name, `{}`), "INVALID_REQUEST: missing scope: operator.admin"; got != want {
				t.Errorf("%s on protocol 3 without admin = %s, want %s", name, got, want)
			}
		}
		h.close()
	})
}

// Who follows a session hears everything of it, whoever started what, under the
// canonical key; who does not hears nothing beyond the broadcasts.
func TestFollowASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		h.g.methods["test.marker"] = method{scope: scopeRead, run: nothing}
		starter := h.connect(dialer{}, newer)
		follower := h.connect(dialer{}, newer, scopes(protocol.ScopeRead))
		lister := h.connect(dialer{}, newer, scopes(protocol.ScopeRead))
		other := h.connect(dialer{}, newer, scopes(protocol.ScopeRead))
		follower.ask("sessions.messages.subscribe", `{"key":"main"}`)
		other.ask("sessions.messages.subscribe", `{"key":"elsewhere"}`)
		lister.ask("sessions.subscribe", `{}`)
		for _, c := range []*wsClient{starter, follower, lister, other} {
			time.Sleep(time.Second)
			c.quiet()
		}
		if f := starter.call(protocol.MethodChatSend, object{"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"}); !f.OK {
			t.Fatal(f.Error)
		}
		h.runner.do("k1", func(r *scriptedRun) {
			h.say(r, turn.User(r.req.Prompt, time.Now()))
			r.emit(run.Event{Stream: run.StreamTool, Tool: &run.Tool{Phase: run.PhaseStart, Name: "exec", CallID: "c1", Args: json.RawMessage(`{"command":"ls"}`)}})
			r.emit(run.Event{Stream: run.StreamTool, Tool: &run.Tool{Phase: run.PhaseResult, Name: "exec", CallID: "c1", Result: &run.ToolOutput{Content: turn.Text("secret")}}})
			r.say("hi", "hi")
			h.say(r, turn.Message{Role: turn.RoleAssistant, Content: turn.Text("hi"), StopReason: turn.StopEnd, Timestamp: time.Now().UnixMilli()})
		})
		h.runner.finish("k1", "")
		got := map[string]map[string][]string{}
		for name, c := range map[string]*wsClient{"starter": starter, "follower": follower, "lister": lister, "other": other} {
			got[name] = c.quiet()
		}
		has := func(who, event string, want ...string) {
			t.Helper()
			list := got[who][event]
			if len(list) != len(want) {
				t.Errorf("%s got %d %s events, want %d:\n%s", who, len(list), event, len(want), strings.Join(list, "\n"))
				return
			}
			for i, w := range want {
				for part := range strings.SplitSeq(w, " && ") {
					if neg, ok := strings.CutPrefix(part, "!"); strings.Contains(list[i], strings.TrimPrefix(part, "!")) == ok {
						t.Errorf("%s: %s event %d = %s, want it with %q (%q)", who, event, i, list[i], part, neg)
					}
				}
			}
		}
		plain, canonical := `"sessionKey":"main"`, `"sessionKey":"agent:main:main"`
		has("starter", "agent", `"phase":"start" && `+plain, `"text":"hi" && `+plain, `"phase":"end" && `+plain)
		has("starter", "chat", `"state":"delta" && `+plain, `"state":"final" && `+plain)
		has("starter", "session.message")
		has("follower", "agent", `"phase":"start" && `+canonical, `"name":"exec" && "args":{"command":"ls"} && `+canonical, `"phase":"result" && !secret && `+canonical,
			`"text":"hi" && `+canonical, `"phase":"end" && `+canonical)
		has("follower", "chat", `"state":"delta" && "deltaText":"hi" && `+canonical, `"state":"final" && `+canonical)
		has("follower", "session.message",
			canonical+` && "agentId":"main" && "message":{"role":"user","content":[{"type":"text","text":"hello"}] && "messageId":"<hex8>" && "runId":"k1"`,
			`"message":{"role":"assistant" && "text":"hi"`)
		has("follower", "sessions.changed", `"reason":"run","phase":"start","runId":"k1" && "hasActiveRun":true`, `"phase":"end" && "hasActiveRun":false && !activeRunId`)
		has("follower", "chat.user", `"sessionKey":"main","runId":"k1" && "content":[{"type":"text","text":"hello"}]`)
		has("lister", "agent", plain, plain, plain)
		has("lister", "sessions.changed", canonical+` && "phase":"start"`, `"phase":"end"`)
		has("lister", "session.message")
		has("other", "agent", plain, plain, plain)
		has("other", "sessions.changed")
		has("other", "session.message")
		has("starter", "chat.user")

		// After the end of the subscription there is nothing more.
		follower.ask("sessions.messages.unsubscribe", `{"key":"agent:main:main"}`)
		lister.ask("sessions.unsubscribe", `{}`)
		h.seed("agent:main:main", "id-9", nil, "more", "yes")
		starter.ask("sessions.patch", `{"key":"main","label":"L"}`)
		for who, c := range map[string]*wsClient{"follower": follower, "lister": lister} {
			rest := c.quiet()
			if len(rest["session.message"])+len(rest["sessions.changed"]) > 0 {
				t.Errorf("%s still hears %v", who, rest)
			}
		}
		h.close()
	})
}

func nothing(context.Context, *Gateway, *request) (any, error) { return nil, nil }

// Every change of a session is told, with the row or with nothing.
func TestSessionsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		h.g.methods["test.marker"] = method{scope: scopeRead, run: nothing}
		c, admin := h.connect(dialer{}, newer, scopes(protocol.ScopeRead)), h.connect(dialer{}, newer)
		c.ask("sessions.subscribe", `{}`)
		h.seed("agent:main:one", "id-1", nil, "a", "b", "c", "d", "e", "f")
		for _, step := range []struct{ method, params, reason, with string }{
			{"sessions.patch", `{"key":"one","label":"L"}`, "patch", `"label":"L"`},
			{"sessions.compact", `{"key":"one","maxLines":2}`, "compact", `"key":"agent:main:one"`},
			{"sessions.reset", `{"key":"one"}`, "reset", `"totalTokens":0`},
			{"sessions.create", `{"key":"two"}`, "create", `"key":"agent:main:two"`},
			{"sessions.delete", `{"key":"one"}`, "delete", `"session":null`},
		} {
			c.quiet()
			if got := admin.ask(step.method, step.params); !strings.Contains(got, `"ok":true`) {
				t.Fatalf("%s = %s", step.method, got)
			}
			list := c.quiet()[protocol.EventSessionsChanged]
			if len(list) != 1 || !strings.Contains(list[0], `"reason":"`+step.reason+`"`) || !strings.Contains(list[0], step.with) {
				t.Errorf("%s was told as %q, want reason %s with %s", step.method, list, step.reason, step.with)
			}
		}
		h.close()
	})
}

// A message to a session, and stopping what it started.
func TestSessionsSendAndAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c, watcher := h.connect(dialer{}, newer, scopes(protocol.ScopeWrite)), h.connect(dialer{})
		h.seed("agent:main:one", "id-1", nil, "a", "b")
		send := func(params object) protocol.ChatSendResult {
			t.Helper()
			f := c.call(protocol.MethodSessionsSend, params)
			var res protocol.ChatSendResult
			if err := json.Unmarshal(f.Payload, &res); err != nil || !f.OK {
				t.Fatalf("sessions.send = %+v, %v", f.Error, err)
			}
			return res
		}
		// Without a key of its own a message gets one.
		res := send(object{"key": "one", "message": "hello"})
		if res.Status != protocol.StatusStarted || !uuidText.MatchString(res.RunID) {
			t.Errorf("sessions.send = %+v, want it started under a fresh id", res)
		}
		synctest.Wait()
		if got, want := c.ask("sessions.abort", `{"runId":"`+res.RunID+`"}`), `{"ok":true,"status":"aborted","abortedRunId":"<uuid>","aborted":true,"runIds":["<uuid>"]}`; got != want {
			t.Errorf("sessions.abort = %s, want %s", got, want)
		}
		for {
			if f := watcher.event(protocol.EventChat); strings.Contains(string(f.Payload), `"state":"aborted","stopReason":"rpc"`) {
				break
			}
		}
		// With one a repetition is not a second message.
		again := object{"key": "one", "message": "hello", "idempotencyKey": "k2"}
		send(again)
		if res := send(again); res.Status != protocol.StatusInFlight || res.RunID != "k2" {
			t.Errorf("repeated sessions.send = %+v, want in_flight", res)
		}
		if got := c.ask("sessions.abort", `{"key":"elsewhere","runId":"k2"}`); got != "INVALID_REQUEST: runId does not match sessionKey" {
			t.Errorf("sessions.abort elsewhere = %s", got)
		}
		// Runs of agent requests are stopped as well.
		if f := c.call(protocol.MethodSessionsAbort, object{"key": "one", "clearQueued": true}); !strings.Contains(string(f.Payload), `"runIds":["k2"]`) {
			t.Errorf("sessions.abort = %s", f.Payload)
		}
		asker := h.connect(dialer{}, newer)
		id := asker.request(protocol.MethodAgent, object{"sessionKey": "two", "message": "x", "idempotencyKey": "k3"})
		asker.response(id)
		synctest.Wait()
		if f := c.call(protocol.MethodSessionsAbort, object{"key": "two"}); !strings.Contains(string(f.Payload), `"runIds":["k3"]`) {
			t.Errorf("sessions.abort of an agent run = %s", f.Payload)
		}
		asker.response(id)
		// chat.send needs no key on protocol 4 either, on 3 it does.
		if got, want := c.ask("chat.send", `{"sessionKey":"three","message":"x"}`), `{"runId":"<uuid>","status":"started"}`; got != want {
			t.Errorf("chat.send without a key = %s, want %s", got, want)
		}
		old := h.connect(dialer{})
		if got := old.ask("chat.send", `{"sessionKey":"three","message":"x"}`); got != "INVALID_REQUEST: invalid chat.send params: must have required property 'idempotencyKey'" {
			t.Errorf("chat.send without a key on protocol 3 = %s", got)
		}
		// A new session that is spoken to at once; the answer comes before its events.
		f := c.call(protocol.MethodSessionsCreate, object{"message": "hello", "label": "Fresh"})
		var made protocol.SessionsCreateResult
		if err := json.Unmarshal(f.Payload, &made); err != nil || !made.RunStarted || made.RunID == "" {
			t.Fatalf("sessions.create = %s, %v", f.Payload, err)
		}
		h.runner.finish(made.RunID, "hi")
		for {
			if f := c.event(protocol.EventChat); strings.Contains(string(f.Payload), made.RunID) && strings.Contains(string(f.Payload), `"state":"final"`) {
				break
			}
		}
		for range 2 {
			c.ask("sessions.abort", `{"key":"three","clearQueued":true}`)
		}
		h.close()
	})
}

// chat.user goes to the other readers who understand it, once for each new message.
func TestChatUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		h.g.methods["test.marker"] = method{scope: scopeRead, run: nothing}
		own := func(o object) { o["caps"] = []string{protocol.CapOpenClawGo} }
		sender := h.connect(dialer{}, own)
		seen := map[string]*wsClient{
			"newer": h.connect(dialer{}, newer, scopes(protocol.ScopeRead)),
			"own":   h.connect(dialer{}, own, scopes(protocol.ScopeRead)),
		}
		blind := map[string]*wsClient{
			"plain": h.connect(dialer{}, scopes(protocol.ScopeRead)),
			"none":  h.connect(dialer{}, own, scopes(protocol.ScopePairing)),
		}
		h.g.methods["test.marker"] = method{scope: scopeRead, run: nothing}
		picture := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 20)...))
		msg := object{"sessionKey": "Main", "message": "look", "idempotencyKey": "k1", "attachments": []object{{"type": "image", "content": picture}}}
		if f := sender.call(protocol.MethodChatSend, msg); !f.OK {
			t.Fatal(f.Error)
		}
		if f := sender.call(protocol.MethodChatSend, msg); !strings.Contains(string(f.Payload), protocol.StatusInFlight) {
			t.Errorf("repeated chat.send = %s", f.Payload)
		}
		h.runner.finish("k1", "nice")
		want := `{"sessionKey":"Main","runId":"k1","message":{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","bytes":28}],"timestamp":T},"ts":T}`
		for name, c := range seen {
			if got := c.quiet()[protocol.EventChatUser]; !slices.Equal(got, []string{want}) {
				t.Errorf("%s got %q, want %q once", name, got, want)
			}
		}
		if got := blind["plain"].quiet()[protocol.EventChatUser]; got != nil {
			t.Errorf("a plain client got %q", got)
		}
		if got := sender.quiet()[protocol.EventChatUser]; got != nil {
			t.Errorf("the sender got its own words: %q", got)
		}
		h.close()
	})
}

// On protocol 4 the params of sessions.patch decide what it asks for; every
// setting has been thought of.
func TestPatchScope(t *testing.T) {
	modest := []string{"key", "label", "thinkingLevel", "verboseLevel", "reasoningLevel", "responseUsage", "model"}
	typ := reflect.TypeFor[protocol.SessionsPatchParams]()
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		want := scopeAdmin
		switch {
		case slices.Contains(modest, name):
			want = scopeWrite
		case !slices.Contains(powerful, name):
			t.Errorf("setting %s is neither modest nor powerful", name)
		}
		for _, form := range []string{name, strings.ToUpper(name)} {
			if got := patchScope(json.RawMessage(`{"key":"x","` + form + `":null}`)); got != want {
				t.Errorf("scope of sessions.patch with %s = %v, want %v", form, got, want)
			}
		}
	}
	if got := patchScope(json.RawMessage(`{"exec\u0048ost":1}`)); got != scopeAdmin {
		t.Errorf("scope with an escaped key = %v, want admin", got)
	}
	if got := patchScope(json.RawMessage(`[]`)); got != scopeAdmin {
		t.Errorf("scope of params that are no object = %v, want admin", got)
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c, old := h.connect(dialer{}, newer, scopes(protocol.ScopeWrite)), h.connect(dialer{}, scopes(protocol.ScopeWrite))
		if got := c.ask("sessions.patch", `{"key":"one","label":"L"}`); !strings.Contains(got, `"ok":true`) {
			t.Errorf("sessions.patch of a label by a writer = %s", got)
		}
		if got := c.ask("sessions.patch", `{"key":"one","execHost":"node"}`); got != "FORBIDDEN: missing scope: operator.admin" {
			t.Errorf("sessions.patch of execHost by a writer = %s", got)
		}
		if got := old.ask("sessions.patch", `{"key":"one","label":"L"}`); got != "INVALID_REQUEST: missing scope: operator.admin" {
			t.Errorf("sessions.patch by a writer on protocol 3 = %s", got)
		}
		h.close()
	})
}

// A client that is behind misses news of sessions instead of piling them up.
func TestOffer(t *testing.T) {
	o := newOutbox(10)
	o.offer([]byte("0123456789a"))
	o.offer([]byte("dropped"))
	if batch, _ := o.take(nil); len(batch) != 1 || o.dropped != 1 {
		t.Errorf("queue has %d frames, %d dropped, want 1 and 1", len(batch), o.dropped)
	}
	o.close(farewell{})
	o.offer([]byte("late"))
	if batch, _ := o.take(nil); len(batch) != 0 {
		t.Error("a closed queue took an event")
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	var s subscriptions
	var h hub
	s.begin(&h)
	s.begin(&h)
	if got := h.subscribers.Load(); got != 1 {
		t.Errorf("%d subscribers, want 1", got)
	}
	s.end(&h)
	s.begin(&h) // too late
	if got := h.subscribers.Load(); got != 0 {
		t.Errorf("%d subscribers after the end, want none", got)
	}
	for i := range maxFollowed {
		if !s.follow(string(rune('a' + i))) {
			t.Fatalf("follow refused at %d", i)
		}
	}
	if s.follow("one more") {
		t.Error("follow beyond the bound = true")
	}
	if !s.follow("a") {
		t.Error("following again = false, want true")
	}
	s.unfollow("a")
	s.unfollow("not there")
	if s.follows("a") || !s.follow("one more") || !s.follows("one more") {
		t.Error("the place of a session that is not followed any more is not free")
	}
}

// BenchmarkUnheard is what news cost while nobody has subscribed.
func BenchmarkUnheard(b *testing.B) {
	g := New(Config{})
	for range 1000 {
		c := &conn{out: newOutbox(1 << 20)}
		g.hub.enter(c)
		g.hub.join(c, func() {})
	}
	for b.Loop() {
		g.Appended(session.Appended{})
	}
}

// Protocol 4: requests may carry more than their envelope knows, on 3 they may not;
// and asking for a run that is under way says that it is.
func TestProtocol4Requests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c, old := h.connect(dialer{}, newer), h.connect(dialer{})
		first := h.dial(dialer{})
		first.challenge()
		data, err := json.Marshal(object{"type": "req", "id": "c", "method": "connect", "params": hello(newer), "traceparent": "00-1"})
		if err != nil {
			t.Fatal(err)
		}
		first.sendText(string(data))
		if f := first.response("c"); !f.OK {
			t.Errorf("connect with a traceparent = %+v, want hello-ok", f.Error)
		}
		frame := `{"type":"req","id":"x","method":"status","traceparent":"00-1","expectedProfileId":"p"}`
		c.sendText(frame)
		if f := c.response("x"); !f.OK {
			t.Errorf("request with a traceparent = %+v, want it answered", f.Error)
		}
		old.sendText(frame)
		if f := old.response("x"); f.Error == nil || !strings.Contains(f.Error.Message, "at root: unexpected property 'traceparent'") {
			t.Errorf("request with a traceparent on protocol 3 = %+v, want it refused", f)
		}
		if f := c.call(protocol.MethodChatSend, object{"sessionKey": "main", "message": "x", "idempotencyKey": "k1"}); !f.OK {
			t.Fatal(f.Error)
		}
		synctest.Wait()
		for _, q := range []struct {
			c            *wsClient
			params, want string
		}{
			{c, `{"runId":"k1","timeoutMs":0}`, `{"runId":"k1","status":"pending"}`},
			{c, `{"runId":"k1","timeoutMs":5}`, `{"runId":"k1","status":"timeout"}`},
			{c, `{"runId":"k2","timeoutMs":0}`, `{"runId":"k2","status":"timeout"}`},
			{old, `{"runId":"k1","timeoutMs":0}`, `{"runId":"k1","status":"timeout"}`},
		} {
			if got := q.c.ask("agent.wait", q.params); got != q.want {
				t.Errorf("agent.wait %s = %s, want %s", q.params, got, q.want)
			}
		}
		h.runner.finish("k1", "")
		synctest.Wait()
		h.close()
	})
}

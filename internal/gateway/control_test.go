package gateway

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"openclaw/internal/chat"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/turn"
	"openclaw/protocol"
)

var (
	stampText = regexp.MustCompile(`946[678]\d{8}`)
	fileStamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z`)
	hexText   = regexp.MustCompile(`"[0-9a-f]{8}"`)
	mtimeText = regexp.MustCompile(`"updatedAtMs":\d+`)
)

// ask returns the answer to a request in one line: the payload, or code and text
// of the error. What differs between plays is written as a placeholder.
func (c *wsClient) ask(method, params string) string {
	c.t.Helper()
	f := c.call(method, json.RawMessage(params))
	text := string(f.Payload)
	if !f.OK {
		text = f.Error.Code + ": " + f.Error.Message
		if f.Error.Retryable {
			text += fmt.Sprintf(" (again in %d ms)", f.Error.RetryAfterMs)
		}
	}
	text = stampText.ReplaceAllString(text, "T")
	text = fileStamp.ReplaceAllString(text, "<time>")
	text = mtimeText.ReplaceAllString(text, `"updatedAtMs":M`)
	text = hexText.ReplaceAllString(text, `"<hex8>"`)
	return uuidText.ReplaceAllString(text, "<uuid>")
}

// asks plays questions and compares the answers, in order.
func (h *house) asks(c *wsClient, list [][3]string) {
	h.t.Helper()
	for _, q := range list {
		if got := strings.ReplaceAll(c.ask(q[0], q[1]), h.dir, "~"); got != q[2] {
			h.t.Errorf("%s %s\n got %s\nwant %s", q[0], q[1], got, q[2])
		}
	}
}

// store is the session store of the main agent.
func (h *house) store() *session.Store { return h.storeOf("main") }

func (h *house) storeOf(agent string) *session.Store {
	h.t.Helper()
	st, err := h.g.cfg.Sessions(agent)
	if err != nil {
		h.t.Fatal(err)
	}
	return st
}

// seed gives a session a transcript: texts alternate between user and assistant.
func (h *house) seed(key, id string, change func(*session.Entry), texts ...string) {
	h.t.Helper()
	st := h.storeOf(chat.AgentOf(key, h.Snapshot().Config.DefaultAgentID()))
	_, err := st.Update(h.t.Context(), key, func(e *session.Entry) error {
		e.SessionID = id
		if change != nil {
			change(e)
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	if len(texts) == 0 {
		return
	}
	tr, err := st.OpenTranscript(h.t.Context(), session.TranscriptOptions{SessionID: id})
	if err != nil {
		h.t.Fatal(err)
	}
	for i, text := range texts {
		m := turn.User("[Sat 2000-01-01 00:00 UTC] "+text, time.Now())
		if i%2 == 1 {
			m = turn.Message{Role: turn.RoleAssistant, Content: turn.Text(text), StopReason: turn.StopEnd, Timestamp: time.Now().UnixMilli(),
				Usage: &turn.Usage{Input: 10, Output: 1, TotalTokens: 11, Cost: turn.Cost{Total: 0.25}}}
		}
		if _, err := tr.Append(m); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := tr.Close(); err != nil {
		h.t.Fatal(err)
	}
}

// GW-111, GW-112, and every text of the methods that look for sessions and change them.
func TestSessionMethods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		h.seed("agent:main:one", "id-1", func(e *session.Entry) { e.Label = "First" }, "hello", "world", "again", strings.Repeat("long ", 100))
		h.seed("agent:main:bare", "id-2", nil)
		h.seed("agent:main:main", "id-3", nil, "main", "yes")
		h.asks(c, [][3]string{
			{"sessions.preview", `{"keys":["one","agent:main:bare","nope","agent:nobody:x"],"limit":3,"maxChars":20}`,
				`{"ts":T,"previews":[{"key":"one","status":"ok","items":[{"role":"assistant","text":"world"},{"role":"user","text":"again"},{"role":"assistant","text":"long long long long…"}]},` +
					`{"key":"agent:main:bare","status":"empty","items":[]},{"key":"nope","status":"missing","items":[]},{"key":"agent:nobody:x","status":"missing","items":[]}]}`},
			{"sessions.preview", `{}`, `INVALID_REQUEST: invalid sessions.preview params: must have required property 'keys'`},
			{"sessions.preview", `{"keys":[]}`, `INVALID_REQUEST: invalid sessions.preview params: at /keys: must NOT have fewer than 1 items`},
			{"sessions.preview", `{"keys":[""],"limit":0,"maxChars":19}`, `INVALID_REQUEST: invalid sessions.preview params: at /keys/0: must NOT have fewer than 1 characters; at /limit: must be >= 1; at /maxChars: must be >= 20`},

			{"sessions.resolve", `{"key":"ONE"}`, `{"ok":true,"key":"agent:main:one"}`},
			{"sessions.resolve", `{"sessionId":"id-1"}`, `{"ok":true,"key":"agent:main:one"}`},
			{"sessions.resolve", `{"label":"First"}`, `{"ok":true,"key":"agent:main:one"}`},
			{"sessions.resolve", `{"key":"none"}`, `INVALID_REQUEST: No session found: none`},
			{"sessions.resolve", `{"sessionId":"none"}`, `INVALID_REQUEST: No session found: none`},
			{"sessions.resolve", `{"label":"none"}`, `INVALID_REQUEST: No session found with label: none`},
			{"sessions.resolve", `{}`, `INVALID_REQUEST: Either key, sessionId, or label is required`},
			{"sessions.resolve", `{"key":"a","label":"b"}`, `INVALID_REQUEST: Provide either key, sessionId, or label (not multiple)`},

			{"sessions.compact", `{"key":"none"}`, `{"ok":true,"key":"agent:main:none","compacted":false,"reason":"no sessionId"}`},
			{"sessions.compact", `{"key":"bare"}`, `{"ok":true,"key":"agent:main:bare","compacted":false,"reason":"no transcript"}`},
			{"sessions.compact", `{"key":"one"}`, `{"ok":true,"key":"agent:main:one","compacted":false,"kept":5}`},
			{"sessions.compact", `{"key":"one","maxLines":3}`, `{"ok":true,"key":"agent:main:one","compacted":true,"archived":"~/agents/main/sessions/id-1.jsonl.bak.<time>","kept":3}`},
			{"sessions.compact", `{"key":"agent:nobody:x"}`, `INVALID_REQUEST: unknown agent id "nobody"`},
			{"sessions.compact", `{"key":"one","maxLines":0}`, `INVALID_REQUEST: invalid sessions.compact params: at /maxLines: must be >= 1`},
			{"sessions.preview", `{"keys":["one"],"maxChars":20}`, `{"ts":T,"previews":[{"key":"one","status":"ok","items":[{"role":"user","text":"again"},{"role":"assistant","text":"long long long long…"}]}]}`},

			{"chat.inject", `{"sessionKey":"main","message":"a note","label":"sys"}`, `{"ok":true,"messageId":"<hex8>"}`},
			{"chat.inject", `{"sessionKey":"none","message":"x"}`, `INVALID_REQUEST: session not found`},
			{"chat.inject", `{"sessionKey":"bare","message":"x"}`, `INVALID_REQUEST: transcript file not found`},
			{"chat.inject", `{"sessionKey":"main","message":"","label":"` + strings.Repeat("x", 101) + `"}`,
				`INVALID_REQUEST: invalid chat.inject params: at /message: must NOT have fewer than 1 characters; at /label: must NOT have more than 100 characters`},

			{"sessions.delete", `{"key":"main"}`, `INVALID_REQUEST: Cannot delete the main session (agent:main:main).`},
			{"sessions.delete", `{"key":"one"}`, `{"ok":true,"key":"agent:main:one","deleted":true,"archived":["~/agents/main/sessions/id-1.jsonl.deleted.<time>"]}`},
			{"sessions.delete", `{"key":"one"}`, `{"ok":true,"key":"agent:main:one","deleted":false,"archived":[]}`},
			{"sessions.delete", `{"key":"bare","deleteTranscript":false}`, `{"ok":true,"key":"agent:main:bare","deleted":true,"archived":[]}`},
			{"sessions.delete", `{"key":"agent:nobody:x"}`, `INVALID_REQUEST: unknown agent id "nobody"`},
			{"sessions.delete", `{"deleteTranscript":1}`, `INVALID_REQUEST: invalid sessions.delete params: must have required property 'key'; at /deleteTranscript: must be boolean`},
		})
		h.close()
	})
}

// A session that does not come to rest is left alone, and the caller hears when to
// try again.
func TestDeleteOfABusySession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		if f := c.call(protocol.MethodChatSend, object{"sessionKey": "busy", "message": "work", "idempotencyKey": "k1"}); !f.OK {
			t.Fatal(f.Error)
		}
		hold := make(chan struct{})
		h.runner.do("k1", func(*scriptedRun) { <-hold })
		synctest.Wait()
		began := time.Now()
		got := c.ask("sessions.delete", `{"key":"busy"}`)
		if want := "UNAVAILABLE: Session agent:main:busy is still active; try again in a moment. (again in 1000 ms)"; got != want {
			t.Errorf("sessions.delete = %s, want %s", got, want)
		}
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("it took %v, want 15 s", took)
		}
		close(hold)
		if got, want := c.ask("sessions.delete", `{"key":"busy"}`), `{"ok":true,"key":"agent:main:busy","deleted":true,"archived":[]}`; got != want {
			t.Errorf("sessions.delete = %s, want %s", got, want)
		}
		h.close()
	})
}

// GW-104: the shape of chat.inject, in the event and in the transcript.
func TestGW104ChatInject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c, other := h.connect(dialer{}), h.connect(dialer{})
		h.seed("agent:main:main", "id-3", nil, "question", "answer")
		f := c.call(protocol.MethodChatInject, object{"sessionKey": "Main", "message": "a note"})
		var res protocol.ChatInjectResult
		if err := json.Unmarshal(f.Payload, &res); err != nil || !f.OK {
			t.Fatalf("chat.inject = %+v, %v", f.Error, err)
		}
		got := strings.ReplaceAll(string(other.event(protocol.EventChat).Payload), res.MessageID, "<id>")
		want := `{"runId":"inject-<id>","sessionKey":"Main","seq":0,"state":"final","message":{"role":"assistant","content":[{"type":"text","text":"a note"}],"timestamp":946684800000,` +
			`"stopReason":"injected","usage":{"input":0,"output":0,"totalTokens":0}}}`
		if got != want {
			t.Errorf("event = %s\nwant %s", got, want)
		}
		data, err := os.ReadFile(filepath.Join(h.store().Dir(), "id-3.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, `"id":"`+res.MessageID+`"`) || !strings.Contains(last, `"stopReason":"injected"`) || !strings.Contains(last, "a note") {
			t.Errorf("last line of the transcript = %s", last)
		}
		// An error of the disk is told with the words that clients know.
		path := filepath.Join(h.store().Dir(), "id-4.jsonl")
		h.seed("agent:main:broken", "id-4", nil)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if got := c.ask("chat.inject", `{"sessionKey":"broken","message":"x"}`); !strings.HasPrefix(got, "UNAVAILABLE: failed to write transcript: ") {
			t.Errorf("chat.inject into a folder = %s", got)
		}
		h.close()
	})
}

// GW-104: chat.history is ordered, limited in messages and in bytes, and shows the
// words of people without their envelope.
func TestGW104ChatHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		texts := make([]string, 0, 2400)
		for i := range 1200 {
			texts = append(texts, fmt.Sprint("question ", i), fmt.Sprint("answer ", i))
		}
		h.seed("agent:main:long", "long", nil, texts...)
		history := func(params object) (protocol.ChatHistoryResult, []string) {
			t.Helper()
			f := c.call(protocol.MethodChatHistory, params)
			var res protocol.ChatHistoryResult
			if err := json.Unmarshal(f.Payload, &res); err != nil || !f.OK {
				t.Fatalf("chat.history %v = %+v, %v", params, f.Error, err)
			}
			var said []string
			for _, raw := range res.Messages {
				var m turn.Message
				if err := json.Unmarshal(raw, &m); err != nil {
					t.Fatal(err)
				}
				said = append(said, m.Text())
			}
			return res, said
		}
		for limit, want := range map[int]int{0: 200, 1: 1, 3: 3, 1000: 1000} {
			params := object{"sessionKey": "Long"}
			if limit > 0 {
				params["limit"] = limit
			}
			res, said := history(params)
			if diff := gocmp.Diff(texts[len(texts)-want:], said); diff != "" || res.SessionID != "long" || res.SessionKey != "Long" {
				t.Errorf("chat.history limit %d of %s (-want +got):\n%s", limit, res.SessionID, diff)
			}
		}
		big := strings.Repeat("x", 1<<20)
		h.seed("agent:main:big", "big", nil, "0"+big, "1"+big, "2"+big, "3"+big, "4"+big, "5"+big, "6"+big, "7"+big)
		res, said := history(object{"sessionKey": "big"})
		size := 0
		for _, raw := range res.Messages {
			size += len(raw)
		}
		if len(said) != 5 || said[0][0] != '3' || size > 6<<20 {
			t.Errorf("chat.history of 8 MiB has %d messages of %d bytes, want the last 5 within 6 MiB", len(said), size)
		}
		h.asks(c, [][3]string{
			{"chat.history", `{"sessionKey":"none"}`, `{"sessionKey":"none","messages":[],"thinkingLevel":"off"}`},
			{"chat.history", `{"sessionKey":"agent:nobody:x"}`, `{"sessionKey":"agent:nobody:x","messages":[],"thinkingLevel":"off"}`},
			{"chat.history", `{"sessionKey":"","limit":1001}`, `INVALID_REQUEST: invalid chat.history params: at /sessionKey: must NOT have fewer than 1 characters; at /limit: must be <= 1000`},
		})
		h.close()
	})
}

// GW-121 over the wire, with every text.
func TestGW121AgentFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, `{gateway: {mode: "local", auth: {token: "secret"}}, agents: {list: [{id: "main"}, {id: "work"}]}}`)
		c := h.connect(dialer{})
		if err := os.WriteFile(filepath.Join(h.dir, "secret"), []byte("s"), 0o600); err != nil {
			t.Fatal(err)
		}
		work := filepath.Join(h.dir, "ws")
		h.g.cfg.Workspace = func(id string) string { return filepath.Join(work, id) }
		missing := `{"agentId":"main","workspace":"~/ws/main","files":[`
		for _, name := range []string{"AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md"} {
			missing += `{"name":"` + name + `","path":"~/ws/main/` + name + `","missing":true},`
		}
		missing = strings.TrimSuffix(missing, ",") + "]}"
		h.asks(c, [][3]string{
			{"agents.files.list", `{"agentId":"Main"}`, missing},
			{"agents.files.list", `{"agentId":"nobody"}`, `INVALID_REQUEST: unknown agent id`},
			{"agents.files.list", `{}`, `INVALID_REQUEST: invalid agents.files.list params: must have required property 'agentId'`},
			{"agents.files.get", `{"agentId":"main","name":"MEMORY.md"}`, `{"agentId":"main","workspace":"~/ws/main","file":{"name":"MEMORY.md","path":"~/ws/main/MEMORY.md","missing":true}}`},
			{"agents.files.set", `{"agentId":"main","name":"MEMORY.md","content":"test memory\n"}`,
				`{"ok":true,"agentId":"main","workspace":"~/ws/main","file":{"name":"MEMORY.md","path":"~/ws/main/MEMORY.md","missing":false,"size":12,"updatedAtMs":M,"content":"test memory\n"}}`},
			{"agents.files.get", `{"agentId":"main","name":"MEMORY.md"}`,
				`{"agentId":"main","workspace":"~/ws/main","file":{"name":"MEMORY.md","path":"~/ws/main/MEMORY.md","missing":false,"size":12,"updatedAtMs":M,"content":"test memory\n"}}`},
			{"agents.files.get", `{"agentId":"main","name":"secrets.txt"}`, `INVALID_REQUEST: unsupported file "secrets.txt"`},
			{"agents.files.get", `{"agentId":"main","name":"../../secret"}`, `INVALID_REQUEST: unsupported file "../../secret"`},
			{"agents.files.set", `{"agentId":"main","name":"agents.md","content":""}`, `INVALID_REQUEST: unsupported file "agents.md"`},
			{"agents.files.get", `{"agentId":"nobody","name":"MEMORY.md"}`, `INVALID_REQUEST: unknown agent id`},
			{"agents.files.set", `{"agentId":"nobody","name":"MEMORY.md","content":""}`, `INVALID_REQUEST: unknown agent id`},
			{"agents.files.set", `{"agentId":"main","name":"SOUL.md"}`, `INVALID_REQUEST: invalid agents.files.set params: must have required property 'content'`},
		})
		if err := os.Symlink(filepath.Join(h.dir, "secret"), filepath.Join(work, "main", "SOUL.md")); err != nil {
			t.Fatal(err)
		}
		h.asks(c, [][3]string{
			{"agents.files.get", `{"agentId":"main","name":"SOUL.md"}`, `INVALID_REQUEST: file "SOUL.md" leads out of the workspace`},
			{"agents.files.set", `{"agentId":"main","name":"SOUL.md","content":"x"}`, `INVALID_REQUEST: file "SOUL.md" leads out of the workspace`},
			{"agents.files.set", `{"agentId":"main","name":"TOOLS.md","content":"` + strings.Repeat("x", 4<<20+1) + `"}`, `INVALID_REQUEST: file "TOOLS.md" is larger than 4 MiB`},
		})
		if data, _ := os.ReadFile(filepath.Join(h.dir, "secret")); string(data) != "s" {
			t.Errorf("file outside = %q, want it untouched", data)
		}
		h.close()
	})
}

func TestAgentIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, `{gateway: {mode: "local", auth: {token: "secret"}, controlUi: {basePath: "/ui/"}},
			agents: {list: [{id: "main"}, {id: "work", identity: {name: "Worker", emoji: "🔧", avatar: "me.png"}}]}}`)
		h.g.cfg.Workspace = func(id string) string { return filepath.Join(h.dir, "ws", id) }
		c := h.connect(dialer{})
		h.asks(c, [][3]string{
			{"agent.identity.get", `{}`, `{"agentId":"main","name":"Assistant","avatar":"A"}`},
			{"agent.identity.get", `{"agentId":"Work"}`, `{"agentId":"work","name":"Worker","avatar":"/ui/avatar/work","emoji":"🔧"}`},
			{"agent.identity.get", `{"sessionKey":"agent:work:main"}`, `{"agentId":"work","name":"Worker","avatar":"/ui/avatar/work","emoji":"🔧"}`},
			{"agent.identity.get", `{"agentId":"main","sessionKey":"agent:work:main"}`,
				`INVALID_REQUEST: invalid agent.identity.get params: agent "main" does not match session key agent "work"`},
			{"agent.identity.get", `{"agentId":"nobody"}`, `{"agentId":"nobody","name":"Assistant","avatar":"A"}`},
			{"agent.identity.get", `{"agentId":""}`, `INVALID_REQUEST: invalid agent.identity.get params: at /agentId: must NOT have fewer than 1 characters`},
		})
		if err := os.MkdirAll(filepath.Join(h.dir, "ws", "main"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.dir, "ws", "main", "IDENTITY.md"), []byte("- **Name:** Molly\n- **Emoji:** 🦊\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		h.asks(c, [][3]string{{"agent.identity.get", `{}`, `{"agentId":"main","name":"Molly","avatar":"🦊","emoji":"🦊"}`}})
		h.configure(`{gateway: {mode: "local", auth: {token: "secret"}}, ui: {assistant: {name: "Boss", avatar: "https://example.com/a.png"}}}`)
		h.asks(c, [][3]string{{"agent.identity.get", `{}`, `{"agentId":"main","name":"Boss","avatar":"https://example.com/a.png","emoji":"🦊"}`}})
		h.close()
	})
}

func TestAvatar(t *testing.T) {
	tests := []struct {
		face, base, want string
		ok               bool
	}{
		{"", "", "", false},
		{"AB", "", "AB", true},
		{"too long a text", "", "too long a text", false},
		{"a b", "", "a b", false},
		{"data:image/png;base64,AA==", "", "data:image/png;base64,AA==", true},
		{"data:text/html,x", "", "/avatar/main", true}, // it looks like a path, so it is no address for a client
		{"pictures/me.txt", "", "/avatar/main", true},
		{"ME.PNG", "ui", "/ui/avatar/main", true},
	}
	for _, tt := range tests {
		if got, ok := avatar(tt.face, tt.base, "main"); ok != tt.ok || ok && got != tt.want {
			t.Errorf("avatar(%q, %q) = %q, %v, want %q, %v", tt.face, tt.base, got, ok, tt.want, tt.ok)
		}
	}
}

func TestUsageMethods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		zero := `{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"totalCost":0,"missingCostEntries":0}`
		h.asks(c, [][3]string{
			{"usage.status", `{}`, `{"updatedAt":T,"providers":[]}`},
			{"usage.cost", `{}`, `{"updatedAt":T,"days":30,"daily":[],"totals":` + zero + `}`},
		})
		// Transcripts get the time of the bubble, files that of the machine.
		h.seed("agent:main:one", "id-1", nil, "hello", "world", "again", "yes")
		day := time.Now().Format(time.DateOnly)
		used := `"input":20,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":22,"totalCost":0.5,"missingCostEntries":0}`
		want := `"daily":[{"date":"` + day + `",` + used + `],"totals":{` + used + `}`
		h.asks(c, [][3]string{
			{"usage.cost", `{"days":30}`, `{"updatedAt":T,"days":30,"daily":[],"totals":` + zero + `}`}, // still the answer of before
			{"usage.cost", `{"days":" 7.9 "}`, `{"updatedAt":T,"days":7,` + want},
			{"usage.cost", `{"days":1}`, `{"updatedAt":T,"days":1,` + want},
		})
		time.Sleep(31 * time.Second)
		h.asks(c, [][3]string{{"usage.cost", `{"days":"many","other":1}`, `{"updatedAt":T,"days":30,` + want}})
		h.close()
	})
}

func TestWantedDays(t *testing.T) {
	for raw, want := range map[string]int{
		``: 30, `null`: 30, `0`: 30, `-3`: 30, `"x"`: 30, `"NaN"`: 30, `{}`: 30, `true`: 30, `1`: 1, `2.9`: 2, `"14"`: 14, `1e9`: 3650, `"Inf"`: 3650,
	} {
		if got := wantedDays(json.RawMessage(raw)); got != want {
			t.Errorf("wantedDays(%s) = %d, want %d", raw, got, want)
		}
	}
}

// One client cannot cut off another by using its run id: the second request is
// refused, and the first run goes on telling its starter everything.
func TestRunIDInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		tools := func(o object) { o["caps"] = []string{"tool-events"} }
		a := h.connect(dialer{}, tools)
		b := h.connect(dialer{}, tools)
		if f := a.call(protocol.MethodChatSend, object{"sessionKey": "main", "message": "work", "idempotencyKey": "shared"}); !f.OK {
			t.Fatal(f.Error)
		}
		synctest.Wait()
		if got, want := b.ask("agent", `{"sessionKey":"other","message":"x","idempotencyKey":"shared"}`), `INVALID_REQUEST: run id "shared" is already in use`; got != want {
			t.Errorf("agent with a run id in use = %s, want %s", got, want)
		}
		if got := b.ask("agent", `{"sessionKey":"","message":"","idempotencyKey":"shared"}`); !strings.HasPrefix(got, "INVALID_REQUEST") {
			t.Errorf("bad agent request with a run id in use = %s, want it refused", got)
		}
		h.runner.do("shared", func(r *scriptedRun) {
			r.emit(run.Event{Stream: run.StreamTool, Verbose: verboseOn, Tool: &run.Tool{Phase: run.PhaseStart, Name: "exec", CallID: "c1"}})
			r.say("done", "done")
		})
		h.runner.finish("shared", "")
		for _, want := range []string{`"stream":"tool"`, `"stream":"assistant"`, `"state":"final"`} {
			for {
				f := a.mustNext()
				if strings.Contains(string(f.Payload), want) {
					break
				}
			}
		}
		for {
			f := b.mustNext()
			if strings.Contains(string(f.Payload), `"stream":"tool"`) {
				t.Errorf("the second client got %s", f.Payload)
			}
			if strings.Contains(string(f.Payload), `"state":"final"`) {
				break
			}
		}
		h.close()
	})
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"", 5, ""}, {" a \n b ", 5, "a b"}, {"abcde", 5, "abcde"}, {"abcdef", 5, "abcd…"}, {"ab cdef", 5, "ab c…"}, {"äöü äöü", 5, "äöü …"}, {"abcd ef", 5, "abcd…"},
	} {
		if got := shorten(tt.text, tt.n); got != tt.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}

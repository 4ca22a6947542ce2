package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"openclaw/byo"
	"openclaw/internal/testkit"
)

// openCase is one entry of testdata/envelopes.json; testdata/README.md describes it.
type openCase struct {
	Name      string         `json:"name"`
	Proves    string         `json:"proves,omitempty"`
	Keys      string         `json:"keys"`
	Receiver  string         `json:"receiver"`
	Now       string         `json:"now,omitempty"`
	Before    []byo.Envelope `json:"opened_before,omitempty"`
	Envelope  byo.Envelope   `json:"envelope"`
	Outer     outer          `json:"outer"`
	Plaintext *string        `json:"plaintext_text,omitempty"`
	Error     string         `json:"error,omitempty"`
}

// outer is what the message around an envelope says.
type outer struct {
	JobID         string `json:"job_id,omitempty"`
	Purpose       string `json:"purpose,omitempty"`
	DeadlineAt    string `json:"deadline_at,omitempty"`
	ContentType   string `json:"content_type"`
	CorrelationID string `json:"correlation_id,omitempty"`
}

func outerOf(e byo.Envelope) outer {
	return outer{JobID: e.JobID, Purpose: e.Purpose, DeadlineAt: e.DeadlineAt, ContentType: e.ContentType}
}

// errorName is an error as the vectors name it.
func errorName(err error) string {
	var binding *BindingError
	var malformed *MalformedError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &binding):
		return "binding:" + binding.Field
	case errors.As(err, &malformed):
		return "malformed:" + malformed.Field
	}
	for name, e := range map[string]error{"version": ErrVersion, "reflected": ErrReflected, "replay": ErrReplay,
		"tampered": ErrTampered, "content_type": ErrContentType, "epoch": ErrEpoch, "deadline": ErrDeadline} {
		if errors.Is(err, e) {
			return name
		}
	}
	return "other: " + err.Error()
}

// opener is a fresh receiver for the case.
func (k keys) opener(t testing.TB, c openCase) func(byo.Envelope, Binding) ([]byte, error) {
	t.Helper()
	h, role := k.handshake(), Desktop
	if c.Receiver == byo.RolePlugin {
		role = Plugin
	}
	switch c.Keys {
	case "static_v1":
		own, peer := k.Inputs.DesktopSecret, h.PluginKey
		if role == Plugin {
			own, peer = k.Inputs.PluginSecret, h.DesktopKey
		}
		s, err := NewStatic(secret(t, own), peer, role)
		if err != nil {
			t.Fatal(err)
		}
		return func(e byo.Envelope, b Binding) ([]byte, error) { return s.Open(e, b.ContentType) }
	case "psk_style":
		h.PSK = byo.PSK(k.Inputs.PSK)
	}
	root, plugin := k.roots(t, h)
	if role == Plugin {
		root = plugin
	}
	now := c.Now
	if now == "" {
		now = "2026-01-02T03:04:00Z"
	}
	return NewDuplex(root, Config{Now: clock(t, now)}).Open
}

// SW-01, SW-02, SW-03, SW-05, SW-08, SW-09 (window): every vector opens or fails
// as it says, and a failure gives away nothing.
func TestEnvelopeVectors(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	file := readJSON[struct{ Cases []openCase }](t, "testdata/envelopes.json")
	names, failures := map[string]bool{}, 0
	for _, c := range file.Cases {
		if names[c.Name] {
			t.Errorf("%s: the name is there twice", c.Name)
		}
		names[c.Name] = true
		open := k.opener(t, c)
		for i, e := range c.Before {
			if _, err := open(e, bindingOf(e)); err != nil {
				t.Errorf("%s: envelope %d before it: %v", c.Name, i, err)
			}
		}
		plain, err := open(c.Envelope, Binding(c.Outer))
		if got := errorName(err); got != c.Error {
			t.Errorf("%s: Open fails with %q, want %q", c.Name, got, c.Error)
		}
		switch {
		case c.Error != "":
			failures++
			if plain != nil {
				t.Errorf("%s: Open returns %q together with an error", c.Name, plain)
			}
			if !Refused(err) {
				t.Errorf("%s: Refused(%v) = false", c.Name, err)
			}
		case c.Plaintext == nil || string(plain) != *c.Plaintext:
			t.Errorf("%s: Open = %q, want %v", c.Name, plain, c.Plaintext)
		}
	}
	if len(file.Cases) < 80 || failures < 60 {
		t.Errorf("%d vectors, %d of them failures; want all of them", len(file.Cases), failures)
	}
}

// The vectors are those that this code makes; `go generate ./byo/seal` rewrites them.
func TestEnvelopeVectorsFresh(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(map[string]any{"about": "envelopes and what a receiver makes of them", "cases": k.cases(t)}); err != nil {
		t.Fatal(err)
	}
	if testkit.Updating() {
		if err := os.WriteFile("testdata/envelopes.json", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("testdata/envelopes.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Error("testdata/envelopes.json is stale; run go generate ./byo/seal")
	}
}

// forge seals text under key, whatever it is and whatever e says.
func forge(t testing.TB, e byo.Envelope, key [keySize]byte, text []byte, random byte) byo.Envelope {
	t.Helper()
	aad := aadDuplex(&e)
	if e.Version == byo.StaticV1 {
		// As a sender in another language would, with its escapes.
		fields, err := json.Marshal(map[string]string{"content_type": e.ContentType, "correlation_id": e.CorrelationID,
			"message_id": e.MessageID, "sender_role": e.SenderRole, "session_id": e.SessionID, "version": e.Version})
		if err != nil {
			t.Fatal(err)
		}
		aad = fields
	}
	if _, err := encrypt(&e, &key, aad, slices.Clone(text), nil, counting(random)); err != nil {
		t.Fatal(err)
	}
	return e
}

func text(s string) *string { return &s }

// flip changes one byte of a base64 text; a negative index counts from the end.
func flip(t testing.TB, s string, at int) string {
	return recode(t, s, func(b []byte) []byte {
		if at < 0 {
			at += len(b)
		}
		b[at] ^= 1
		return b
	})
}

func recode(t testing.TB, s string, change func([]byte) []byte) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(change(b))
}

// cases makes all vectors.
func (k keys) cases(t *testing.T) []openCase {
	return slices.Concat(k.staticCases(t), k.duplexCases(t), k.windowCases(t), k.paddingCases(t))
}

func (k keys) staticCases(t *testing.T) (cases []openCase) {
	base := k.Duplex.Envelope
	base = byo.Envelope{Version: byo.StaticV1, SenderRole: byo.RoleDesktop, MessageID: base.MessageID,
		SessionID: base.SessionID, CorrelationID: base.CorrelationID, ContentType: base.ContentType}
	key := [keySize]byte(k.Static.Key)
	good := forge(t, base, key, []byte(k.Inputs.Plaintext), 0)
	add := func(name, proves, wrong string, change func(c *openCase)) {
		c := openCase{Name: "static_v1: " + name, Proves: proves, Keys: "static_v1", Receiver: byo.RolePlugin,
			Envelope: good, Outer: outer{ContentType: byo.ContentReasoningInput}, Error: wrong}
		if wrong == "" {
			c.Plaintext = &k.Inputs.Plaintext
		}
		change(&c)
		cases = append(cases, c)
	}
	add("desktop to plugin", "SW-01", "", func(*openCase) {})
	add("plugin to desktop", "SW-01", "", func(c *openCase) {
		e := base
		e.SenderRole, e.ContentType, e.MessageID = byo.RolePlugin, byo.ContentReasoningOutput, "00000000-0000-4000-8000-000000000002"
		c.Envelope, c.Receiver, c.Outer.ContentType = forge(t, e, key, []byte(k.Inputs.Plaintext), 7), byo.RoleDesktop, byo.ContentReasoningOutput
	})
	add("empty session and correlation", "SW-01", "", func(c *openCase) {
		e := base
		e.SessionID, e.CorrelationID = "", ""
		c.Envelope = forge(t, e, key, []byte(k.Inputs.Plaintext), 8)
	})
	add("empty plaintext", "SW-01", "", func(c *openCase) {
		c.Envelope, c.Plaintext = forge(t, base, key, nil, 9), text("")
	})
	add("own role", "SW-03", "reflected", func(c *openCase) { c.Receiver = byo.RoleDesktop })
	add("repeated message", "SW-03", "replay", func(c *openCase) { c.Before = []byo.Envelope{good} })
	add("repeated message id, new content", "SW-03", "replay", func(c *openCase) {
		c.Before, c.Envelope = []byo.Envelope{good}, forge(t, base, key, []byte("other"), 40)
	})
	add("other content type than asked for", "", "content_type", func(c *openCase) { c.Outer.ContentType = byo.ContentTask })
	add("unknown version", "SW-02", "version", func(c *openCase) { c.Envelope.Version = "static_v2" })
	add("duplex_v2 envelope", "", "version", func(c *openCase) {
		c.Envelope = forge(t, k.Duplex.Envelope, [keySize]byte(k.Duplex.SAS.KeyD2P), pad(nil, []byte("x")), 1)
	})
	add("version changed to that of a duplex", "SW-02", "version", func(c *openCase) { c.Envelope.Version = byo.DuplexV2 })
	add("role of nobody", "SW-02", "malformed:sender_role", func(c *openCase) { c.Envelope.SenderRole = "relay" })
	add("role changed", "SW-02", "tampered", func(c *openCase) { c.Envelope.SenderRole, c.Receiver = byo.RolePlugin, byo.RoleDesktop })
	add("message_id changed", "SW-02", "tampered", func(c *openCase) { c.Envelope.MessageID = "00000000-0000-4000-8000-000000000009" })
	add("session_id changed", "SW-02", "tampered", func(c *openCase) { c.Envelope.SessionID = "sess-2" })
	add("correlation_id changed", "SW-02", "tampered", func(c *openCase) { c.Envelope.CorrelationID = "" })
	add("content_type changed", "SW-02", "tampered", func(c *openCase) {
		c.Envelope.ContentType, c.Outer.ContentType = byo.ContentTask, byo.ContentTask
	})
	add("key of somebody else", "", "tampered", func(c *openCase) {
		c.Envelope = forge(t, base, [keySize]byte(k.Duplex.SAS.KeyD2P), []byte("x"), 3)
	})
	k.damage(t, good, add)
	k.metadata(t, base, add, func(e byo.Envelope) byo.Envelope { return forge(t, e, key, []byte("x"), 5) })
	return cases
}

// damage adds what can be wrong with nonce and ciphertext, whatever the scheme.
func (k keys) damage(t *testing.T, good byo.Envelope, add func(name, proves, wrong string, change func(c *openCase))) {
	set := func(name, wrong string, nonce, ciphertext string) {
		add(name, "SW-02", wrong, func(c *openCase) { c.Envelope.Nonce, c.Envelope.Ciphertext = nonce, ciphertext })
	}
	n, x := good.Nonce, good.Ciphertext
	cut := func(by int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-by] } }
	set("first byte flipped", "tampered", n, flip(t, x, 0))
	set("last byte of the tag flipped", "tampered", n, flip(t, x, -1))
	set("tag cut by one byte", "tampered", n, recode(t, x, cut(1)))
	set("tag cut off", "tampered", n, recode(t, x, cut(16)))
	set("shorter than a tag", "tampered", n, recode(t, x, func(b []byte) []byte { return b[:15] }))
	set("one byte more", "tampered", n, recode(t, x, func(b []byte) []byte { return append(b, 0) }))
	set("nonce flipped", "tampered", flip(t, n, 23), x)
	set("nonce of 12 bytes", "malformed:nonce", recode(t, n, cut(12)), x)
	set("nonce of 23 bytes", "malformed:nonce", recode(t, n, cut(1)), x)
	set("nonce of 25 bytes", "malformed:nonce", recode(t, n, func(b []byte) []byte { return append(b, 0) }), x)
	set("no nonce", "malformed:nonce", "", x)
	set("nonce is no base64", "malformed:nonce", strings.Repeat("!", 32), x)
	set("no ciphertext", "malformed:ciphertext", n, "")
	set("ciphertext is no base64", "malformed:ciphertext", n, "%"+x[1:])
	set("ciphertext with a line break", "malformed:ciphertext", n, x[:4]+"\n"+x[4:])
	set("base64 without padding", "malformed:ciphertext", n, strings.TrimRight(recode(t, x, cut(1)), "="))
	set("base64 with loose bits", "malformed:ciphertext", n, loose(recode(t, x, cut(1))))
}

// loose sets bits behind the last byte of a padded base64 text.
func loose(s string) string {
	body := strings.TrimRight(s, "=")
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	last := strings.IndexByte(alphabet, body[len(body)-1])
	return body[:len(body)-1] + string(alphabet[last|1]) + s[len(body):]
}

// metadata adds authentic envelopes whose values two languages might write in two
// ways; seal seals them.
func (k keys) metadata(t *testing.T, base byo.Envelope, add func(name, proves, wrong string, change func(c *openCase)), seal func(byo.Envelope) byo.Envelope) {
	t.Helper()
	set := func(name, field string, change func(e *byo.Envelope)) {
		add("metadata, "+name, "SW-01", "malformed:"+field, func(c *openCase) {
			e := base
			change(&e)
			c.Envelope, c.Outer = seal(e), outerOf(e)
		})
	}
	set("quote", "message_id", func(e *byo.Envelope) { e.MessageID = `a"b` })
	set("less-than sign", "session_id", func(e *byo.Envelope) { e.SessionID = "a<b" })
	set("letter outside ASCII", "session_id", func(e *byo.Envelope) { e.SessionID = "sitzung-ü" })
	set("line separator", "correlation_id", func(e *byo.Envelope) { e.CorrelationID = "a\u2028b" })
	set("slash", "correlation_id", func(e *byo.Envelope) { e.CorrelationID = "a/b" })
	set("space", "content_type", func(e *byo.Envelope) { e.ContentType = "reasoning input" })
	set("empty message id", "message_id", func(e *byo.Envelope) { e.MessageID = "" })
	set("201 characters", "message_id", func(e *byo.Envelope) { e.MessageID = strings.Repeat("m", 201) })
	add("metadata, all that is allowed", "SW-01", "", func(c *openCase) {
		e := base
		e.SessionID, e.CorrelationID, e.MessageID = "insights:A-z.0_9", "chat-reply:+1", strings.Repeat("m", 200)
		c.Envelope, c.Plaintext = seal(e), text("x")
	})
}

func (k keys) duplexCases(t *testing.T) (cases []openCase) {
	base := k.Duplex.Envelope
	key := [keySize]byte(k.Duplex.SAS.KeyD2P)
	good := forge(t, base, key, pad(nil, []byte(k.Inputs.Plaintext)), 0)
	add := func(name, proves, wrong string, change func(c *openCase)) {
		c := openCase{Name: "duplex_v2: " + name, Proves: proves, Keys: "sas_style", Receiver: byo.RolePlugin,
			Envelope: good, Outer: outerOf(good), Error: wrong}
		if wrong == "" {
			c.Plaintext = &k.Inputs.Plaintext
		}
		change(&c)
		cases = append(cases, c)
	}
	answer := base
	answer.SenderRole, answer.Direction, answer.ContentType = byo.RolePlugin, byo.PluginToDesktop, byo.ContentReasoningOutput
	answer.MessageID, answer.CorrelationID = "00000000-0000-4000-8000-000000000002", base.MessageID
	const answerText = `{"result":{"signals":[],"no_signal_reason":"quiet"}}`
	answer = forge(t, answer, [keySize]byte(k.Duplex.SAS.KeyP2D), pad(nil, []byte(answerText)), 0x30)
	answerTo := func(correlation string) func(c *openCase) {
		return func(c *openCase) {
			c.Receiver, c.Envelope, c.Outer = byo.RoleDesktop, answer, outerOf(answer)
			c.Outer.CorrelationID = correlation
			if c.Error == "" {
				c.Plaintext = text(answerText)
			}
		}
	}
	add("desktop to plugin", "SW-05", "", func(*openCase) {})
	add("plugin to desktop", "SW-05", "", answerTo(base.MessageID))
	add("answer to something else", "SW-08", "binding:correlation_id", answerTo("00000000-0000-4000-8000-00000000000a"))
	add("answer reflected", "SW-03", "reflected", func(c *openCase) { c.Envelope, c.Outer = answer, outerOf(answer) })
	add("chat without a job", "SW-05", "", func(c *openCase) {
		e := base
		e.JobID, e.Purpose, e.DeadlineAt, e.CorrelationID, e.ContentType = "", "", "", "", byo.ContentChatIn
		c.Envelope, c.Plaintext = forge(t, e, key, pad(nil, []byte("grüße €")), 0x50), text("grüße €")
		c.Outer = outerOf(e)
	})
	add("keys of a long code", "SW-05", "", func(c *openCase) {
		e := base
		e.KeyID, c.Keys = k.Duplex.PSK.KeyID, "psk_style"
		c.Envelope = forge(t, e, [keySize]byte(k.Duplex.PSK.KeyD2P), pad(nil, []byte(k.Inputs.Plaintext)), 0x60)
	})
	add("30 seconds late", "SW-09", "", func(c *openCase) { c.Now = "2026-01-02T03:04:35Z" })
	add("31 seconds late", "SW-09", "deadline", func(c *openCase) { c.Now = "2026-01-02T03:04:36Z" })
	add("answer fetched an hour later", "SW-09", "", func(c *openCase) {
		answerTo(base.MessageID)(c)
		c.Now = "2026-01-02T04:04:05Z"
	})
	add("repeated", "SW-03", "replay", func(c *openCase) { c.Before = []byo.Envelope{good} })
	add("other keys", "", "binding:key_id", func(c *openCase) { c.Keys = "psk_style" })
	add("static_v1 envelope: no way back", "SW-10", "version", func(c *openCase) {
		c.Envelope = forge(t, byo.Envelope{Version: byo.StaticV1, SenderRole: byo.RoleDesktop, MessageID: "m-1",
			ContentType: byo.ContentReasoningInput}, [keySize]byte(k.Static.Key), []byte("x"), 3)
	})
	for _, f := range []struct {
		name, wrong string
		set         func(e *byo.Envelope)
	}{
		{"version", "version", func(e *byo.Envelope) { e.Version = "duplex_v3" }},
		{"direction", "reflected", func(e *byo.Envelope) { e.Direction = byo.PluginToDesktop }},
		{"direction and role", "reflected", func(e *byo.Envelope) { e.Direction, e.SenderRole = byo.PluginToDesktop, byo.RolePlugin }},
		{"direction to nowhere", "malformed:direction", func(e *byo.Envelope) { e.Direction = "" }},
		{"sender_role", "binding:sender_role", func(e *byo.Envelope) { e.SenderRole = byo.RolePlugin }},
		{"key_id", "binding:key_id", func(e *byo.Envelope) { e.KeyID = k.Duplex.PSK.KeyID }},
		{"epoch", "epoch", func(e *byo.Envelope) { e.Epoch = 1 }},
		{"seq", "tampered", func(e *byo.Envelope) { e.Seq = 2 }},
		{"message_id", "tampered", func(e *byo.Envelope) { e.MessageID = "00000000-0000-4000-8000-000000000009" }},
		{"session_id", "tampered", func(e *byo.Envelope) { e.SessionID = "sess-2" }},
		{"correlation_id", "tampered", func(e *byo.Envelope) { e.CorrelationID = "" }},
	} {
		add(f.name+" changed", "SW-02", f.wrong, func(c *openCase) { f.set(&c.Envelope) })
	}
	for _, f := range []struct {
		name, inner string
		set         func(o *outer)
		follow      func(e *byo.Envelope)
	}{
		{"job_id", "binding:job_id", func(o *outer) { o.JobID = "22222222-2222-4222-8222-22222222222f" },
			func(e *byo.Envelope) { e.JobID = "22222222-2222-4222-8222-22222222222f" }},
		{"purpose", "binding:purpose", func(o *outer) { o.Purpose = byo.PurposeSessionSummary },
			func(e *byo.Envelope) { e.Purpose = byo.PurposeSessionSummary }},
		{"deadline_at", "binding:deadline_at", func(o *outer) { o.DeadlineAt = "2026-01-02T03:14:05Z" },
			func(e *byo.Envelope) { e.DeadlineAt = "2026-01-02T03:14:05Z" }},
		{"content_type", "content_type", func(o *outer) { o.ContentType = byo.ContentChatIn },
			func(e *byo.Envelope) { e.ContentType = byo.ContentChatIn }},
	} {
		add(f.name+" of the message around it changed", "SW-08", f.inner, func(c *openCase) { f.set(&c.Outer) })
		add(f.name+" changed inside and outside", "SW-08", "tampered", func(c *openCase) {
			f.set(&c.Outer)
			f.follow(&c.Envelope)
		})
	}
	add("deadline written in another way", "SW-08", "binding:deadline_at", func(c *openCase) { c.Outer.DeadlineAt = "2026-01-02T03:04:05.000Z" })
	add("job sealed without one", "SW-08", "binding:job_id", func(c *openCase) { c.Outer.JobID = "" })
	add("deadline that is none", "", "malformed:deadline_at", func(c *openCase) {
		e := base
		e.DeadlineAt = "soon"
		c.Envelope, c.Outer = forge(t, e, key, pad(nil, []byte("x")), 4), outerOf(e)
	})
	k.damage(t, good, add)
	k.metadata(t, base, add, func(e byo.Envelope) byo.Envelope { return forge(t, e, key, pad(nil, []byte("x")), 5) })
	return cases
}

// windowCases show the replay window of 4096.
func (k keys) windowCases(t *testing.T) (cases []openCase) {
	at := func(seq uint64) byo.Envelope {
		e := k.Duplex.Envelope
		e.Seq = seq
		return forge(t, e, [keySize]byte(k.Duplex.SAS.KeyD2P), pad(nil, []byte("x")), byte(seq))
	}
	for _, w := range []struct {
		name   string
		before []uint64
		seq    uint64
		wrong  string
	}{
		{"number zero", nil, 0, "replay"},
		{"far ahead", []uint64{1}, 1 << 40, ""},
		{"late but new", []uint64{1, 3}, 2, ""},
		{"oldest inside", []uint64{5000}, 905, ""},
		{"just too old", []uint64{5000}, 904, "replay"},
		{"seen, then moved on", []uint64{1, 2, 4000}, 2, "replay"},
		{"seen far behind", []uint64{905, 5000}, 905, "replay"},
		{"seen before a jump of exactly the window", []uint64{7, 4103}, 7, "replay"},
		{"same place of the window, other number", []uint64{7, 4103}, 8, ""},
	} {
		c := openCase{Name: "window: " + w.name, Proves: "SW-09", Keys: "sas_style", Receiver: byo.RolePlugin,
			Envelope: at(w.seq), Error: w.wrong}
		c.Outer = outerOf(c.Envelope)
		for _, seq := range w.before {
			c.Before = append(c.Before, at(seq))
		}
		if w.wrong == "" {
			c.Plaintext = text("x")
		}
		cases = append(cases, c)
	}
	return cases
}

// paddingCases are authentic envelopes whose padding is not the one there is.
func (k keys) paddingCases(t *testing.T) (cases []openCase) {
	for _, p := range []struct {
		name, wrong string
		text        []byte
		want        string
	}{
		{"nothing", "", pad(nil, nil), ""},
		{"1020 bytes fill the first size", "", pad(nil, bytes.Repeat([]byte("a"), 1020)), strings.Repeat("a", 1020)},
		{"none", "malformed:padding", []byte("no length, no zeros"), ""},
		{"next size for no reason", "malformed:padding", append(pad(nil, []byte("x")), make([]byte, 1024)...), ""},
		{"size that is none", "malformed:padding", append(pad(nil, []byte("x")), make([]byte, 512)...), ""},
		{"length beyond the end", "malformed:padding", append([]byte{0, 0, 4, 0}, make([]byte, 1020)...), ""},
		{"length of 4 GiB", "malformed:padding", append([]byte{255, 255, 255, 255}, make([]byte, 1020)...), ""},
		{"something in the zeros", "malformed:padding", append(pad(nil, []byte("x"))[:1023], 1), ""},
	} {
		c := openCase{Name: "padding: " + p.name, Proves: "SW-11", Keys: "sas_style", Receiver: byo.RolePlugin,
			Envelope: forge(t, k.Duplex.Envelope, [keySize]byte(k.Duplex.SAS.KeyD2P), p.text, 9), Error: p.wrong}
		c.Outer = outerOf(c.Envelope)
		if p.wrong == "" {
			c.Plaintext = text(p.want)
		}
		cases = append(cases, c)
	}
	return cases
}

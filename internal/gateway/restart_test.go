package gateway

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/internal/config"
	"openclaw/protocol"
)

// restartHouse is a house whose gateway may end for a restart; ended receives
// what serve returned.
func restartHouse(t *testing.T, conf string, change ...func(*Config)) (*house, <-chan error) {
	t.Helper()
	h := newHouse(t, conf, change...)
	ended := make(chan error, 1)
	go func() {
		err := <-h.done
		ended <- err
		h.done <- nil // for close
	}()
	synctest.Wait()
	return h, ended
}

func decode[T any](t *testing.T, f protocol.Frame) T {
	t.Helper()
	var v T
	if !f.OK && f.Type == protocol.TypeResponse {
		t.Fatalf("response = %+v, want ok", f.Error)
	}
	if err := json.Unmarshal(f.Payload, &v); err != nil {
		t.Fatalf("payload %s: %v", f.Payload, err)
	}
	return v
}

// The answer first, then the restart after the given delay, which is told as one;
// what is to be said afterwards is on disk. Scenario "config".
func TestConfigPatchRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, ended := restartHouse(t, "")
		c := h.connect(dialer{})
		hash := decode[protocol.ConfigGetResult](t, c.call(protocol.MethodConfigGet, nil)).Hash
		start := time.Now()
		got := decode[protocol.ConfigChangeResult](t, c.call(protocol.MethodConfigPatch, object{
			"raw": strings.Replace(usual, "}}}", "}}, ui: {seamColor: '#112233'}}", 1), "baseHash": hash,
			"note": " from a test ", "sessionKey": "main", "restartDelayMs": 500,
		}))
		if r := got.Restart; !r.OK || r.DelayMs != 500 || r.Signal != "SIGUSR1" || r.Mode != "emit" || r.Reason != "config.patch" || r.PID != os.Getpid() {
			t.Errorf("restart = %+v, want one in 500 ms because of config.patch", r)
		}
		p := got.Sentinel.Payload
		if got.Sentinel.Path == nil || p.Kind != "config-apply" || p.Status != "ok" || p.SessionKey != "main" || *p.Message != "from a test" ||
			p.Stats.Mode != "config.patch" || p.Stats.Root != got.Path || p.DoctorHint == "" {
			t.Errorf("sentinel = %+v, want one about config.patch", got.Sentinel)
		}
		if info, err := os.Stat(filepath.Join(h.dir, "restart-sentinel.json")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("restart-sentinel.json = %v, %v, want a private file", info, err)
		}
		bye := decode[protocol.ShutdownEvent](t, c.event(protocol.EventShutdown))
		if bye.Reason != "gateway restarting" || bye.RestartExpectedMs == nil || *bye.RestartExpectedMs != 1500 {
			t.Errorf("shutdown = %+v, want a restart expected in 1500 ms", bye)
		}
		if code, reason := c.closed(); code != 1012 || reason != "service restart" {
			t.Errorf("closed with %d %q, want 1012 service restart", code, reason)
		}
		if took := time.Since(start); took < 500*time.Millisecond || took > time.Second {
			t.Errorf("restart began after %v, want 500ms", took)
		}
		if err := <-ended; !errors.Is(err, ErrRestart) {
			t.Errorf("Run = %v, want ErrRestart", err)
		}
	})
}

// A restart without delay still lets the request that caused it be answered.
func TestRestartAnswersFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, ended := restartHouse(t, "")
		c := h.connect(dialer{})
		hash := h.Snapshot().Hash
		got := decode[protocol.ConfigChangeResult](t, c.call(protocol.MethodConfigApply, object{"raw": usual, "baseHash": hash, "restartDelayMs": 0}))
		if got.Restart.DelayMs != 0 || got.Restart.Reason != "config.apply" || got.Sentinel.Payload.Message != nil {
			t.Errorf("answer = %+v, want a restart at once without a message", got)
		}
		c.closed()
		if err := <-ended; !errors.Is(err, ErrRestart) {
			t.Errorf("Run = %v, want ErrRestart", err)
		}
	})
}

// The delay is two seconds unless told otherwise and never above a minute.
func TestRestartDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			delay any
			want  int64
		}{{nil, 2000}, {60_000, 60_000}, {3_600_000, 60_000}} {
			h, _ := restartHouse(t, "")
			c := h.connect(dialer{})
			params := object{"raw": usual, "baseHash": h.Snapshot().Hash}
			if tt.delay != nil {
				params["restartDelayMs"] = tt.delay
			}
			if got := decode[protocol.ConfigChangeResult](t, c.call(protocol.MethodConfigApply, params)); got.Restart.DelayMs != tt.want {
				t.Errorf("restart with delay %v = in %d ms, want %d", tt.delay, got.Restart.DelayMs, tt.want)
			}
			h.close()
		}
	})
}

// A planned restart is not put off by another one, nor brought forward by the
// reload that the same change causes; only the signal brings it forward.
func TestRestartsPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		due := func(r *restarts, within time.Duration) string {
			select {
			case why := <-r.due:
				return why
			case <-time.After(within):
				return ""
			}
		}
		r := newRestarts()
		release := r.hold()
		r.ask("reload") // the file was written, the answer not yet given
		if wait := r.plan(500*time.Millisecond, "config.patch"); wait != 500*time.Millisecond {
			t.Errorf("plan = in %v, want 500ms", wait)
		}
		release()
		r.ask("reload")
		if wait := r.plan(2*time.Second, "config.apply"); wait != 500*time.Millisecond {
			t.Errorf("second plan = in %v, want the 500ms of the first", wait)
		}
		if why := due(r, 499*time.Millisecond); why != "" {
			t.Errorf("restart because of %q before it was due", why)
		}
		if why := due(r, 2*time.Millisecond); why != "config.patch" {
			t.Errorf("restart = %q, want the one of config.patch", why)
		}
		if why := due(r, time.Minute); why != "" {
			t.Errorf("a second restart because of %q", why)
		}

		release = r.hold()
		r.ask("reload")
		release() // the method failed: somebody else's change counts at once
		if why := due(r, time.Millisecond); why != "reload" {
			t.Errorf("restart = %q, want the one that was asked for meanwhile", why)
		}

		if r.hurry() {
			t.Error("hurry without a plan = true, want false")
		}
		r.plan(time.Minute, "config.apply")
		if !r.hurry() || due(r, time.Millisecond) != "config.apply" {
			t.Error("hurry did not bring the planned restart forward")
		}

		r.plan(time.Second, "config.apply")
		r.close()
		r.plan(time.Second, "too late")
		if why := due(r, time.Minute); why != "" {
			t.Errorf("restart because of %q after the end", why)
		}
	})
}

// The signal counts when a restart is planned or commands.restart allows it.
func TestRestartSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, ended := restartHouse(t, "")
		if h.g.RestartSignal() {
			t.Error("RestartSignal without permission = true, want false")
		}
		h.configure(`{gateway: {mode: "local", auth: {token: "secret"}}, commands: {restart: true}}`)
		if !h.g.RestartSignal() {
			t.Error("RestartSignal with commands.restart = false, want true")
		}
		if err := <-ended; !errors.Is(err, ErrRestart) {
			t.Errorf("Run = %v, want ErrRestart", err)
		}
	})
}

// brokenSettings is a house whose file on disk is another than the one in force.
type brokenSettings struct {
	*house
	disk *config.Snapshot
}

func (b *brokenSettings) Read() *config.Snapshot { return b.disk }

// RT-006, P11: a running gateway is not given up for one that would not start.
func TestRestartCalledOff(t *testing.T) {
	load := func(t *testing.T, text string) *config.Snapshot {
		path := filepath.Join(t.TempDir(), "openclaw.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.Load(config.Paths{ConfigPath: path}, func(string) string { return "" })
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	_, port, _ := net.SplitHostPort(busy.Addr().String())
	for name, text := range map[string]string{
		"invalid":   `{gateway: {port: "x"}}`,
		"no secret": `{gateway: {mode: "local"}}`,
		"exposed":   `{gateway: {mode: "local", auth: {mode: "password", token: "secret"}, bind: "lan"}}`,
		"port":      `{gateway: {mode: "local", auth: {token: "secret"}, port: ` + port + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			disk := load(t, text)
			synctest.Test(t, func(t *testing.T) {
				h, ended := restartHouse(t, "", func(c *Config) { c.Settings = &brokenSettings{c.Settings.(*house), disk} })
				h.g.Restart("config file changed")
				time.Sleep(time.Minute)
				select {
				case err := <-ended:
					t.Fatalf("Run = %v, want the gateway to go on", err)
				default:
				}
				h.connect(dialer{}) // still answers
			})
		})
	}
}

// What was left to be said is said once, to the session that it names.
func TestSentinelIsToldOnce(t *testing.T) {
	type said struct{ key, text string }
	for _, tt := range []struct {
		name, file string
		want       said
	}{
		{"none", "", said{}},
		{"ours", `{"version":1,"payload":{"kind":"config-apply","status":"ok","ts":1,"sessionKey":"work","message":"new colours","stats":{"mode":"config.patch"}}}`,
			said{"agent:main:work", "The gateway restarted after config.patch. new colours"}},
		{"no session", `{"version":1,"payload":{"kind":"restart","status":"ok","ts":1,"message":null}}`, said{"agent:main:main", "The gateway restarted."}},
		{"the reference's", `{"version":1,"payload":{"kind":"update","status":"error","ts":1,"sessionKey":"main","deliveryContext":{"channel":"x"},"threadId":"1","message":null,
			"doctorHint":"Run: openclaw doctor --non-interactive","stats":{"mode":"git","root":"~/openclaw","reason":"dirty","durationMs":3}}}`,
			said{"agent:main:main", "The gateway restarted, but git ended with error. Run: openclaw doctor --non-interactive"}},
		{"unreadable", `{"version":1,`, said{}},
		{"newer", `{"version":2,"payload":{}}`, said{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, "", func(c *Config) {
					if tt.file == "" {
						return
					}
					if err := os.WriteFile(filepath.Join(c.StateDir, "restart-sentinel.json"), []byte(tt.file), 0o600); err != nil {
						t.Fatal(err)
					}
				})
				synctest.Wait()
				for _, key := range []string{"agent:main:main", "agent:main:work"} {
					got, _ := h.router.Notices(key)
					if key == tt.want.key && (len(got) != 1 || got[0] != tt.want.text) || key != tt.want.key && len(got) > 0 {
						t.Errorf("told %s %q, want %+v", key, got, tt.want)
					}
				}
				if _, err := os.Stat(filepath.Join(h.dir, "restart-sentinel.json")); err == nil {
					t.Error("restart-sentinel.json is still there")
				}
				h.close()
			})
		})
	}
}

// A state folder that cannot be written costs the message, not the restart.
func TestSentinelNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, ended := restartHouse(t, "")
		c := h.connect(dialer{})
		h.g.cfg.StateDir = filepath.Join(h.dir, "openclaw.json") // a file
		got := decode[protocol.ConfigChangeResult](t, c.call(protocol.MethodConfigApply, object{"raw": usual, "baseHash": h.Snapshot().Hash}))
		if got.Sentinel.Path != nil || got.Sentinel.Payload.Kind != "config-apply" {
			t.Errorf("sentinel = %+v, want no path and the payload", got.Sentinel)
		}
		if err := <-ended; !errors.Is(err, ErrRestart) {
			t.Errorf("Run = %v, want ErrRestart", err)
		}
	})
}

func TestConfigSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		got := decode[protocol.ConfigSchemaResult](t, c.call(protocol.MethodConfigSchema, object{}))
		var schema struct {
			Schema     string                     `json:"$schema"`
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(got.Schema, &schema); err != nil || !strings.Contains(schema.Schema, "draft-07") || len(schema.Properties["gateway"]) == 0 {
			t.Errorf("schema = %.80s, %v, want a draft-07 schema with gateway", got.Schema, err)
		}
		if _, err := time.Parse(time.RFC3339Nano, got.GeneratedAt); err != nil || got.Version != "1.2.3" {
			t.Errorf("generatedAt %q, version %q, want a time and 1.2.3", got.GeneratedAt, got.Version)
		}
		order := 10
		want := protocol.UIHint{Label: "Gateway", Group: "Gateway", Order: &order}
		if hint := got.UIHints["gateway"]; hint.Label != want.Label || hint.Group != want.Group || hint.Order == nil || *hint.Order != order {
			t.Errorf("hint of gateway = %+v, want %+v", hint, want)
		}
		if !got.UIHints["gateway.auth.token"].Sensitive || !got.UIHints["models.providers.*.apiKey"].Sensitive {
			t.Error("secrets are not marked as sensitive")
		}
		if f := c.call(protocol.MethodConfigSchema, object{"x": 1}); f.OK || f.Error.Message != "invalid config.schema params: at root: unexpected property 'x'" {
			t.Errorf("config.schema with a param = %+v, want it refused", f)
		}
	})
}

package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretNeverPrints(t *testing.T) {
	const s = Secret("hunter2")
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", s, "in", struct{ S Secret }{s})
	js, err := json.Marshal(map[string]any{"s": []Secret{s}})
	if err != nil {
		t.Fatal(err)
	}
	out := log.String() + string(js) + fmt.Sprint(s, &struct{ S Secret }{s}, []Secret{s}, errors.New(s.String()))
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%X", "%d", "%c", "%10s"} {
		out += fmt.Sprintf(verb, s) + fmt.Sprintf(verb, struct{ S Secret }{s})
	}
	if strings.Contains(out, "hunter2") || strings.Contains(strings.ToLower(out), "68756e74657232") {
		t.Errorf("the secret shows: %s", out)
	}
	if s.Reveal() != "hunter2" {
		t.Error("Reveal hides the secret")
	}
	var back struct{ S Secret }
	if err := json.Unmarshal([]byte(`{"S":"hunter2"}`), &back); err != nil || back.S != s {
		t.Errorf("decoded %q, %v", back.S.Reveal(), err)
	}
}

func TestSecretEqual(t *testing.T) {
	for _, tt := range []struct {
		a, b Secret
		want bool
	}{{"a", "a", true}, {"a", "b", false}, {"a", "aa", false}, {"", "", false}, {"", "a", false}} {
		if got := tt.a.Equal(tt.b); got != tt.want {
			t.Errorf("Secret(%q).Equal(%q) = %v, want %v", tt.a.Reveal(), tt.b.Reveal(), got, tt.want)
		}
	}
}

func TestSensitiveKey(t *testing.T) {
	for name, want := range map[string]bool{
		"token": true, "apiKey": true, "OPENAI_API_KEY": true, "x-api-key": true, "botToken": true, "password": true,
		"clientSecret": true, "AWS_SECRET_ACCESS_KEY": true, "Authorization": true,
		"maxTokens": false, "tokenFile": false, "sessionKey": false, "mode": false, "": false, "publicKey": false,
	} {
		if got := SensitiveKey(name); got != want {
			t.Errorf("SensitiveKey(%q) = %v, want %v", name, got, want)
		}
	}
}

type named struct{ name string }

func (n named) String() string { return n.name }

func TestNewFileFormat(t *testing.T) {
	var file bytes.Buffer
	log := New(Config{File: &file, Level: LevelTrace})
	log.With(Subsystem, "gateway").Warn("refused Bearer abc12345", "err", errors.New("bad sk-0123456789"),
		"token", "hunter2", "n", 7, "who", named{"xoxb-123-456-7890"}, "list", []string{"a"},
		"headers", map[string]string{"authorization": "Bearer hunter22"})
	log.Log(t.Context(), LevelTrace, "deep")
	log.Log(t.Context(), LevelFatal, "end")
	lines := strings.Split(strings.TrimSpace(file.String()), "\n")
	var got map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	stamp, _ := got["time"].(string)
	if len(stamp) != len("2026-01-01T00:00:00.000Z") || !strings.HasSuffix(stamp, "Z") {
		t.Errorf("time = %q, want ISO with milliseconds", stamp)
	}
	delete(got, "time")
	want := map[string]any{
		"level": "warn", "message": "refused Bearer [redacted]", "subsystem": "gateway", "err": "bad [redacted]",
		"token": "[redacted]", "n": 7.0, "who": "[redacted]", "list": []any{"a"},
		"headers": map[string]any{"authorization": "[redacted]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if !strings.Contains(lines[1], `"level":"trace"`) || !strings.Contains(lines[2], `"level":"fatal"`) {
		t.Errorf("levels: %s", lines[1:])
	}
}

func TestNewConsole(t *testing.T) {
	for _, tt := range []struct {
		style string
		color bool
		check func(string) bool
	}{
		{StyleJSON, true, func(s string) bool { return json.Valid([]byte(s)) }},
		{StyleCompact, true, func(s string) bool { return !strings.Contains(s, "\x1b[") && strings.Contains(s, "hello") }},
		{StylePretty, false, func(s string) bool { return !strings.Contains(s, "\x1b[") }},
		{StylePretty, true, func(s string) bool { return strings.Contains(s, "\x1b[") }},
	} {
		var file, console bytes.Buffer
		log := New(Config{File: &file, Level: LevelSilent, Console: &console, ConsoleStyle: tt.style, Color: tt.color})
		log.Info("hello", "secret", "hunter2", "list", []string{"item"})
		log.Debug("not shown")
		if !tt.check(console.String()) || strings.Contains(console.String(), "hunter2") || !strings.Contains(console.String(), "item") || strings.Contains(console.String(), "not shown") {
			t.Errorf("%s, colour %v: console = %q", tt.style, tt.color, console.String())
		}
		if file.Len() != 0 {
			t.Errorf("silent file holds %q", file.String())
		}
	}
	New(Config{}).Error("goes nowhere")
}

func TestParseLevel(t *testing.T) {
	for _, name := range []string{"silent", "fatal", "error", "warn", "info", "debug", "trace"} {
		l, err := ParseLevel(strings.ToUpper(name))
		if err != nil || LevelName(l) != name {
			t.Errorf("ParseLevel(%q) = %v, %v", name, LevelName(l), err)
		}
	}
	if l, err := ParseLevel(""); err != nil || l != slog.LevelInfo {
		t.Errorf("ParseLevel of nothing = %v, %v, want info", l, err)
	}
	if _, err := ParseLevel("loud"); err == nil {
		t.Error("ParseLevel(loud) succeeded")
	}
}

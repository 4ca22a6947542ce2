package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// RT-001: state folder, configuration file and profile.
func TestResolvePathsRT001(t *testing.T) {
	for _, tt := range []struct {
		name          string
		env           map[string]string
		files         []string // under the home folder; a trailing slash makes a folder
		state, config string   // below home
		profile       string
	}{
		{name: "nothing there", state: ".openclaw", config: ".openclaw/openclaw.json"},
		{name: "usual", files: []string{".openclaw/openclaw.json", ".clawdbot/clawdbot.json"}, state: ".openclaw", config: ".openclaw/openclaw.json"},
		{name: "legacy folder", files: []string{".moltbot/moltbot.json", ".moldbot/"}, state: ".moltbot", config: ".moltbot/moltbot.json"},
		{name: "legacy order", files: []string{".moltbot/", ".clawdbot/"}, state: ".clawdbot", config: ".clawdbot/openclaw.json"},
		{name: "legacy name in the new folder", files: []string{".openclaw/clawdbot.json"}, state: ".openclaw", config: ".openclaw/clawdbot.json"},
		{name: "new name wins", files: []string{".openclaw/clawdbot.json", ".openclaw/openclaw.json"}, state: ".openclaw", config: ".openclaw/openclaw.json"},
		{name: "file only in a legacy folder", files: []string{".openclaw/", ".moldbot/moldbot.json"}, state: ".openclaw", config: ".moldbot/moldbot.json"},
		{name: "state from the environment", env: map[string]string{"OPENCLAW_STATE_DIR": "~/elsewhere"}, files: []string{".clawdbot/clawdbot.json"}, state: "elsewhere", config: "elsewhere/openclaw.json"},
		{name: "legacy variable", env: map[string]string{"CLAWDBOT_STATE_DIR": "~/old"}, files: []string{"old/moltbot.json"}, state: "old", config: "old/moltbot.json"},
		{name: "new variable wins", env: map[string]string{"CLAWDBOT_STATE_DIR": "~/old", "OPENCLAW_STATE_DIR": "~/new"}, state: "new", config: "new/openclaw.json"},
		{name: "config from the environment", env: map[string]string{"OPENCLAW_CONFIG_PATH": "~/c.json5"}, state: ".openclaw", config: "c.json5"},
		{name: "legacy config variable", env: map[string]string{"CLAWDBOT_CONFIG_PATH": "~/c.json5"}, state: ".openclaw", config: "c.json5"},
		{name: "profile", env: map[string]string{"OPENCLAW_PROFILE": "work"}, state: ".openclaw", config: ".openclaw/openclaw.json", profile: "work"},
		{name: "default profile", env: map[string]string{"OPENCLAW_PROFILE": "Default"}, state: ".openclaw", config: ".openclaw/openclaw.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t)
			h.env = tt.env
			for _, f := range tt.files {
				if strings.HasSuffix(f, "/") {
					if err := os.MkdirAll(h.path(f), 0o700); err != nil {
						t.Fatal(err)
					}
					continue
				}
				h.write("{}", f)
			}
			want := Paths{Home: h.dir, StateDir: h.path(tt.state), ConfigPath: h.path(tt.config), Profile: tt.profile}
			if diff := cmp.Diff(want, h.paths()); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProfileEnvRT001(t *testing.T) {
	for _, tt := range []struct {
		profile string
		dev     bool
		env     map[string]string
		want    map[string]string
	}{
		{"", false, nil, nil},
		{"work", false, nil, map[string]string{"OPENCLAW_PROFILE": "work", "OPENCLAW_STATE_DIR": "/h/.openclaw-work", "OPENCLAW_CONFIG_PATH": "/h/.openclaw-work/openclaw.json"}},
		{"default", false, nil, map[string]string{"OPENCLAW_PROFILE": "default", "OPENCLAW_STATE_DIR": "/h/.openclaw", "OPENCLAW_CONFIG_PATH": "/h/.openclaw/openclaw.json"}},
		{"", true, nil, map[string]string{"OPENCLAW_PROFILE": "dev", "OPENCLAW_STATE_DIR": "/h/.openclaw-dev", "OPENCLAW_CONFIG_PATH": "/h/.openclaw-dev/openclaw.json", "OPENCLAW_GATEWAY_PORT": "19001"}},
		{"", true, map[string]string{"OPENCLAW_STATE_DIR": "~/s", "OPENCLAW_GATEWAY_PORT": "1"}, map[string]string{"OPENCLAW_PROFILE": "dev", "OPENCLAW_CONFIG_PATH": "/h/s/openclaw.json"}},
	} {
		got, err := ProfileEnv(tt.profile, tt.dev, func(n string) string { return tt.env[n] }, "/h")
		if err != nil {
			t.Errorf("ProfileEnv(%q, %v): %v", tt.profile, tt.dev, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("ProfileEnv(%q, %v) (-want +got):\n%s", tt.profile, tt.dev, diff)
		}
	}
	none := func(string) string { return "" }
	if _, err := ProfileEnv("work", true, none, "/h"); err == nil {
		t.Error("--dev with --profile was accepted")
	}
	for _, bad := range []string{"-a", "_a", "a b", "a/b", "ä", strings.Repeat("a", 65)} {
		if _, err := ProfileEnv(bad, false, none, "/h"); err == nil {
			t.Errorf("ProfileEnv(%q) succeeded", bad)
		}
	}
	if _, err := ProfileEnv("A9_-", false, none, "/h"); err != nil {
		t.Errorf("ProfileEnv(A9_-): %v", err)
	}
}

func TestPathsHelpers(t *testing.T) {
	p := Paths{Home: filepath.FromSlash("/h"), StateDir: filepath.FromSlash("/s")}
	for got, want := range map[string]string{
		p.State("a", "b"):       "/s/a/b",
		p.HomeState("w"):        "/h/.openclaw/w",
		p.Short("/h"):           "~",
		p.Short("/h/x"):         "~/x",
		p.Short("/hx"):          "/hx",
		ExpandHome("~/a", "/h"): "/h/a",
		ExpandHome("~", "/h"):   "/h",
		ExpandHome("~a", "/h"):  "~a",
	} {
		if got != filepath.FromSlash(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDotEnv(t *testing.T) {
	h := newHome(t)
	h.env["SET"] = "process"
	h.write("SET=file\nA=1\nOPENCLAW_STATE_DIR="+h.path("state")+"\n", "cwd", ".env")
	h.write("A=2\nB=3\n", "state", ".env")
	want := map[string]string{"A": "1", "B": "3", "OPENCLAW_STATE_DIR": h.path("state")}
	if diff := cmp.Diff(want, DotEnv(h.getenv, h.dir, h.path("cwd"))); diff != "" {
		t.Errorf("DotEnv (-want +got):\n%s", diff)
	}
}

func TestParseDotEnv(t *testing.T) {
	const text = "\uFEFF# comment\r\nexport A=1\r\n B = two words # note\nC='it''s'\nD=\"a\\nb\\\"c\\x\" # q\n" +
		"E=\"line\nnext\" \nF=`x`\nG=#none\nH=\nno line\n9X=1\nI='open\nJ=1\nA=last\n"
	want := map[string]string{
		"A": "last", "B": "two words", "C": "it", "D": "a\nb\"c\\x", "E": "line\nnext", "F": "x", "G": "", "H": "",
		"I": "'open", "J": "1",
	}
	if diff := cmp.Diff(want, parseDotEnv(text)); diff != "" {
		t.Errorf("parseDotEnv (-want +got):\n%s", diff)
	}
}

func FuzzParseDotEnv(f *testing.F) {
	for _, s := range []string{"A=1\nB='x\ny'", "export =\n=", "A=\"\\", "A=`", "\x00=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name := range parseDotEnv(text) {
			if !isVarName(name) {
				t.Errorf("parseDotEnv(%q) has the name %q", text, name)
			}
		}
	})
}

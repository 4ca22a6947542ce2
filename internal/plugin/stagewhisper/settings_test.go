package stagewhisper

import (
	"testing"

	"openclaw/internal/assistant"
	"openclaw/internal/config"
)

func TestSettings(t *testing.T) {
	tests := []struct {
		name, config  string
		env           map[string]string
		relay, direct bool // served
	}{
		{"nothing is said", `{}`, nil, true, true},
		{"plugins are off", `{plugins:{enabled:false}}`, nil, false, false},
		{"it is denied", `{plugins:{deny:["stagewhisper"]}}`, nil, false, false},
		{"others are allowed", `{plugins:{allow:["other"]}}`, nil, false, false},
		{"it is allowed", `{plugins:{allow:["stagewhisper"]}}`, nil, true, true},
		{"the plugin is off", `{plugins:{entries:{stagewhisper:{enabled:false}}}}`, nil, false, false},
		{"the channel is off", `{channels:{stagewhisper:{enabled:false}}}`, nil, false, false},
		{"one pairing is paused", `{channels:{stagewhisper:{accounts:{"` + pairing + `":{enabled:false}}}}}`, nil, false, true},
		{"relays only", `{plugins:{entries:{stagewhisper:{config:{transport:"sse"}}}}}`, nil, true, false},
		{"the listener only", `{plugins:{entries:{stagewhisper:{config:{transport:"http"}}}}}`, nil, false, true},
		{"the environment wins", `{plugins:{entries:{stagewhisper:{config:{transport:"http"}}}}}`, map[string]string{"STAGEWHISPER_TRANSPORT": "sse"}, true, false},
	}
	for _, tt := range tests {
		s, err := readSettings(open(t, tt.config).Snapshot().Config, func(name string) string { return tt.env[name] })
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := s.serves(pairing); got != tt.relay {
			t.Errorf("%s: a pairing over a relay is served: %v, want %v (%s)", tt.name, got, tt.relay, s.off)
		}
		if got := s.serves(assistant.DirectName); got != tt.direct {
			t.Errorf("%s: the listener is served: %v, want %v (%s)", tt.name, got, tt.direct, s.off)
		}
	}
}

func TestListenerSettings(t *testing.T) {
	c := open(t, `{plugins:{entries:{stagewhisper:{config:{httpHost:"::1",httpPort:9000,httpToken:"0123456789abcdef",relayToken:"old"}}}}}`).Snapshot().Config
	s, err := readSettings(c, func(string) string { return "" })
	if err != nil || s.listening.Host != "::1" || s.listening.Port != 9000 || s.listening.Token != "0123456789abcdef" || !s.legacy {
		t.Errorf("settings = %+v, %v", s, err)
	}
	env := map[string]string{"STAGEWHISPER_HTTP_PORT": "9001", "STAGEWHISPER_HTTP_TOKEN": "fedcba9876543210", "STAGEWHISPER_ALLOW_INGRESS_HOSTS": "a.example, b.example"}
	s, err = readSettings(c, func(name string) string { return env[name] })
	if err != nil || s.listening.Port != 9001 || s.listening.Token != "fedcba9876543210" || len(s.listening.Hosts) != 2 {
		t.Errorf("settings with an environment = %+v, %v", s, err)
	}
	// What cannot be read is an error, not a default: it may be what limits access.
	for name, value := range map[string]string{"STAGEWHISPER_HTTP_PORT": "many", "STAGEWHISPER_TRANSPORT": "pigeon"} {
		if _, err := readSettings(c, func(n string) string { return map[string]string{name: value}[n] }); err == nil {
			t.Errorf("%s=%s is taken", name, value)
		}
	}
}

func TestUnreadableSettingsServeNothing(t *testing.T) {
	c := open(t, `{}`).Snapshot().Config
	p := New(Config{Dir: t.TempDir(), Config: func() *config.Config { return c }, Env: func(n string) string {
		return map[string]string{"STAGEWHISPER_TRANSPORT": "pigeon"}[n]
	}})
	if s := p.settings(); s.serves(pairing) || s.serves(assistant.DirectName) {
		t.Errorf("settings that cannot be read serve: %+v", s)
	}
}

// What pairings take from the configuration unless they are told otherwise.
func TestPairingDefaults(t *testing.T) {
	c := open(t, `{channels:{stagewhisper:{apiBaseUrl:"https://relay.example",label:"Box"}},plugins:{entries:{stagewhisper:{config:{label:"other"}}}}}`).Snapshot().Config
	if got, want := APIBaseURL(c)+" "+Label(c), "https://relay.example Box"; got != want {
		t.Errorf("defaults = %s, want %s", got, want)
	}
	c = open(t, `{plugins:{entries:{stagewhisper:{config:{apiBaseUrl:"https://old.example",label:"Old"}}}}}`).Snapshot().Config
	if got, want := APIBaseURL(c)+" "+Label(c), "https://old.example Old"; got != want {
		t.Errorf("defaults of the plugin's section = %s, want %s", got, want)
	}
}

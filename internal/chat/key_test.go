package chat

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormalizeAgentID(t *testing.T) {
	tests := []struct{ in, want string }{
		{"main", "main"}, {" Work ", "work"}, {"", "main"}, {"---", "main"},
		{"My Agent!", "my-agent"}, {"../../etc", "etc"}, {"a/b\\c", "a-b-c"}, {"ops_1-b", "ops_1-b"},
		{"_x", "_x"}, {"ünï", "n"}, {strings.Repeat("a", 80), strings.Repeat("a", 64)},
	}
	for _, tt := range tests {
		if got := NormalizeAgentID(tt.in); got != tt.want {
			t.Errorf("NormalizeAgentID(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// RT-020.
func TestCanonicalKey(t *testing.T) {
	tests := []struct {
		in, agent string
		global    bool
		want      string
	}{
		{"main", "main", false, "agent:main:main"},
		{" MAIN ", "Work", false, "agent:work:main"},
		{"main", "main", true, "global"},
		{"agent:main:main", "main", true, "global"},
		{"Agent:Main:Telegram:DM:Bob", "main", false, "agent:main:telegram:dm:bob"},
		{"agent:My Agent:x", "main", false, "agent:my-agent:x"},
		{"agent:../../etc:x", "main", false, "agent:etc:x"},
		{"agent:x", "main", false, "agent:x"},
		{"node-1", "main", false, "agent:main:node-1"},
		{"global", "main", false, "global"},
		{"unknown", "main", true, "unknown"},
		{"", "main", false, ""},
		{"subagent:1", "main", false, "agent:main:subagent:1"},
	}
	for _, tt := range tests {
		if got := CanonicalKey(tt.in, tt.agent, tt.global); got != tt.want {
			t.Errorf("CanonicalKey(%q, %q, %v) = %q, want %q", tt.in, tt.agent, tt.global, got, tt.want)
		}
	}
}

// RT-020.
func TestParseKey(t *testing.T) {
	tests := []struct {
		in, agent, rest string
		ok              bool
	}{
		{"agent:main:main", "main", "main", true},
		{"agent:a:telegram:group:-1:topic:2", "a", "telegram:group:-1:topic:2", true},
		{" AGENT:A:B ", "a", "b", true},
		{"agent:main", "", "", false},
		{"agent::x", "", "", false},
		{"agent:a:", "", "", false},
		{"main", "", "", false},
		{"", "", "", false},
	}
	for _, tt := range tests {
		agent, rest, ok := ParseKey(tt.in)
		if agent != tt.agent || rest != tt.rest || ok != tt.ok {
			t.Errorf("ParseKey(%q) = %q, %q, %v, want %q, %q, %v", tt.in, agent, rest, ok, tt.agent, tt.rest, tt.ok)
		}
	}
}

// RT-020.
func TestKeyKinds(t *testing.T) {
	parents := []struct {
		in, want string
		ok       bool
	}{
		{"agent:a:slack:channel:c1:thread:t1", "agent:a:slack:channel:c1", true},
		{"agent:a:telegram:group:-1:topic:2", "agent:a:telegram:group:-1", true},
		{"agent:a:x:thread:1:topic:2", "agent:a:x:thread:1", true},
		{"agent:a:main", "", false},
		{":thread:x", "", false},
	}
	for _, tt := range parents {
		if got, ok := ThreadParent(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("ThreadParent(%q) = %q, %v, want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
	kinds := []struct {
		key, chatType string
		want          Kind
	}{
		{"global", "", KindGlobal}, {"unknown", "group", KindUnknown}, {"agent:a:main", "", KindDirect},
		{"agent:a:main", "group", KindGroup}, {"agent:a:main", "channel", KindGroup},
		{"agent:a:discord:channel:1", "", KindGroup}, {"agent:a:x:group:1", "direct", KindGroup},
	}
	for _, tt := range kinds {
		if got := KeyKind(tt.key, tt.chatType); got != tt.want {
			t.Errorf("KeyKind(%q, %q) = %q, want %q", tt.key, tt.chatType, got, tt.want)
		}
	}
	for key, want := range map[string]bool{
		"agent:main:subagent:1": true, "subagent:1": true, "agent:main:subagentx": false, "agent:main:main": false,
	} {
		if got := IsSubagent(key); got != want {
			t.Errorf("IsSubagent(%q) = %v, want %v", key, got, want)
		}
	}
	if !IsACP("agent:a:acp:1") || IsACP("agent:a:main") {
		t.Error("IsACP does not tell the bridge's sessions from others")
	}
	if !IsMain("agent:work:main") || !IsMain("global") || IsMain("agent:work:main:thread:1") {
		t.Error("IsMain does not tell main sessions from others")
	}
	if got := AgentOf("agent:Work:x", "main"); got != "work" {
		t.Errorf("AgentOf = %q, want work", got)
	}
	if got := AgentOf("global", "Ops"); got != "ops" {
		t.Errorf("AgentOf = %q, want ops", got)
	}
}

func FuzzCanonicalKey(f *testing.F) {
	for _, s := range []string{"main", "agent:a:b", "agent::", " Agent:X:Y:thread:1 ", "global", "ſ:K", "agent:-:x"} {
		f.Add(s, "main", false)
		f.Add(s, "Wörk", true)
	}
	f.Fuzz(func(t *testing.T, key, agent string, global bool) {
		once := CanonicalKey(key, agent, global)
		if twice := CanonicalKey(once, agent, global); twice != once {
			t.Errorf("CanonicalKey is not stable: %q -> %q -> %q", key, once, twice)
		}
		if !utf8.ValidString(once) {
			t.Errorf("CanonicalKey(%q) = %q, which is not UTF-8", key, once)
		}
		if a := AgentOf(once, agent); strings.ContainsAny(a, "/\\.: ") || a == "" {
			t.Errorf("AgentOf(%q) = %q, which is no safe folder name", once, a)
		}
		if parent, ok := ThreadParent(once); ok && !strings.HasPrefix(once, parent) {
			t.Errorf("ThreadParent(%q) = %q, which is no prefix", once, parent)
		}
	})
}

package chat

import "testing"

func TestIsStop(t *testing.T) {
	for text, want := range map[string]bool{
		"stop": true, " STOP ": true, "/stop": true, "/Stop@bot": true, "/stop:": true, "esc": true, "abort": true,
		"wait": true, "exit": true, "interrupt": true,
		"stop it": false, "/stop now": false, "stopp": false, "": false, "stop.": false, "/stopper": false,
	} {
		if got := IsStop(text); got != want {
			t.Errorf("IsStop(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestParseCommand(t *testing.T) {
	tests := []struct {
		in   string
		want Command
		ok   bool
	}{
		{"/new", Command{"new", ""}, true},
		{" /New  foo bar ", Command{"new", "foo bar"}, true},
		{"/think: high", Command{"think", "high"}, true},
		{"/think:high", Command{"think", "high"}, true},
		{"/status@my_bot", Command{"status", ""}, true},
		{"/status@bot: x", Command{"status", "x"}, true},
		{"/reset\nsecond line", Command{"reset", "second line"}, true},
		{"/dock-telegram", Command{"dock-telegram", ""}, true},
		{"/usr/bin/env", Command{}, false},
		{"/ new", Command{}, false},
		{"/", Command{}, false},
		{"/1", Command{}, false},
		{"/x@", Command{}, false},
		{"/x@ y", Command{}, false},
		{"new", Command{}, false},
		{"/new.", Command{}, false},
		{"say /new", Command{}, false},
	}
	for _, tt := range tests {
		got, ok := ParseCommand(tt.in)
		if got != tt.want || ok != tt.ok {
			t.Errorf("ParseCommand(%q) = %+v, %v, want %+v, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestMatchTrigger(t *testing.T) {
	triggers := []string{"/new", "/reset", "frische Sitzung"}
	tests := []struct {
		in, rest string
		ok       bool
	}{
		{"/NEW", "", true}, {"/new tell me", "tell me", true}, {"/new\nx", "x", true}, {"/newer", "", false},
		{"Frische sitzung bitte", "bitte", true}, {"say /new", "", false}, {"", "", false},
	}
	for _, tt := range tests {
		if rest, ok := MatchTrigger(tt.in, triggers); rest != tt.rest || ok != tt.ok {
			t.Errorf("MatchTrigger(%q) = %q, %v, want %q, %v", tt.in, rest, ok, tt.rest, tt.ok)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, s := range []string{"/new foo", "/x@y:z", "stop", "/é", "/a@\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		IsStop(text)
		c, ok := ParseCommand(text)
		if ok != (c.Name != "") {
			t.Errorf("ParseCommand(%q) = %+v, %v", text, c, ok)
		}
		if !ok {
			return
		}
		if again, ok := ParseCommand("/" + c.Name + " " + c.Args); !ok || again != c {
			t.Errorf("ParseCommand of %+v = %+v, %v", c, again, ok)
		}
	})
}

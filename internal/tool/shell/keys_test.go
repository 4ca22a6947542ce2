package shell

import (
	"bytes"
	"testing"
)

func TestEncodeKey(t *testing.T) {
	tests := []struct{ key, want string }{
		{"a", "a"}, {"é", "é"}, {"-", "-"}, {"+", "+"},
		{"Enter", "\r"}, {"return", "\r"}, {"Tab", "\t"}, {"S-Tab", "\x1b[Z"}, {"BTab", "\x1b[Z"}, {"Esc", "\x1b"}, {"Escape", "\x1b"},
		{"Space", " "}, {"C-Space", "\x00"}, {"BSpace", "\x7f"}, {"Backspace", "\x7f"}, {"M-Enter", "\x1b\r"},
		{"C-c", "\x03"}, {"c-C", "\x03"}, {"Ctrl+c", "\x03"}, {"control-d", "\x04"}, {"^C", "\x03"}, {"^[", "\x1b"}, {"^?", "\x7f"}, {"C-[", "\x1b"},
		{"M-x", "\x1bx"}, {"Alt+x", "\x1bx"}, {"C-M-x", "\x1b\x18"}, {"M-C-x", "\x1b\x18"}, {"S-a", "A"},
		{"Up", "\x1b[A"}, {"down", "\x1b[B"}, {"Right", "\x1b[C"}, {"LEFT", "\x1b[D"}, {"ArrowUp", "\x1b[A"},
		{"C-Up", "\x1b[1;5A"}, {"S-Left", "\x1b[1;2D"}, {"C-M-S-Right", "\x1b[1;8C"},
		{"Home", "\x1b[H"}, {"End", "\x1b[F"}, {"PgUp", "\x1b[5~"}, {"PageDown", "\x1b[6~"}, {"NPage", "\x1b[6~"}, {"C-PgUp", "\x1b[5;5~"},
		{"Insert", "\x1b[2~"}, {"IC", "\x1b[2~"}, {"Delete", "\x1b[3~"}, {"DC", "\x1b[3~"},
		{"F1", "\x1bOP"}, {"F4", "\x1bOS"}, {"S-F1", "\x1b[1;2P"}, {"F5", "\x1b[15~"}, {"F12", "\x1b[24~"}, {"S-F6", "\x1b[17;2~"},
	}
	for _, tt := range tests {
		got, ok := encodeKey(tt.key)
		if !ok || string(got) != tt.want {
			t.Errorf("encodeKey(%q) = %q, %v, want %q", tt.key, got, ok, tt.want)
		}
	}
	for _, key := range []string{"F13", "F0", "Hyper-x", "C-é", "hello", "C-hello"} {
		if got, ok := encodeKey(key); ok || string(got) != key {
			t.Errorf("encodeKey(%q) = %q, %v, want it sent as text", key, got, ok)
		}
	}
}

func TestEncodeKeysAndHex(t *testing.T) {
	data, warnings := encodeKeys([]string{"h", "i", "", "Enter", "nope"})
	if string(data) != "hi\rnope" || len(warnings) != 1 {
		t.Errorf("encodeKeys = %q, %v", data, warnings)
	}
	data, warnings = decodeHex([]string{"1b 5B", "0x41,0a", "7", "zz", "", "0x"})
	if string(data) != "\x1b[A\n\x07" || len(warnings) != 2 {
		t.Errorf("decodeHex = %q, %v", data, warnings)
	}
}

func FuzzEncodeKey(f *testing.F) {
	for _, s := range []string{"C-M-x", "^", "S--", "F12", "C-", "-", "ctrl+alt+del", "\xff-", "C-\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		data, ok := encodeKey(key)
		if key != "" && len(data) == 0 {
			t.Errorf("encodeKey(%q) is nothing", key)
		}
		if !ok && !bytes.Equal(data, []byte(key)) {
			t.Errorf("encodeKey(%q) = %q, want an unknown key as it is", key, data)
		}
		decodeHex([]string{key})
	})
}

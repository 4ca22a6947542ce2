package shell

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// modifiers of a key, in the encoding of xterm.
type modifiers int

const (
	shift modifiers = 1 << iota
	alt
	ctrl
)

// encodeKeys returns the bytes that a terminal sends for keys such as "C-c",
// "Enter", "M-x" or "S-Tab". A name it does not know is sent as it is and told
// in warnings.
func encodeKeys(keys []string) (data []byte, warnings []string) {
	for _, key := range keys {
		if key == "" {
			continue
		}
		b, ok := encodeKey(key)
		if !ok {
			warnings = append(warnings, fmt.Sprintf("unknown key %q was sent as text", key))
		}
		data = append(data, b...)
	}
	return data, warnings
}

func encodeKey(key string) (data []byte, ok bool) {
	if utf8.RuneCountInString(key) == 1 {
		return []byte(key), true
	}
	if len(key) == 2 && key[0] == '^' { // ^C
		if c, ok := control(key[1]); ok {
			return []byte{c}, true
		}
	}
	mods, name := splitModifiers(key)
	if utf8.RuneCountInString(name) == 1 {
		return encodeChar(key, name, mods)
	}
	lower := strings.ToLower(name)
	if seq, ok := plainKey(lower); ok {
		return encodePlain(lower, seq, mods), true
	}
	if tail, ok := cursorKey(lower); ok {
		switch {
		case mods == 0 && tail >= "P": // F1 to F4
			return []byte("\x1bO" + tail), true
		case mods == 0:
			return []byte("\x1b[" + tail), true
		}
		return fmt.Appendf(nil, "\x1b[1;%d%s", int(mods)+1, tail), true
	}
	if number, ok := numberedKey(lower); ok {
		if mods == 0 {
			return fmt.Appendf(nil, "\x1b[%d~", number), true
		}
		return fmt.Appendf(nil, "\x1b[%d;%d~", number, int(mods)+1), true
	}
	return []byte(key), false
}

// splitModifiers takes C-, M-, S- and their long forms off the front.
func splitModifiers(key string) (mods modifiers, name string) {
	name = key
	for {
		i := strings.IndexAny(name, "-+")
		if i < 1 || i == len(name)-1 {
			return mods, name
		}
		switch strings.ToLower(name[:i]) {
		case "c", "ctrl", "control":
			mods |= ctrl
		case "m", "alt", "meta", "option":
			mods |= alt
		case "s", "shift":
			mods |= shift
		default:
			return mods, name
		}
		name = name[i+1:]
	}
}

// encodeChar encodes one character with modifiers.
func encodeChar(key, char string, mods modifiers) ([]byte, bool) {
	data := []byte(char)
	if mods&shift != 0 {
		data = []byte(strings.ToUpper(char))
	}
	if mods&ctrl != 0 {
		if len(char) != 1 {
			return []byte(key), false
		}
		c, ok := control(char[0])
		if !ok {
			return []byte(key), false
		}
		data = []byte{c}
	}
	if mods&alt != 0 {
		data = append([]byte{0x1B}, data...)
	}
	return data, true
}

// control returns the control character of a key.
func control(c byte) (byte, bool) {
	switch {
	case c >= 'a' && c <= 'z':
		return c - 'a' + 1, true
	case c >= '@' && c <= '_':
		return c - '@', true
	case c == ' ' || c == '2':
		return 0, true
	case c == '?':
		return 0x7F, true
	}
	return 0, false
}

func plainKey(name string) (string, bool) {
	switch name {
	case "enter", "return", "cr":
		return "\r", true
	case "lf", "newline":
		return "\n", true
	case "tab":
		return "\t", true
	case "btab", "backtab":
		return "\x1b[Z", true
	case "escape", "esc":
		return "\x1b", true
	case "space":
		return " ", true
	case "backspace", "bspace", "bs":
		return "\x7f", true
	}
	return "", false
}

func encodePlain(name, seq string, mods modifiers) []byte {
	switch {
	case name == "tab" && mods&shift != 0:
		seq = "\x1b[Z"
	case name == "space" && mods&ctrl != 0:
		seq = "\x00"
	case seq == "\x7f" && mods&ctrl != 0:
		seq = "\x08"
	}
	if mods&alt != 0 {
		seq = "\x1b" + seq
	}
	return []byte(seq)
}

// cursorKey returns the last byte of the sequence of a key without number.
func cursorKey(name string) (string, bool) {
	switch name {
	case "up", "arrowup":
		return "A", true
	case "down", "arrowdown":
		return "B", true
	case "right", "arrowright":
		return "C", true
	case "left", "arrowleft":
		return "D", true
	case "home":
		return "H", true
	case "end":
		return "F", true
	case "f1", "f2", "f3", "f4":
		return string("PQRS"[name[1]-'1']), true
	}
	return "", false
}

// numberedKey returns the number in the sequence of a key.
func numberedKey(name string) (int, bool) {
	switch name {
	case "insert", "ic", "ins":
		return 2, true
	case "delete", "del", "dc":
		return 3, true
	case "pageup", "pgup", "ppage":
		return 5, true
	case "pagedown", "pgdn", "pgdown", "npage":
		return 6, true
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "f")); err == nil && len(name) > 1 && name[0] == 'f' && n >= 5 && n <= 12 {
		return []int{15, 17, 18, 19, 20, 21, 23, 24}[n-5], true
	}
	return 0, false
}

// decodeHex returns the bytes that words such as "1b" or "0x5b41" stand for.
func decodeHex(words []string) (data []byte, warnings []string) {
	for _, word := range words {
		for _, w := range strings.FieldsFunc(word, func(r rune) bool { return r == ' ' || r == ',' }) {
			digits := strings.TrimPrefix(strings.ToLower(w), "0x")
			if len(digits)%2 == 1 {
				digits = "0" + digits
			}
			b := make([]byte, 0, len(digits)/2)
			ok := len(digits) > 0
			for i := 0; i+1 < len(digits); i += 2 {
				v, err := strconv.ParseUint(digits[i:i+2], 16, 8)
				ok = ok && err == nil
				b = append(b, byte(v))
			}
			if !ok {
				warnings = append(warnings, fmt.Sprintf("%q is not hex and was left out", w))
				continue
			}
			data = append(data, b...)
		}
	}
	return data, warnings
}

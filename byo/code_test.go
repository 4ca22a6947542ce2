package byo

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type codeFile struct {
	Codes []struct {
		Name      string
		Code      string
		JSON      string `json:"json"`
		V         int
		V1        *DirectCode
		V2        *RelayCode
		Canonical bool
		Error     string
	}
	URLs         []urlCase `json:"urls"`
	CallbackURLs []urlCase `json:"callback_urls"`
	Normalized   []struct{ URL, Is string }
	RelayCodes   []struct{ Text, Is string } `json:"relay_codes"`
}

type urlCase struct {
	URL string
	OK  bool
}

func codes(t testing.TB) (f codeFile) {
	t.Helper()
	data, err := os.ReadFile("testdata/codes.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// SW-66: what a code is, and what it is refused for.
func TestPairingCodeVectors(t *testing.T) {
	for _, c := range codes(t).Codes {
		text := c.Code
		if c.JSON != "" {
			text = fmt.Sprintf("stagewhisper-pair:v%d:%s", c.V, base64.RawURLEncoding.EncodeToString([]byte(c.JSON)))
		}
		got, err := ParsePairingCode(text)
		if c.Error != "" {
			if err == nil || err.Error() != c.Error {
				t.Errorf("%s: %v, want %s", c.Name, err, c.Error)
			}
			if got.V1 != nil || got.V2 != nil {
				t.Errorf("%s: a code together with an error", c.Name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if diff := cmp.Diff(PairingCode{V1: c.V1, V2: c.V2}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, diff)
		}
		if again, err := got.Encode(); c.Canonical && (err != nil || again != text) {
			t.Errorf("%s: Encode() = %s, %v, want %s", c.Name, again, err, text)
		}
	}
}

// SW-66: a parser of version 1 refuses version 2, and the other way round.
func TestPairingCodeVersions(t *testing.T) {
	v2, err := (&RelayCode{API: "https://r.example.org", Code: "7K3M7K3M7K3M7K3M", Key: make([]byte, KeySize), PSK: make(PSK, PSKSize)}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	v1, err := (&DirectCode{URL: "http://studio", Token: "t"}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseDirectCode(v2); !errors.Is(err, ErrPairingVersion) {
		t.Errorf("ParseDirectCode(v2) = %v, want ErrPairingVersion", err)
	}
	if _, err := ParseRelayCode(v1); !errors.Is(err, ErrPairingVersion) {
		t.Errorf("ParseRelayCode(v1) = %v, want ErrPairingVersion", err)
	}
	if _, err := ParseDirectCode(DirectCodePrefix + strings.Repeat("A", maxCode+1)); !errors.Is(err, ErrNoPairingCode) {
		t.Errorf("a code of %d characters: %v, want ErrNoPairingCode", maxCode, err)
	}
	if _, err := (PairingCode{}).Encode(); err == nil {
		t.Error("an empty code has a text")
	}
	if got := DeepLink(v1); got != "stagewhisper://pair?v=1&code="+v1 {
		t.Errorf("DeepLink = %s", got)
	}
}

// SW-66: the URL rule, with every edge.
func TestURLVectors(t *testing.T) {
	f := codes(t)
	for _, u := range f.URLs {
		if err := CheckURL(u.URL); (err == nil) != u.OK {
			t.Errorf("CheckURL(%q) = %v, want allowed %v", u.URL, err, u.OK)
		}
	}
	for _, u := range f.CallbackURLs {
		if err := CheckCallbackURL(u.URL); (err == nil) != u.OK {
			t.Errorf("CheckCallbackURL(%q) = %v, want allowed %v", u.URL, err, u.OK)
		}
	}
	for _, n := range f.Normalized {
		if got, err := NormalizeURL(n.URL); err != nil || got != n.Is {
			t.Errorf("NormalizeURL(%q) = %q, %v, want %q", n.URL, got, err, n.Is)
		}
	}
	for _, c := range f.RelayCodes {
		if got, ok := NormalizeCode(c.Text); ok != (c.Is != "") || ok && got != c.Is {
			t.Errorf("NormalizeCode(%q) = %q, %v, want %q", c.Text, got, ok, c.Is)
		}
	}
}

// Codes are of their style and use all of it.
func TestNewCode(t *testing.T) {
	digits, letters := map[rune]bool{}, map[rune]bool{}
	for range 300 {
		short, err := NewCode(nil, CodeStyleShort)
		if err != nil {
			t.Fatal(err)
		}
		long, err := NewCode(nil, CodeStyleLong)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []Secret{short, long} {
			if norm, ok := NormalizeCode(string(c)); !ok || norm != string(c) {
				t.Errorf("NewCode = %s, which is no code", string(c))
			}
		}
		for _, r := range string(short) {
			digits[r] = true
		}
		for _, r := range string(long) {
			letters[r] = true
		}
	}
	if len(digits) != 10 || len(letters) != 32 {
		t.Errorf("%d digits and %d letters are used, want 10 and 32", len(digits), len(letters))
	}
	// 16777215 is beyond the last whole million, so it is drawn again.
	if c, err := NewCode(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0, 0, 7}), CodeStyleShort); err != nil || string(c) != "000007" {
		t.Errorf("NewCode = %s, %v, want 000007", string(c), err)
	}
	for _, style := range []string{CodeStyleLong, CodeStyleShort} {
		if _, err := NewCode(strings.NewReader(""), style); err == nil {
			t.Errorf("NewCode(%s) goes on without random bytes", style)
		}
	}
}

// Tokens: the vector of the wire's description.
func TestToken(t *testing.T) {
	seq := make([]byte, 32)
	for i := range seq {
		seq[i] = byte(0x10 + i)
	}
	token, err := NewToken(bytes.NewReader(seq), RelayTokenPrefix)
	if err != nil || string(token) != "swr_EBESExQVFhcYGRobHB0eHyAhIiMkJSYnKCkqKywtLi8" {
		t.Errorf("NewToken = %s, %v", string(token), err)
	}
	if got, want := TokenHash(string(token)), "f9275aa420f440438af1b070961f60d8e3667bfcac7e30525ca298f3138fc96a"; got != want {
		t.Errorf("TokenHash = %s, want %s", got, want)
	}
	id, err := NewID(bytes.NewReader(seq))
	if err != nil || id != "10111213-1415-4617-9819-1a1b1c1d1e1f" {
		t.Errorf("NewID = %s, %v", id, err)
	}
	if _, err := NewToken(strings.NewReader("short"), ""); err == nil {
		t.Error("NewToken goes on without random bytes")
	}
	if _, err := NewID(strings.NewReader("short")); err == nil {
		t.Error("NewID goes on without random bytes")
	}
}

// SW-23: codes, tokens and keys do not print, but travel.
func TestSecretsDoNotPrint(t *testing.T) {
	const canary = "canary-token"
	for _, v := range []any{Secret(canary), PSK(canary), DirectCode{Token: canary}, &RelayCode{Code: canary, PSK: PSK(canary)},
		PairingCode{V2: &RelayCode{PSK: PSK(canary)}}, PairCompleted{RelayToken: canary}, Incoming{Callback: &CallbackTarget{Token: canary}}.Callback} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			got := fmt.Sprintf(format, v)
			if strings.Contains(got, canary) || strings.Contains(got, fmt.Sprintf("%x", canary)) || strings.Contains(got, "99 97 110") {
				t.Errorf("%s of %T prints %s", format, v, got)
			}
		}
	}
	if got := Secret("").LogValue().String() + fmt.Sprint(Secret("")); got != "" {
		t.Errorf("no secret prints %q", got)
	}
	if got := Secret(canary).LogValue().String(); got != "[secret]" {
		t.Errorf("LogValue = %s", got)
	}
	if data, err := json.Marshal(TokenRotated{canary}); err != nil || !bytes.Contains(data, []byte(canary)) {
		t.Errorf("a token does not travel: %s, %v", data, err)
	}
}

// FuzzParsePairingCode: what parses encodes, and parses to the same again.
func FuzzParsePairingCode(f *testing.F) {
	for _, c := range codes(f).Codes {
		f.Add(c.Code)
		if c.JSON != "" {
			f.Add(fmt.Sprintf("stagewhisper-pair:v%d:%s", c.V, base64.RawURLEncoding.EncodeToString([]byte(c.JSON))))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParsePairingCode(text)
		if err != nil {
			if c.V1 != nil || c.V2 != nil {
				t.Fatalf("ParsePairingCode(%q) returns a code and %v", text, err)
			}
			return
		}
		again, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParsePairingCode(again)
		if err != nil || !cmp.Equal(c, back) {
			t.Fatalf("ParsePairingCode(%q) = %v; encoded and parsed: %v, %v", text, c, back, err)
		}
	})
}

package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"

	"openclaw/protocol"
)

// GW-120.
func TestGW120LogsTail(t *testing.T) {
	const (
		log    = "one\ntwo\r\n\nthree\nfour\nhalf"
		secret = "sk-abcdefghijklmnopqrstuvwx0123456789"
	)
	last := int64(strings.LastIndex(log, "\n") + 1)
	size := int64(len(log))
	path := filepath.Join(t.TempDir(), "openclaw-2000-01-01.log")
	lines := func(s ...string) []string { return append([]string{}, s...) }
	tests := []struct {
		name    string
		content string
		cursor  *int64
		limit   int
		most    int64
		want    protocol.LogsTailResult
	}{
		{"whole", log, nil, 500, 1000, protocol.LogsTailResult{Cursor: last, Size: size, Lines: lines("one", "two", "three", "four")}},
		{"limit", log, nil, 2, 1000, protocol.LogsTailResult{Cursor: last, Size: size, Lines: lines("three", "four"), Truncated: true}},
		{"max bytes in a line", log, nil, 500, 12, protocol.LogsTailResult{Cursor: last, Size: size, Lines: lines("four"), Truncated: true}},
		{"max bytes at a line", log, nil, 500, 15, protocol.LogsTailResult{Cursor: last, Size: size, Lines: lines("three", "four"), Truncated: true}},
		{"max bytes in the last line", log, nil, 500, 2, protocol.LogsTailResult{Cursor: size, Size: size, Lines: lines(), Truncated: true}},
		{"max bytes is the size", log, nil, 500, size, protocol.LogsTailResult{Cursor: last, Size: size, Lines: lines("one", "two", "three", "four")}},
		{"cursor", log, new(int64(4)), 500, 1000, protocol.LogsTailResult{Cursor: last, Size: size, Lines: lines("two", "three", "four")}},
		{"cursor 0", log, new(int64(0)), 500, 1000, protocol.LogsTailResult{Cursor: last, Size: size, Lines: lines("one", "two", "three", "four")}},
		{"cursor in a line", log, new(int64(1)), 500, 1000, protocol.LogsTailResult{Cursor: last, Size: size, Lines: lines("two", "three", "four")}},
		{"cursor of the last call", log, new(last), 500, 1000, protocol.LogsTailResult{Cursor: last, Size: size, Lines: lines()}},
		{"cursor at the end", log, new(size), 500, 1000, protocol.LogsTailResult{Cursor: size, Size: size, Lines: lines()}},
		{"rotated", log, new(size + 1), 500, 12, protocol.LogsTailResult{Cursor: last, Size: size, Lines: lines("four"), Truncated: true, Reset: true}},
		{"far behind", log, new(int64(0)), 500, 12, protocol.LogsTailResult{Cursor: last, Size: size, Lines: lines("four"), Truncated: true, Reset: true}},
		{"empty", "", nil, 500, 1000, protocol.LogsTailResult{Lines: lines()}},
		{"no end", "abc", nil, 500, 1000, protocol.LogsTailResult{Size: 3, Lines: lines()}},
	}
	for _, tt := range tests {
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		tt.want.File = path
		got, err := tailLog(path, tt.cursor, tt.limit, tt.most)
		if diff := gocmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: tailLog = %v (-want +got):\n%s", tt.name, err, diff)
		}
	}

	if err := os.WriteFile(path, []byte("Authorization: Bearer "+secret+"\nend\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for cursor := range int64(40) {
		got, err := tailLog(path, &cursor, 500, 1000)
		if err != nil || strings.Contains(fmt.Sprint(got.Lines), secret[20:]) {
			t.Errorf("tailLog from %d = %q, %v: shows the secret", cursor, got.Lines, err)
		}
	}
	if got, err := tailLog(path+"x", nil, 500, 1000); err != nil || got.Size != 0 || got.Lines == nil {
		t.Errorf("tailLog of no file = %+v, %v, want an empty answer", got, err)
	}
}

// The log of today may not be there yet.
func TestNewestLog(t *testing.T) {
	dir := t.TempDir()
	today := filepath.Join(dir, "openclaw-2000-01-03.log")
	if got := newestLog(today); got != today {
		t.Errorf("newestLog without logs = %s, want %s", got, today)
	}
	for _, name := range []string{"openclaw-2000-01-01.log", "openclaw-2000-01-02.log", "other.log"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := newestLog(today), filepath.Join(dir, "openclaw-2000-01-02.log"); got != want {
		t.Errorf("newestLog = %s, want %s", got, want)
	}
	if err := os.WriteFile(today, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := newestLog(today); got != today {
		t.Errorf("newestLog = %s, want %s", got, today)
	}
}

// The method checks its params and takes the defaults.
func TestLogsTailMethod(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.log")
	if err := os.WriteFile(path, []byte(strings.Repeat("line\n", 600)), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "", func(c *Config) { c.LogPath = func() string { return path } })
		c := h.connect(dialer{})
		h.asks(c, [][3]string{
			{"logs.tail", `{"limit":2}`, fmt.Sprintf(`{"file":%q,"cursor":3000,"size":3000,"lines":["line","line"],"truncated":true,"reset":false}`, path)},
			{"logs.tail", `{"limit":5001,"maxBytes":1000001,"cursor":-1}`, `INVALID_REQUEST: invalid logs.tail params: at /cursor: must be >= 0; at /limit: must be <= 5000; at /maxBytes: must be <= 1000000`},
		})
		if got := strings.Count(string(c.call(protocol.MethodLogsTail, nil).Payload), `"line"`); got != 500 {
			t.Errorf("logs.tail without params has %d lines, want 500", got)
		}
		h.close()
		h = newHouse(t, "")
		h.asks(h.connect(dialer{}), [][3]string{{"logs.tail", `{}`, `UNAVAILABLE: Error: this gateway writes no log file`}})
		h.close()
	})
}

// GW-120: the client and the page of the reference find message, level and room in our
// lines.
func TestLogLinesAsOthersRead(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"time":"2026-01-02T03:04:05Z","level":"warn","message":"slow","subsystem":"gateway","conn":"x"}`,
			`{"time":"2026-01-02T03:04:05Z","level":"warn","message":"slow","subsystem":"gateway","conn":"x","0":"slow","1":{"conn":"x"},"_meta":{"date":"2026-01-02T03:04:05Z","logLevelName":"WARN","name":"{\"subsystem\":\"gateway\"}"}}`},
		{`{"level":"info","message":"m"}`, `{"level":"info","message":"m","0":"m","_meta":{"date":null,"logLevelName":"INFO"}}`},
		{`{"0":"theirs","_meta":{"logLevelName":"INFO"}}`, `{"0":"theirs","_meta":{"logLevelName":"INFO"}}`},
		{`{"message":3}`, `{"message":3}`},
		{`plain text`, `plain text`},
		{`{broken`, `{broken`},
	} {
		if got := asOthersRead(c.line); got != c.want {
			t.Errorf("asOthersRead(%s)\n = %s\nwant %s", c.line, got, c.want)
		}
	}
}

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// CLI-003: errors are one line, then hints, on standard error.
func TestReport(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"none", nil, ""},
		{"plain", errors.New("read config: no such file"), "openclaw: read config: no such file\n"},
		{"hints", Fail("no session chosen", "type --agent main"), "openclaw: no session chosen\n  hint: type --agent main\n"},
		{"added hint", Hint(Fail("a", "one"), "two"), "openclaw: a\n  hint: one\n  hint: two\n"},
		{"wrapped cause", Hint(errors.New("boom"), "calm down"), "openclaw: boom\n  hint: calm down\n"},
		{"outer text stays", fmt.Errorf("open store: %w", Fail("locked", "wait")), "openclaw: open store: locked\n  hint: wait\n"},
		{"details", &Error{Text: "cannot reach it", Details: []string{"source: default"}}, "openclaw: cannot reach it\n  source: default\n"},
		{"quiet", Exit(2), ""},
		{"interrupted", Interrupted{os.Interrupt}, ""},
	}
	for _, tt := range tests {
		var b bytes.Buffer
		Report(&b, "openclaw", tt.err)
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("%s: Report differs (-want +got):\n%s", tt.name, diff)
		}
	}
	if Hint(nil, "x") != nil {
		t.Error("Hint(nil) is an error, want nil")
	}
}

// CLI-003: exit codes.
func TestExitCode(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{Fail("x"), 1},
		{Exit(2), 2},
		{fmt.Errorf("run: %w", Exit(2)), 2},
		{Interrupted{os.Interrupt}, 130},
		{fmt.Errorf("run: %w", Interrupted{syscall.SIGTERM}), 143},
	}
	for _, tt := range tests {
		if got := ExitCode(tt.err); got != tt.want {
			t.Errorf("ExitCode(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestCauseReportsTheSignal(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	boom := errors.New("boom")
	if got := Cause(ctx, boom); got != boom {
		t.Errorf("Cause before a signal = %v, want %v", got, boom)
	}
	cancel(Interrupted{syscall.SIGTERM})
	if got := ExitCode(Cause(ctx, boom)); got != 143 {
		t.Errorf("exit code after SIGTERM = %d, want 143", got)
	}
	if got := Cause(ctx, nil); got != nil {
		t.Errorf("Cause(nil) = %v, want nil", got)
	}
}

func TestSignalContext(t *testing.T) {
	ctx, stop := SignalContext(t.Context())
	defer stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if got := ExitCode(Cause(ctx, ctx.Err())); got != 143 {
		t.Errorf("exit code = %d, want 143", got)
	}
}

// CLI-001: the profile flags count only before the command word.
func TestSplitGlobals(t *testing.T) {
	tests := []struct {
		args string
		want Globals
		rest string
	}{
		{"", Globals{}, ""},
		{"status --json", Globals{}, "status --json"},
		{"--dev gateway", Globals{Dev: true}, "gateway"},
		{"gateway --dev", Globals{}, "gateway --dev"},
		{"--profile Work status", Globals{Profile: "Work"}, "status"},
		{"--profile=work status --profile x", Globals{Profile: "work"}, "status --profile x"},
		{"--no-color --profile default health", Globals{Profile: "default", NoColor: true}, "--no-color health"},
		{"-- --dev", Globals{}, "-- --dev"},
	}
	for _, tt := range tests {
		got, rest, err := SplitGlobals(strings.Fields(tt.args))
		if err != nil {
			t.Errorf("SplitGlobals(%q) = %v", tt.args, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || strings.Join(rest, " ") != tt.rest {
			t.Errorf("SplitGlobals(%q) rest = %q, want %q; globals (-want +got):\n%s", tt.args, rest, tt.rest, diff)
		}
	}
	for _, args := range []string{"--dev --profile x status", "--profile", "--profile= status", "--profile -x"} {
		_, _, err := SplitGlobals(strings.Fields(args))
		if got := ExitCode(err); got != 2 {
			t.Errorf("SplitGlobals(%q) exit code = %d (%v), want 2", args, got, err)
		}
	}
}

func TestParseDuration(t *testing.T) {
	tests := []struct {
		in   string
		want time.Duration
		ok   bool
	}{
		{"250ms", 250 * time.Millisecond, true},
		{"1.5h", 90 * time.Minute, true},
		{"2d", 48 * time.Hour, true},
		{"10", 10 * time.Second, true},
		{"3 m", 3 * time.Minute, true},
		{"", 0, false}, {"-1s", 0, false}, {"x", 0, false}, {"1w", 0, false}, {"NaN", 0, false}, {"1e300d", 0, false},
	}
	for _, tt := range tests {
		got, err := ParseDuration(tt.in, time.Second)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v, ok %v", tt.in, got, err, tt.want, tt.ok)
		}
	}
}

func TestTable(t *testing.T) {
	table := NewTable(Column{Title: "Key", Max: 9}, Column{Title: "Tokens", Right: true}, Column{Title: "Flags"})
	table.Row("agent:main:main", "12", "")
	table.Row("é", "1.2k", "aborted", "surplus")
	var b bytes.Buffer
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := "Key        Tokens  Flags\n" +
		"agen…main      12\n" +
		"é            1.2k  aborted\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table differs (-want +got):\n%s", diff)
	}
}

func TestFormats(t *testing.T) {
	tests := []struct{ got, want string }{
		{Age(-time.Second), "now"}, {Age(59 * time.Second), "59s"}, {Age(90 * time.Second), "1m"},
		{Age(47 * time.Hour), "47h"}, {Age(49 * time.Hour), "2d"},
		{Tokens(999), "999"}, {Tokens(1000), "1k"}, {Tokens(12345), "12.3k"}, {Tokens(2_500_000), "2.5M"},
		{Bytes(1023), "1023 B"}, {Bytes(1536), "1.5 KiB"}, {Bytes(5 << 40), "5 TiB"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// CLI-002: JSON keeps the order of keys and escapes no HTML.
func TestStreams(t *testing.T) {
	var out, talk bytes.Buffer
	s := &Streams{In: strings.NewReader("yes\n"), Out: &out, Err: &talk, Home: "/home/u"}
	if err := s.RawJSON([]byte(`{"b":"<1>","a":[]}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.JSON(map[string]string{"x": "<y>"}); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"b\": \"<1>\",\n  \"a\": []\n}\n{\n  \"x\": \"<y>\"\n}\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("JSON differs (-want +got):\n%s", diff)
	}
	if err := s.RawJSON([]byte(`{`)); err == nil {
		t.Error("RawJSON of broken JSON succeeded, want an error")
	}
	for path, want := range map[string]string{"/home/u/.openclaw": "~/.openclaw", "/home/u": "~", "/home/user/x": "/home/user/x"} {
		if got := s.Path(path); got != want {
			t.Errorf("Path(%q) = %q, want %q", path, got, want)
		}
	}
	if yes, err := s.Confirm("sure?"); yes || err != nil || talk.Len() != 0 {
		t.Errorf("Confirm without a terminal = %v, %v, talk %q; want no and silence", yes, err, talk.String())
	}
	s.InTTY = true
	if yes, err := s.Confirm("sure?"); !yes || err != nil {
		t.Errorf("Confirm(yes) = %v, %v, want true", yes, err)
	}
	if got := s.OutStyle().Red("x"); got != "x" {
		t.Errorf("style without a terminal = %q, want plain text", got)
	}
	s.OutTTY = true
	if got := s.OutStyle().Red("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("style on a terminal = %q, want red", got)
	}
	s.NoColor = true
	if got := s.OutStyle().Red("x"); got != "x" {
		t.Errorf("style with NoColor = %q, want plain text", got)
	}
}

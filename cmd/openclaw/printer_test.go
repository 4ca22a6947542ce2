package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/cli"
)

// CLI-011: payloads that were streamed are not printed again; media follow as
// MEDIA lines.
func TestPrinter(t *testing.T) {
	url := "file:///a.png"
	tests := []struct {
		name   string
		drive  func(*printer) bool
		out    string
		talk   string
		failed bool
	}{
		{"streamed reply", func(p *printer) bool {
			p.assistant("Hel", "Hel")
			p.assistant("Hello", "lo")
			return p.finish([]reply{{Text: "Hello"}}, "")
		}, "Hello\n", "", false},
		{"several messages around a tool", func(p *printer) bool {
			p.assistant("Let me look.", "Let me look.")
			p.toolStart("read", `{"path":"a"}`)
			p.toolResult("read", "", false, 12*time.Millisecond)
			p.assistant("Let", "Let")
			p.assistant("Let me see", " me see")
			return p.finish([]reply{{Text: "Let me look."}, {Text: "Let me see"}}, "")
		}, "Let me look.\nLet me see\n", "[tool] read {\"path\":\"a\"}\n[tool] read done in 12ms\n", false},
		{"a message that repeats the start of the last one", func(p *printer) bool {
			p.assistant("ok", "ok")
			p.assistant("ok", "ok")
			return p.finish([]reply{{Text: "ok\n\nok"}}, "")
		}, "ok\nok\n", "", false},
		{"payload that was not streamed", func(p *printer) bool {
			return p.finish([]reply{{Text: "late", MediaURL: &url}}, "")
		}, "late\nMEDIA:file:///a.png\n", "", false},
		{"several media", func(p *printer) bool {
			return p.finish([]reply{{MediaURLs: []string{"a", "b"}}}, "")
		}, "MEDIA:a\nMEDIA:b\n", "", false},
		{"nothing", func(p *printer) bool { return p.finish(nil, "") }, "", "no reply\n", false},
		{"error payload", func(p *printer) bool {
			return p.finish([]reply{{Text: "the model refused", IsError: true}}, "")
		}, "the model refused\n", "", true},
		{"failed tool", func(p *printer) bool {
			p.toolResult("exec", "exit 1\nmore", true, 0)
			return p.finish([]reply{{Text: "x"}}, "")
		}, "x\n", "[tool] exec failed: exit 1 …\n", false},
	}
	for _, tt := range tests {
		var out, talk bytes.Buffer
		p := &printer{io: &cli.Streams{Out: &out, Err: &talk}}
		failed := tt.drive(p)
		if diff := cmp.Diff(tt.out, out.String()); diff != "" {
			t.Errorf("%s: output differs (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.talk, talk.String()); diff != "" {
			t.Errorf("%s: talk differs (-want +got):\n%s", tt.name, diff)
		}
		if failed != tt.failed {
			t.Errorf("%s: finish = %v, want %v", tt.name, failed, tt.failed)
		}
	}
}

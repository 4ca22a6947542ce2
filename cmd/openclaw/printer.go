package main

import (
	"fmt"
	"strings"
	"time"

	"openclaw/internal/cli"
)

// printer shows one run: the answer on standard output as it is written, tools
// on standard error. It belongs to one goroutine.
type printer struct {
	io *cli.Streams
	// silent leaves everything to the caller, which prints the final response.
	silent bool

	current string   // the message being streamed, as far as it is printed
	said    []string // finished messages, to not print them again as payloads
	midLine bool     // standard output does not end with a newline
}

// reply is one payload of an outcome as the printer needs it.
type reply struct {
	Text      string   `json:"text"`
	MediaURL  *string  `json:"mediaUrl"`
	MediaURLs []string `json:"mediaUrls"`
	IsError   bool     `json:"isError"`
}

// assistant prints what text has beyond what was printed. A text that does not
// go on from there is a new message.
func (p *printer) assistant(text, delta string) {
	if p.silent {
		return
	}
	if p.current != "" && (text == delta || !strings.HasPrefix(text, p.current)) {
		p.endMessage()
	}
	p.write(text[len(p.current):])
	p.current = text
}

// toolStart says that a tool begins; args may be empty.
func (p *printer) toolStart(name, args string) {
	if p.silent {
		return
	}
	p.endMessage()
	style := p.io.ErrStyle()
	p.io.Say("%s %s", style.Cyan("[tool]"), strings.TrimSpace(name+" "+style.Dim(cli.ElideMiddle(oneLine(args), 160))))
}

// toolResult says how a tool ended; took is zero when unknown.
func (p *printer) toolResult(name, summary string, failed bool, took time.Duration) {
	if p.silent {
		return
	}
	style := p.io.ErrStyle()
	word := style.Green("done")
	if failed {
		word = style.Red("failed")
	}
	line := style.Cyan("[tool]") + " " + name + " " + word
	if took > 0 {
		line += style.Dim(fmt.Sprintf(" in %s", took.Round(time.Millisecond)))
	}
	if summary = oneLine(summary); summary != "" {
		line += ": " + cli.ElideMiddle(summary, 160)
	}
	p.io.Say("%s", line)
}

// note prints talk about the run, such as a compaction.
func (p *printer) note(text string) {
	if p.silent {
		return
	}
	p.endMessage()
	p.io.Say("%s", p.io.ErrStyle().Dim(text))
}

// finish prints the payloads that were not streamed with their media, and then the
// remark, if any, as talk. It reports whether the reply as a whole is an error.
func (p *printer) finish(replies []reply, remark string) (failed bool) {
	p.endMessage()
	shown := len(p.said) > 0
	failed = len(replies) > 0
	for _, r := range replies {
		failed = failed && r.IsError
		if text := strings.TrimSpace(r.Text); text != "" && !p.heard(text) {
			p.write(text)
			p.endLine()
			shown = true
		}
		for _, url := range media(r) {
			p.write("MEDIA:" + url)
			p.endLine()
			shown = true
		}
	}
	if remark == "" && !shown {
		remark = "no reply"
	}
	if remark != "" {
		p.io.Say("%s", remark)
	}
	return failed
}

// heard reports whether text was streamed, as one message or as several.
func (p *printer) heard(text string) bool {
	for i := range p.said {
		if strings.TrimSpace(strings.Join(p.said[i:], "\n\n")) == text {
			return true
		}
		if p.said[i] == text {
			return true
		}
	}
	return false
}

func media(r reply) []string {
	if len(r.MediaURLs) > 0 {
		return r.MediaURLs
	}
	if r.MediaURL != nil && *r.MediaURL != "" {
		return []string{*r.MediaURL}
	}
	return nil
}

func (p *printer) endMessage() {
	if text := strings.TrimSpace(p.current); text != "" {
		p.said = append(p.said, text)
	}
	p.current = ""
	p.endLine()
}

func (p *printer) endLine() {
	if p.midLine {
		p.write("\n")
	}
}

func (p *printer) write(text string) {
	if text == "" {
		return
	}
	fmt.Fprint(p.io.Out, text)
	p.midLine = !strings.HasSuffix(text, "\n")
}

// oneLine keeps the first line of text and marks that there was more.
func oneLine(text string) string {
	first, rest, more := strings.Cut(strings.TrimSpace(text), "\n")
	if more && strings.TrimSpace(rest) != "" {
		first += " …"
	}
	return first
}

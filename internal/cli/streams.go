package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// Streams are the ends of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// InTTY, OutTTY and ErrTTY say which ends are a terminal.
	InTTY, OutTTY, ErrTTY bool
	// Width is the terminal's width, 80 when unknown and never below 60.
	Width int
	// Home is the user's home folder; paths below it are shown with "~".
	Home string
	// NoColor switches colours off, ForceColor on without a terminal.
	NoColor, ForceColor bool
}

// Standard returns the streams of the process.
func Standard() *Streams {
	s := &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY: isTerminal(os.Stdin), OutTTY: isTerminal(os.Stdout), ErrTTY: isTerminal(os.Stderr),
		Width: 80,
	}
	if s.OutTTY {
		s.Width = max(60, terminalWidth(os.Stdout, 80))
	}
	return s
}

// JSON prints v as one indented JSON document.
func (s *Streams) JSON(v any) error {
	enc := json.NewEncoder(s.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// RawJSON prints a JSON document indented, with its keys in the given order.
func (s *Streams) RawJSON(doc []byte) error {
	if len(bytes.TrimSpace(doc)) == 0 {
		doc = []byte("null")
	}
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(doc), "", "  "); err != nil {
		return fmt.Errorf("print answer: %w", err)
	}
	b.WriteByte('\n')
	_, err := s.Out.Write(b.Bytes())
	return err
}

// Say prints one line of talk to standard error.
func (s *Streams) Say(format string, args ...any) {
	fmt.Fprintf(s.Err, format+"\n", args...)
}

// Path shortens a path below the home folder to "~/…".
func (s *Streams) Path(path string) string {
	if s.Home != "" {
		if path == s.Home {
			return "~"
		}
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(s.Home, "/")+"/"); ok {
			return "~/" + rest
		}
	}
	return path
}

// Confirm asks a yes-or-no question on the terminal. Without a terminal on
// standard input it answers no and does not wait.
func (s *Streams) Confirm(question string) (bool, error) {
	if !s.InTTY {
		return false, nil
	}
	fmt.Fprintf(s.Err, "%s [y/N] ", question)
	line, err := bufio.NewReader(s.In).ReadString('\n')
	if err != nil && err != io.EOF {
		return false, fmt.Errorf("read answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// SameNumber shows the number that proves a pairing and, when it must be compared, asks
// whether the other side shows it as well; yes is the answer of somebody who compared
// it already.
func (s *Streams) SameNumber(number string, must, yes bool) (bool, error) {
	if !must {
		s.Say("the desktop shows the number %s as well", number)
		return true, nil
	}
	s.Say("number: %s", number)
	if yes {
		return true, nil
	}
	if !s.InTTY {
		return false, Fail("nobody can compare the number "+number+" here", "run this on a terminal, or use the long code; --yes-same is for scripts that compared it")
	}
	return s.Confirm("Does the other side show the same number?")
}

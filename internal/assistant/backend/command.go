package backend

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"openclaw/byo"
	"openclaw/internal/assistant"
)

const (
	maxChildLine  = 4 << 20
	childGrace    = 5 * time.Second  // to end after its input has
	minRestart    = time.Second / 4  // between two starts …
	maxRestart    = 30 * time.Second // … of a child that does not stay
	childRested   = time.Minute      // of life forgive earlier failures
	upWithin      = 20 * time.Second // a request waits for a child
	childReads    = 10 * time.Second // a child takes a line
	maxChildError = 400              // characters of a reason shown to a person
)

// CommandConfig says which program to run.
type CommandConfig struct {
	Argv   []string // program and arguments; no shell sees them
	Dir    string   // where it runs; default here
	Env    []string // default that of this process
	Memory Memory   // what it is told of the conversation so far

	ProviderKind, Version string
	Log                   *slog.Logger // default: discarded
}

// Command is an agent in a child process that takes and gives lines of JSON. The child
// is started by Run and again whenever it ends. See
// docs/stagewhisper.md#a-command-as-the-assistant.
type Command struct {
	cfg CommandConfig
	log *slog.Logger

	writing sync.Mutex // one line at a time; taken without mu

	mu      sync.Mutex
	in      io.Writer          // of the child that runs, nil for none
	end     context.CancelFunc // ends it
	up      chan struct{}      // closed while one runs
	gone    chan struct{}      // closed when it has ended
	serial  int
	pending map[string]*inquiry
}

// NewCommand returns the agent; it answers while Run runs.
func NewCommand(cfg CommandConfig) *Command {
	return &Command{cfg: cfg, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), up: make(chan struct{}), pending: map[string]*inquiry{}}
}

// parentLine is what a child is told.
type parentLine struct {
	Type string `json:"type"` // turn, reason, describe or cancel
	ID   string `json:"id"`

	Turn    string         `json:"turn,omitempty"`
	Session string         `json:"session,omitempty"`
	Kind    assistant.Kind `json:"kind,omitempty"`
	Text    string         `json:"text,omitempty"`
	Context string         `json:"context,omitempty"`
	Again   int            `json:"again,omitempty"`
	History []Message      `json:"history,omitempty"`

	Job       string          `json:"job,omitempty"`
	Purpose   string          `json:"purpose,omitempty"`
	System    string          `json:"system,omitempty"`
	Input     string          `json:"input,omitempty"`
	Schema    json.RawMessage `json:"schema,omitempty"`
	Model     string          `json:"model,omitempty"`
	MaxTokens int             `json:"max_tokens,omitempty"`
}

// childLine is what a child says.
type childLine struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"` // typing, delta, message, taken, done or error
	Label   string          `json:"label"`
	Text    string          `json:"text"`
	Code    string          `json:"code"`
	Model   string          `json:"model"`
	Usage   json.RawMessage `json:"usage"`
	Profile json.RawMessage `json:"profile"`
}

// errEnded says that the child ended while it worked.
var errEnded = errors.New("the assistant's program has ended")

// Run keeps a child running until ctx ends.
func (c *Command) Run(ctx context.Context) error {
	wait := minRestart
	for {
		began := time.Now()
		err := c.live(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > childRested {
			wait = minRestart
		}
		c.log.Warn("the assistant's program has ended", "program", c.cfg.Argv[0], "err", err, "again", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		wait = min(2*wait, maxRestart)
	}
}

// live runs one child.
func (c *Command) live(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.cfg.Argv[0], c.cfg.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.cfg.Dir, c.cfg.Env, childGrace
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	talk, talking := io.Pipe()
	cmd.Stderr = talking
	cmd.Cancel = in.Close // the child's sign to end; it has childGrace for it
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the assistant's program: %w", err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { c.overhear(talk) })
	c.mu.Lock()
	c.in, c.end, c.gone = in, cancel, make(chan struct{})
	close(c.up)
	c.mu.Unlock()

	err = c.hear(out)
	if err != nil {
		cancel() // it does not keep to the rules, so it has to go
	}
	c.mu.Lock()
	close(c.gone)
	c.in, c.up = nil, make(chan struct{})
	c.mu.Unlock()
	err = errors.Join(err, cmd.Wait())
	talking.Close()
	readers.Wait()
	return err
}

// hear reads the lines of a child until it ends.
func (c *Command) hear(out io.Reader) error {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxChildLine)
	for lines.Scan() {
		var l childLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("the assistant's program wrote a line that is no JSON object: %w", err)
		}
		c.mu.Lock()
		q := c.pending[l.ID]
		c.mu.Unlock()
		if q == nil {
			continue // nobody waits for it any more
		}
		select {
		case q.answers <- l:
		case <-q.left:
		}
	}
	return lines.Err()
}

// overhear logs what a child says besides. It may be what people said, so only for
// those who debug.
func (c *Command) overhear(talk io.Reader) {
	lines := bufio.NewScanner(talk)
	for lines.Scan() {
		c.log.Debug("the assistant's program says", "text", lines.Text())
	}
	_, _ = io.Copy(io.Discard, talk) // a line that was too long
}

// inquiry is a request that a child works on.
type inquiry struct {
	answers chan childLine
	left    chan struct{} // closed when nobody reads the answers any more
}

// exchange sends a request and hands the answers to take until it is done.
func (c *Command) exchange(ctx context.Context, ask parentLine, take func(childLine) (done bool, err error)) error {
	q := &inquiry{answers: make(chan childLine), left: make(chan struct{})}
	gone, err := c.send(ctx, &ask, q)
	if err != nil {
		return err
	}
	defer func() {
		close(q.left)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, ask.ID)
	}()
	for {
		select {
		case l := <-q.answers:
			if done, err := take(l); done || err != nil {
				return err
			}
		case <-gone:
			return errEnded
		case <-ctx.Done():
			_ = c.write(&parentLine{Type: "cancel", ID: ask.ID}) // a child that has ended needs no telling
			return ctx.Err()
		}
	}
}

// send waits for a child and gives it the request, under an id of its own.
func (c *Command) send(ctx context.Context, ask *parentLine, q *inquiry) (gone <-chan struct{}, err error) {
	limit := time.NewTimer(upWithin)
	defer limit.Stop()
	for {
		c.mu.Lock()
		up, running := c.up, c.in != nil
		if running {
			c.serial++
			ask.ID = strconv.Itoa(c.serial)
			c.pending[ask.ID] = q
			gone = c.gone
		}
		c.mu.Unlock()
		if running {
			if err := c.write(ask); err != nil {
				c.log.Debug("the assistant's program takes no line", "err", err)
			}
			return gone, nil // a child that takes nothing is ended, which gone tells
		}
		select {
		case <-up:
		case <-limit.C:
			return nil, errors.New("the assistant's program does not run")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// write sends a line. A child that does not read is ended. c.mu must be free, because
// the child may be waiting for its own lines to be read.
func (c *Command) write(l *parentLine) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	c.mu.Lock()
	in, end := c.in, c.end
	c.mu.Unlock()
	if in == nil {
		return errEnded
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if d, ok := in.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(time.Now().Add(childReads)) // where it cannot be set, a child may stall its own requests
	}
	if _, err := in.Write(append(data, '\n')); err != nil {
		end()
		return err
	}
	return nil
}

// Reason implements assistant.Agent.
func (c *Command) Reason(ctx context.Context, q assistant.Question) (assistant.Answer, error) {
	var answer assistant.Answer
	var said []string
	err := c.exchange(ctx, parentLine{Type: "reason", Job: q.ID, Purpose: q.Purpose, System: q.System, Input: q.Input, Schema: q.Schema, Model: q.Model, MaxTokens: q.MaxTokens},
		func(l childLine) (bool, error) {
			switch l.Type {
			case "message":
				said = append(said, l.Text)
			case "done":
				answer = assistant.Answer{Text: cmp.Or(l.Text, strings.Join(said, "\n")), ModelRef: l.Model, Usage: l.Usage}
				return true, nil
			case "error":
				return true, c.problem(&l)
			}
			return false, nil
		})
	return answer, err
}

// Turn implements assistant.Agent.
func (c *Command) Turn(ctx context.Context, t assistant.Turn, emit func(assistant.Output)) error {
	talk, answered, err := c.cfg.Memory.hear(&t)
	if err != nil {
		return err
	}
	if answered != "" { // an earlier try got that far
		emit(assistant.Output{Message: answered})
		return nil
	}
	var said []string
	err = c.exchange(ctx, parentLine{Type: "turn", Turn: t.ID, Session: t.SessionID, Kind: t.Kind, Text: t.Text, Context: t.Context, Again: t.Again, History: talk[:len(talk)-1]},
		func(l childLine) (bool, error) {
			switch l.Type {
			case "typing":
				emit(assistant.Output{Typing: cmp.Or(l.Label, "Working")})
			case "delta":
				emit(assistant.Output{Delta: l.Text})
			case "taken":
				emit(assistant.Output{Taken: true})
			case "message", "done":
				if strings.TrimSpace(l.Text) != "" {
					said = append(said, l.Text)
					emit(assistant.Output{Message: l.Text})
				}
				return l.Type == "done", nil
			case "error":
				return true, c.problem(&l)
			}
			return false, nil
		})
	if len(said) > 0 {
		if kept := c.cfg.Memory.reply(&t, talk, strings.Join(said, "\n\n")); kept != nil {
			return errors.Join(err, kept)
		}
	}
	if turn := new(assistant.TurnError); err != nil && ctx.Err() == nil && !errors.As(err, &turn) {
		c.log.Warn("the assistant's program failed in a turn", "task", t.ID, "err", err)
		return fail(err, "The assistant's program stopped while it worked on this. Please try again.")
	}
	return err
}

// problem is what a child said went wrong.
func (c *Command) problem(l *childLine) error {
	if l.Code == "auth" {
		return fmt.Errorf("%w: %.*s", assistant.ErrAuth, maxChildError, l.Text)
	}
	return fail(errors.New("the assistant's program reports an error"), cmp.Or(fmt.Sprintf("%.*s", maxChildError, l.Text), "The assistant could not answer."))
}

// Describe implements assistant.Agent. A child that does not describe itself is
// described by what is known.
func (c *Command) Describe(ctx context.Context) (byo.Profile, error) {
	p := profile(c.cfg.ProviderKind, c.cfg.Version)
	err := c.exchange(ctx, parentLine{Type: "describe"}, func(l childLine) (bool, error) {
		switch l.Type {
		case "done":
			if len(l.Profile) > 0 {
				return true, json.Unmarshal(l.Profile, &p)
			}
			return true, nil
		case "error":
			return true, nil
		}
		return false, nil
	})
	return p.Clamp(), err
}

package session

import (
	"context"
	"fmt"
	"sync"

	"openclaw/internal/turn"
)

// TranscriptOptions says which transcript to open.
type TranscriptOptions struct {
	SessionID string
	// Path of the file; default [Store.TranscriptPath] of SessionID.
	Path string
	// Cwd is the workspace that a new header names.
	Cwd string
	// SyntheticResults lets [Transcript.Append] answer tool calls that were left
	// open, for model families that insist on it (see [Family.PairsTools]).
	SyntheticResults bool
}

// Transcript is an open transcript: the right to append to it and the view a
// model gets. Its methods are safe for concurrent use.
//
// Lines before the first assistant message are kept back, as other programs
// expect; a user message among them is safe in a side file. Every line is written
// before Append returns, so a kill of this process loses none. Against a power cut
// the disk is told to sync at the two points that matter, a user message and the
// end of an answer; that goes on beside the run, and Sync and Close wait for it.
type Transcript struct {
	tape *tape
	opts TranscriptOptions

	mu     sync.Mutex
	closed bool
}

// OpenTranscript opens a transcript for a run. It takes the lock file that other
// programs respect, repairs what is broken in the file, and steps back from a
// user message at the end that was never answered, so that two user turns do not
// follow each other. A missing file is an empty transcript. The error wraps
// [ErrLocked] when another process keeps the lock for 10 s.
func (s *Store) OpenTranscript(ctx context.Context, opts TranscriptOptions) (*Transcript, error) {
	t, err := s.openTranscript(ctx, opts)
	if err != nil {
		return nil, err
	}
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	for c := t.tape.c; c.leaf != nil && c.leaf.role == string(turn.RoleUser); {
		c.leaf = c.leaf.parent
	}
	return t, nil
}

func (s *Store) openTranscript(ctx context.Context, opts TranscriptOptions) (*Transcript, error) {
	if opts.Path == "" {
		opts.Path = s.TranscriptPath(Entry{SessionID: opts.SessionID})
	}
	t := s.logs.take(s, opts.Path)
	if err := t.open(ctx, opts); err != nil {
		s.logs.give(t)
		return nil, fmt.Errorf("open transcript %s: %w", opts.SessionID, err)
	}
	return &Transcript{tape: t, opts: opts}, nil
}

// Close syncs what was written, gives the lock back and ends the handle. Later
// calls do nothing. What was kept back and never answered stays in the side file.
func (t *Transcript) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	return t.tape.s.logs.give(t.tape)
}

// Sync makes everything that was appended durable.
func (t *Transcript) Sync() error {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	return t.tape.sync()
}

// Path returns the path of the file, which may not exist yet.
func (t *Transcript) Path() string { return t.tape.path }

// SessionID returns the id in the header.
func (t *Transcript) SessionID() string {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	return t.tape.c.header.ID
}

package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"openclaw/internal/turn"
)

// Context returns what a model sees of the conversation: the messages from the
// root to the leaf, the summary of the last compaction in place of what it
// condensed. What a strict provider would refuse is repaired in this view: broken
// tool calls and empty answers are left out, each tool result stands behind its
// call, once, and a missing one is said to be missing. Content is shared: read it,
// do not change it.
func (t *Transcript) Context() ([]turn.Message, error) {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	nodes, err := t.tape.contextNodes()
	if err != nil {
		return nil, fmt.Errorf("read transcript %s: %w", t.tape.path, err)
	}
	msgs := make([]turn.Message, 0, len(nodes))
	for _, n := range nodes {
		m := n.view()
		if m == nil {
			continue
		}
		view := *m
		if view.Role == turn.RoleAssistant {
			view.Content = soundCalls(view.Content)
			if len(view.Content) == 0 {
				continue
			}
		}
		msgs = append(msgs, view)
	}
	return RepairPairs(msgs), nil
}

// view is what a model sees of n.
func (n *node) view() *turn.Message {
	if c := n.body.compaction; c != nil {
		return summaryMessage(compactionLead, c.Summary, 0)
	}
	return n.body.message
}

// contextNodes returns the lines that make the context, parsed: the last
// compaction first, if there is one.
func (t *tape) contextNodes() ([]*node, error) {
	path := t.c.branch()
	last := -1
	for i, n := range path {
		if n.kind == lineCompaction {
			last = i
		}
	}
	if last < 0 {
		return path, t.c.parse(path)
	}
	if err := t.c.parse(path[last : last+1]); err != nil {
		return nil, err
	}
	nodes := []*node{path[last]}
	if c := path[last].body.compaction; c != nil {
		for i, n := range path[:last] {
			if n.id == c.FirstKeptEntryID {
				nodes = append(nodes, withoutCompactions(path[i:last])...)
				break
			}
		}
	}
	nodes = append(nodes, path[last+1:]...)
	return nodes, t.c.parse(nodes)
}

// withoutCompactions drops older summaries from a kept range: the newer one
// includes them.
func withoutCompactions(nodes []*node) []*node {
	var kept []*node
	for _, n := range nodes {
		if n.kind != lineCompaction {
			kept = append(kept, n)
		}
	}
	return kept
}

// Node is one line of the branch that leads to the leaf.
type Node struct {
	ID, Type string
	// Message is what a model sees of the line; nil for nothing. It is shared.
	Message    *turn.Message
	Compaction *Compaction // of a compaction line
}

// Branch returns all lines from the root to the leaf, for choosing where a
// compaction cuts.
func (t *Transcript) Branch() ([]Node, error) {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	path := t.tape.c.branch()
	if err := t.tape.c.parse(path); err != nil {
		return nil, fmt.Errorf("read transcript %s: %w", t.tape.path, err)
	}
	nodes := make([]Node, len(path))
	for i, n := range path {
		nodes[i] = Node{ID: n.id, Type: n.kind, Message: n.view(), Compaction: n.body.compaction}
	}
	return nodes, nil
}

// Inject appends a message that no run produced, such as a command's answer, and
// returns the id of its line. It may be called while a run has the transcript
// open. Without create, a transcript that does not exist gives fs.ErrNotExist.
func (s *Store) Inject(ctx context.Context, opts TranscriptOptions, m turn.Message, create bool) (id string, err error) {
	t, err := s.openTranscript(ctx, opts)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if !create && !t.exists() {
		return "", fmt.Errorf("inject into transcript %s: %w", opts.SessionID, fs.ErrNotExist)
	}
	return t.Append(m)
}

func (t *Transcript) exists() bool {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	c := t.tape.c
	return c.stamp.info != nil || c.flushed || c.side
}

package session

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"openclaw/internal/disk"
)

// repair rewrites a transcript that was written by an old version, has lines that
// are no JSON, or lost its header. The original is copied to
// <path>.bak-<pid>-<ms> first. It reports whether the file changed.
func (c *scroll) repair(fresh header, now time.Time) (bool, error) {
	migrate := c.hasHead && c.version < transcriptVersion
	if c.stamp.info == nil || !migrate && c.bad == 0 && !c.loose {
		return false, nil
	}
	if c.hasHead && c.loose && !migrate && c.bad == 0 {
		return false, nil // a header further down is not worth a rewrite
	}
	if !c.hasHead && len(c.nodes) == 0 {
		return false, nil // nothing to keep; the first flush starts the file anew
	}
	if err := c.backup(now); err != nil {
		return false, err
	}
	head := c.header
	if !c.hasHead {
		head = fresh
	}
	err := disk.Replace(c.path, 0o600, func(w io.Writer) error { return c.rewrite(w, head, migrate) })
	return err == nil, err
}

// backup copies the file as it is.
func (c *scroll) backup(now time.Time) error {
	f, err := os.Open(c.path)
	if err != nil {
		return err
	}
	defer f.Close()
	to := fmt.Sprintf("%s.bak-%d-%d", c.path, os.Getpid(), now.UnixMilli())
	return disk.Replace(to, 0o600, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

// rewrite writes the good lines of the file, byte for byte unless they come from
// an old version.
func (c *scroll) rewrite(w io.Writer, head header, migrate bool) error {
	f, err := os.Open(c.path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriterSize(w, readSize)
	lines := bufio.NewReaderSize(f, readSize)
	m := migration{c: c}
	for index := 0; ; {
		line, err := readLine(lines)
		text := bytes.TrimSpace(line)
		if len(text) > 0 {
			if h, ok := parseHead(text); ok {
				if index == 0 {
					if err := writeHeader(out, h, text, head, migrate); err != nil {
						return err
					}
				}
				if index > 0 || h.kind != lineSession {
					m.write(out, h, text, migrate)
				}
				index++
			}
		}
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return err
		}
	}
}

// writeHeader writes the header: the file's own if it is the first line and of
// this version.
func writeHeader(out *bufio.Writer, first head, text []byte, head header, migrate bool) error {
	if first.kind != lineSession || migrate || first.id == "" {
		line, err := marshalPlain(head)
		if err != nil {
			return err
		}
		text = line
	}
	_, _ = out.Write(text) // Flush reports
	return out.WriteByte('\n')
}

// migration numbers the entries of a version 1 file.
type migration struct {
	c    *scroll
	next int // index in c.nodes of the entry that comes next
}

func (m *migration) write(out *bufio.Writer, h head, text []byte, migrate bool) {
	if migrate && h.kind != "" && h.kind != lineSession && m.next < len(m.c.nodes) {
		n := m.c.nodes[m.next]
		m.next++
		text = m.upgrade(n, h, text)
	}
	_, _ = out.Write(text) // Flush reports
	_ = out.WriteByte('\n')
}

// upgrade gives a line its id and parent, and today's names.
func (m *migration) upgrade(n *node, h head, text []byte) []byte {
	out := []byte{'{'}
	add := func(key, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	_ = members(text, func(key, value []byte) error {
		switch string(key) {
		case `"firstKeptEntryIndex"`:
			// The index counted the header as 0.
			if i, err := strconv.Atoi(string(value)); err == nil && i > 0 && i <= len(m.c.nodes) {
				key, value = []byte(`"firstKeptEntryId"`), quote(m.c.nodes[i-1].id)
			}
		case `"message"`:
			value = renameRole(value)
		}
		add(key, value)
		return nil
	})
	if !h.hasID {
		add([]byte(`"id"`), quote(n.id))
	}
	if !h.hasParent {
		parent := []byte("null")
		if n.parent != nil {
			parent = quote(n.parent.id)
		}
		add([]byte(`"parentId"`), parent)
	}
	return append(out, '}')
}

// renameRole gives the message role of version 2 its name of today.
func renameRole(message []byte) []byte {
	if roleOf(message) != "hookMessage" {
		return message
	}
	out := []byte{'{'}
	_ = members(message, func(key, value []byte) error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if string(key) == `"role"` {
			value = []byte(`"custom"`)
		}
		out = append(append(append(out, key...), ':'), value...)
		return nil
	})
	return append(out, '}')
}

// newID returns an id of 8 hex digits that no line of the file has.
func (c *scroll) newID() string {
	var b [4]byte
	for {
		_, _ = rand.Read(b[:]) // never fails
		if id := hex.EncodeToString(b[:]); c.byID[id] == nil {
			return id
		}
	}
}

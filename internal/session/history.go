package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"openclaw/internal/chat"
	"openclaw/internal/turn"
)

// historyBlock is how much of a transcript is read at a time, from its end, at
// most: who wants only the last few lines gets less.
const historyBlock = 64 << 10

// History returns the last messages of the transcript at path as they stand in
// it, oldest first, all branches and what was compacted included. User text is
// without its transport envelope. Not more than limit messages and, but for the
// last one, maxBytes of them; zero means 200 and 6 MiB. Only the end of the file
// is read. A missing transcript has no messages; while a first turn has not been
// answered, its user message is there already.
func History(path string, limit, maxBytes int) ([]json.RawMessage, error) {
	limit, maxBytes = cmp.Or(limit, 200), cmp.Or(maxBytes, 6<<20)
	var msgs []json.RawMessage
	size := 0
	err := messagesBackward(path, func(m json.RawMessage) bool {
		if size += len(m); size > maxBytes && len(msgs) > 0 {
			return false
		}
		msgs = append(msgs, m)
		return len(msgs) < limit
	})
	if err != nil {
		return nil, fmt.Errorf("read history %s: %w", path, err)
	}
	slices.Reverse(msgs)
	return msgs, nil
}

// linesBackward calls fn with each line of f, the last one first, until fn
// returns false. It reads blocks from the end.
func linesBackward(f *os.File, fn func(line []byte) bool) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var tail []byte // starts in the middle of a line, unless pos is 0
	size := int64(historyBlock / 8)
	for pos := info.Size(); pos > 0; {
		n := min(pos, max(size, int64(len(tail)))) // long lines double the block
		size = min(2*size, historyBlock)
		pos -= n
		block := make([]byte, n, n+int64(len(tail)))
		if _, err := f.ReadAt(block, pos); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		block = append(block, tail...)
		for {
			cut := bytes.LastIndexByte(block, '\n')
			if cut < 0 {
				break
			}
			if !fn(block[cut+1:]) {
				return nil
			}
			block = block[:cut]
		}
		tail = block
	}
	fn(tail)
	return nil
}

// messageOf returns the message of a transcript line, nil when it has none.
func messageOf(line []byte) json.RawMessage {
	if !bytes.Contains(line, []byte(`"message"`)) {
		return nil
	}
	return bytes.Clone(rawMessage(line))
}

// shown is a message as history shows it.
func shown(message json.RawMessage) json.RawMessage {
	if roleOf(message) != string(turn.RoleUser) {
		return message
	}
	out := []byte{'{'}
	err := members(message, func(key, value []byte) error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if string(key) == `"content"` {
			value = stripContent(value)
		}
		out = append(append(append(out, key...), ':'), value...)
		return nil
	})
	if err != nil {
		return message
	}
	return append(out, '}')
}

// stripContent removes the envelope from a text or from the text blocks of raw.
func stripContent(raw []byte) []byte {
	if raw[0] == '"' {
		return quote(chat.StripEnvelope(unquote(raw)))
	}
	var blocks []json.RawMessage
	if json.Unmarshal(raw, &blocks) != nil {
		return raw
	}
	for i, b := range blocks {
		if len(b) == 0 || b[0] != '{' {
			continue
		}
		out := []byte{'{'}
		_ = members(b, func(key, value []byte) error {
			if len(out) > 1 {
				out = append(out, ',')
			}
			if string(key) == `"text"` && value[0] == '"' {
				value = quote(chat.StripEnvelope(unquote(value)))
			}
			out = append(append(append(out, key...), ':'), value...)
			return nil
		})
		blocks[i] = append(out, '}')
	}
	out, err := marshalPlain(blocks)
	if err != nil {
		return raw
	}
	return out
}

// FirstUserText returns what the user said first in the transcript at path,
// without its envelope; empty when there is nothing. Only the start of the file
// is read.
func FirstUserText(path string) (string, error) {
	f, err := openShown(path)
	if f == nil || err != nil {
		return "", err
	}
	defer f.Close()
	// The message stands near the start, unless a picture comes with it.
	for _, size := range []int{historyBlock / 16, historyBlock / 2, 4 * historyBlock} {
		head := make([]byte, size)
		n, err := f.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read first message of %s: %w", path, err)
		}
		if text := firstUserText(head[:n]); text != "" || n < size {
			return text, nil
		}
	}
	return "", nil
}

func firstUserText(head []byte) string {
	for line := range bytes.Lines(head) {
		raw := messageOf(line)
		if raw == nil || roleOf(raw) != string(turn.RoleUser) {
			continue
		}
		var m turn.Message
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		if text := chat.StripEnvelope(m.Text()); text != "" {
			return text
		}
	}
	return ""
}

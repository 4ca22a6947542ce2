package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
)

// scroll is the content of one transcript in memory, shared by everybody in this
// process who has it open. Its mutex is held during file access: there is one
// writer at a time by design, and appends have an order.
type scroll struct {
	path string

	header  header
	hasHead bool
	nodes   []*node
	byID    map[string]*node
	leaf    *node
	// flushed says that the file has all nodes: new ones are appended. Before
	// that, lines are kept back until the first assistant message.
	flushed bool
	// side says that the lines kept back are also in the side file.
	side  bool
	stamp stamp

	version int // as found in the file
	bad     int // lines that are no JSON
	loose   bool
	cost    int64 // bytes of memory, roughly
}

// sideSuffix marks the file that holds what is not in a transcript yet: the user
// message of a first turn survives a crash there. The transcript itself stays
// without a byte until the first assistant message, as other programs expect.
const sideSuffix = ".pending"

// loadScroll reads a transcript. A missing file gives an empty scroll.
func loadScroll(path string) (*scroll, error) {
	c := &scroll{path: path, byID: map[string]*node{}}
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		c.stamp = stampOf(info)
		if err := c.read(f, false); err != nil {
			return nil, err
		}
	}
	for _, n := range c.nodes {
		if n.role == "assistant" {
			c.flushed = c.hasHead
			break
		}
	}
	if c.flushed {
		return c, nil
	}
	return c, c.readSide()
}

// readSide adds the lines that were kept back when the process died.
func (c *scroll) readSide() error {
	f, err := os.Open(c.path + sideSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	c.side = true
	bad := c.bad
	err = c.read(f, true)
	c.bad = bad // the side file is not repaired, it goes away
	return err
}

// read adds the lines of f. kept says that they are not in the transcript, so
// their bytes are needed.
func (c *scroll) read(f io.Reader, kept bool) error {
	lines := bufio.NewReaderSize(f, readSize)
	var off int64
	for {
		line, err := readLine(lines)
		if len(line) > 0 {
			c.addLine(bytes.TrimSuffix(line, []byte("\n")), off, kept)
			off += int64(len(line))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine returns the next line with its newline. The slice may be overwritten
// by the next call.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.ReadSlice('\n')
		long = append(long, line...)
	}
	return long, err
}

func (c *scroll) addLine(line []byte, off int64, kept bool) {
	text := bytes.TrimSpace(line)
	if len(text) == 0 {
		return
	}
	h, ok := parseHead(text)
	if !ok {
		c.bad++
		return
	}
	if h.kind == lineSession {
		c.addHeader(h, text, kept)
		return
	}
	if h.kind == "" {
		return // JSON of another kind; it stays where it is
	}
	if !c.hasHead && !kept {
		c.loose = true // an entry before any header
	}
	n := &node{id: h.id, kind: h.kind, role: h.role, off: off, size: int32(len(line)), safe: true}
	if kept {
		n.raw = bytes.Clone(text)
	}
	if !h.hasID {
		n.id = c.newID()
	}
	switch parent := c.byID[h.parent]; {
	case h.hasParent && h.parent == "": // null: a root
	case parent != nil:
		n.parent = parent
	default: // no parent named, or one that is lost
		n.parent = c.leaf
	}
	if kept && c.byID[n.id] != nil {
		return // flushed already
	}
	c.attach(n)
}

func (c *scroll) addHeader(h head, text []byte, kept bool) {
	if c.hasHead || h.id == "" {
		return
	}
	if json.Unmarshal(text, &c.header) != nil {
		c.header = header{ID: h.id}
	}
	c.version = max(h.version, 1)
	c.header.Type, c.header.Version = lineSession, transcriptVersion
	c.hasHead = true
	if kept {
		c.version = transcriptVersion
	}
}

// attach makes n the newest node and the leaf.
func (c *scroll) attach(n *node) {
	c.nodes = append(c.nodes, n)
	c.byID[n.id] = n
	c.leaf = n
	c.cost += nodeCost + int64(len(n.raw))
}

const nodeCost = 220 // bytes of a node, its id and its place in the indexes

// branch returns the nodes from the root to the leaf.
func (c *scroll) branch() []*node {
	depth := 0
	for n := c.leaf; n != nil; n = n.parent {
		depth++
	}
	nodes := make([]*node, depth)
	for n := c.leaf; n != nil; n = n.parent {
		depth--
		nodes[depth] = n
	}
	return nodes
}

// parse gives each of nodes its body, reading those that are only in the file.
func (c *scroll) parse(nodes []*node) error {
	var f *os.File
	defer func() {
		if f != nil {
			f.Close()
		}
	}()
	for _, n := range nodes {
		if n.body != nil {
			continue
		}
		line := n.raw
		if line == nil {
			if f == nil {
				var err error
				if f, err = os.Open(c.path); err != nil {
					return err
				}
			}
			line = make([]byte, n.size)
			if _, err := f.ReadAt(line, n.off); err != nil {
				return err
			}
		}
		n.body = parseBody(n.kind, line)
		c.cost += int64(len(line))
	}
	return nil
}

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"openclaw/protocol"
)

// socket is a client of the gateway that costs next to nothing: it writes frames
// as they are given and looks at what comes back without parsing it.
type socket struct {
	net.Conn
	buf        []byte
	start, end int // what of buf is read from the connection and not taken yet
}

// frame is a masked text frame.
func frame(text string) []byte {
	mask := [4]byte{0x1f, 0x8b, 0x4c, 0x77}
	head := []byte{0x81, 0x80 | byte(len(text))}
	switch n := len(text); {
	case n > 0xffff:
		head = binary.BigEndian.AppendUint64([]byte{0x81, 0x80 | 127}, uint64(n))
	case n > 125:
		head = binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, uint16(n))
	}
	head = append(head, mask[:]...)
	for i := range len(text) {
		head = append(head, text[i]^mask[i%4])
	}
	return head
}

// request is the frame of a request.
func request(id, method string, params any) []byte {
	req := map[string]any{"type": protocol.TypeRequest, "id": id, "method": method}
	if params != nil {
		req["params"] = params
	}
	data, err := json.Marshal(req)
	if err != nil {
		panic(err) // the params are written down in this program
	}
	return frame(string(data))
}

var isResponse = []byte(`{"type":"res"`)

// open connects and shakes hands.
func (w *world) open(buffer int) (*socket, error) {
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		return nil, err
	}
	s := &socket{Conn: conn, buf: make([]byte, buffer)}
	if err := s.handshake(w); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (s *socket) handshake(w *world) error {
	if err := s.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(s, "GET / HTTP/1.1\r\nHost: "+w.addr+"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"); err != nil {
		return err
	}
	for {
		if end := bytes.Index(s.buf[s.start:s.end], []byte("\r\n\r\n")); end >= 0 {
			if !bytes.HasPrefix(s.buf[s.start:], []byte("HTTP/1.1 101")) {
				return fmt.Errorf("upgrade refused: %.100s", s.buf[s.start:s.end])
			}
			s.start += end + 4
			break
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
	if _, err := s.next(); err != nil { // the challenge
		return err
	}
	if _, err := s.ask(w.connect); err != nil {
		return err
	}
	return s.SetDeadline(time.Time{})
}

// connectFrame is the first request of every socket.
func connectFrame() []byte {
	return request("connect", protocol.MethodConnect, protocol.ConnectParams{
		MinProtocol: protocol.Version3, MaxProtocol: protocol.Version3,
		Client: protocol.ClientInfo{ID: protocol.ClientCLI, Mode: protocol.ModeCLI, Version: "bench", Platform: "linux"},
		Role:   protocol.RoleOperator, Scopes: []string{protocol.ScopeAdmin},
		Auth: &protocol.ConnectAuth{Token: token},
	})
}

// fill reads what is there, at least one byte.
func (s *socket) fill() error {
	if s.start > 0 {
		copy(s.buf, s.buf[s.start:s.end])
		s.start, s.end = 0, s.end-s.start
	}
	if s.end == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	n, err := s.Read(s.buf[s.end:])
	s.end += n
	if n > 0 {
		return nil
	}
	return err
}

// next returns the payload of the next text frame; it is valid until the next
// call.
func (s *socket) next() ([]byte, error) {
	for {
		head, size, ok := s.header()
		for !ok || s.end-s.start < head+size {
			if err := s.fill(); err != nil {
				return nil, err
			}
			head, size, ok = s.header()
		}
		kind := s.buf[s.start] & 0x0f
		payload := s.buf[s.start+head : s.start+head+size]
		s.start += head + size
		switch kind {
		case 1:
			return payload, nil
		case 8:
			return nil, fmt.Errorf("gateway closed the connection: %q", payload)
		}
	}
}

// header reads the frame header at start, if it is all there.
func (s *socket) header() (head, size int, ok bool) {
	b := s.buf[s.start:s.end]
	if len(b) < 2 {
		return 0, 0, false
	}
	switch n := int(b[1]); {
	case n == 126 && len(b) >= 4:
		return 4, int(binary.BigEndian.Uint16(b[2:])), true
	case n == 127 && len(b) >= 10:
		return 10, int(binary.BigEndian.Uint64(b[2:])), true
	case n < 126:
		return 2, n, true
	}
	return 0, 0, false
}

// ask writes req and returns the payload of the first response.
func (s *socket) ask(req []byte) ([]byte, error) {
	if _, err := s.Write(req); err != nil {
		return nil, err
	}
	return s.response()
}

// response skips events until a response comes and fails if it is an error.
func (s *socket) response() ([]byte, error) {
	for {
		payload, err := s.next()
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(payload, isResponse) {
			continue
		}
		if !bytes.Contains(payload[:min(len(payload), 160)], []byte(`"ok":true`)) {
			return nil, fmt.Errorf("%w: %.300s", errRefused, payload)
		}
		return payload, nil
	}
}

var errRefused = errors.New("request refused")

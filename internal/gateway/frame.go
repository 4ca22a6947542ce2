package gateway

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"openclaw/protocol"
)

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.buf)
	e.json.SetEscapeHTML(false)
	return e
}}

type encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

// marshal encodes v without escaping HTML characters, which clients would only
// have to undo.
func marshal(v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer func() {
		if e.buf.Cap() <= keptBuffer {
			e.buf.Reset()
			encoders.Put(e)
		}
	}()
	if err := e.json.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return bytes.Clone(bytes.TrimSuffix(e.buf.Bytes(), []byte("\n"))), nil
}

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	q, _ := json.Marshal(s) // a string always encodes
	return append(b, q...)
}

// encodeResponse builds a response frame around an encoded payload, which may
// be absent, and an error, which may be nil.
func encodeResponse(id string, payload []byte, e *protocol.Error) ([]byte, error) {
	b := make([]byte, 0, len(id)+len(payload)+64)
	b = append(b, `{"type":"res","id":`...)
	b = appendString(b, id)
	b = append(b, `,"ok":`...)
	b = strconv.AppendBool(b, e == nil)
	if len(payload) > 0 {
		b = append(b, `,"payload":`...)
		b = append(b, payload...)
	}
	if e != nil {
		data, err := marshal(e)
		if err != nil {
			return nil, err
		}
		b = append(b, `,"error":`...)
		b = append(b, data...)
	}
	return append(b, '}'), nil
}

// appendOK begins a successful response: the payload and a closing brace follow.
func appendOK(b []byte, id string) []byte {
	b = append(b, `{"type":"res","id":`...)
	b = appendString(b, id)
	return append(b, `,"ok":true,"payload":`...)
}

// encodeEvent builds a whole event frame without seq, for one connection.
func encodeEvent(name string, payload any) ([]byte, error) {
	head, err := encodeHead(name, payload)
	if err != nil {
		return nil, err
	}
	return append(head, '}'), nil
}

// encodeHead builds an event frame up to and with its payload.
func encodeHead(name string, payload any) ([]byte, error) {
	data, err := marshal(payload)
	if err != nil {
		return nil, err
	}
	return headOf(name, data), nil
}

// headOf is encodeHead for an encoded payload.
func headOf(name string, payload []byte) []byte {
	b := make([]byte, 0, len(name)+len(payload)+48)
	b = append(b, `{"type":"event","event":`...)
	b = appendString(b, name)
	b = append(b, `,"payload":`...)
	return append(b, payload...)
}

// spliceSeq appends f as a whole frame to b.
func spliceSeq(b []byte, f frame) []byte {
	b = append(b, f.data...)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, f.seq, 10)
	b = append(b, f.tail...)
	return append(b, '}')
}

// stateTail is the tail of an event that carries state versions.
func stateTail(v protocol.StateVersion) []byte {
	return fmt.Appendf(nil, `,"stateVersion":{"presence":%d,"health":%d}`, v.Presence, v.Health)
}

// newID returns a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

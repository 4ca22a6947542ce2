package relay

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The records of the tables. Tokens, codes and invites appear as hashes only.
type (
	desktop struct {
		Label        string   `json:"label"`
		Created      int64    `json:"created"`
		Integrations []string `json:"integrations,omitempty"`
		Pairings     []string `json:"pairings,omitempty"` // that may still be open
	}
	// token says whose it is. Pairing is set until the integration is active.
	token struct {
		Kind    string `json:"kind"`
		ID      string `json:"id"` // desktop or integration
		Desktop string `json:"desktop"`
		Pairing string `json:"pairing,omitempty"`
		Expires int64  `json:"expires,omitempty"`
	}
	invite struct {
		Uses    int   `json:"uses"`
		Expires int64 `json:"expires"`
	}
	// bond is an active integration.
	bond struct {
		ID        string   `json:"id"`
		Desktop   string   `json:"desktop"`
		Pairing   string   `json:"pairing"`
		Label     string   `json:"label"`
		HostLabel string   `json:"host_label"`
		Provider  string   `json:"provider_kind"`
		Scheme    string   `json:"byo_version"`
		Created   int64    `json:"created"`
		Rekeyed   int64    `json:"rekeyed"`
		Tokens    []string `json:"tokens"` // hashes, newest last
	}
	pairing struct {
		ID             string   `json:"id"`
		Desktop        string   `json:"desktop"`
		State          string   `json:"state"`
		Style          string   `json:"style"`
		Label          string   `json:"label"`
		HostLabel      string   `json:"host_label,omitempty"`
		Provider       string   `json:"provider_kind"`
		Versions       []string `json:"versions"`
		Scheme         string   `json:"scheme,omitempty"`
		CodeHash       string   `json:"code"`
		Expires        int64    `json:"expires"`
		Integration    string   `json:"integration,omitempty"`
		TokenHash      string   `json:"token,omitempty"`
		DesktopKey     []byte   `json:"desktop_key"`
		Commitment     []byte   `json:"commitment"`
		PluginKey      []byte   `json:"plugin_key,omitempty"`
		PluginNonce    []byte   `json:"plugin_nonce,omitempty"`
		PluginConfirm  []byte   `json:"plugin_confirm,omitempty"`
		DesktopNonce   []byte   `json:"desktop_nonce,omitempty"`
		DesktopConfirm []byte   `json:"desktop_confirm,omitempty"`
	}
	// presence is what is known of the assistant's process.
	presence struct {
		Desktop     string `json:"desktop,omitempty"` // "" while the pairing is under way
		Heartbeat   int64  `json:"heartbeat,omitempty"`
		Status      string `json:"status,omitempty"`
		SupportsAck bool   `json:"ack,omitempty"`
		Conn        string `json:"conn,omitempty"` // of the open stream, "" when closed
		Node        string `json:"node,omitempty"`
		Opened      int64  `json:"opened,omitempty"` // of the last stream
	}
	// message is chat, a task, a test or a control frame on its way.
	message struct {
		Integration string          `json:"integration"`
		ID          string          `json:"id"`
		Kind        string          `json:"kind"`
		Event       string          `json:"event,omitempty"` // type of the frame
		Session     string          `json:"session,omitempty"`
		Digest      string          `json:"digest,omitempty"`
		State       string          `json:"state,omitempty"`
		Created     int64           `json:"created"` // ns: the order of messages
		Done        bool            `json:"done,omitempty"`
		Data        json.RawMessage `json:"data"` // as it goes on the stream
	}
	cursor struct {
		Seq uint64 `json:"seq"`
	}
	// ref is what a topic carries.
	ref struct {
		Kind        string          `json:"k"`
		Integration string          `json:"i"`
		ID          string          `json:"id,omitempty"`
		Desktop     string          `json:"dt,omitempty"`
		Deadline    int64           `json:"d,omitempty"`
		Attempt     int             `json:"n,omitempty"`
		Event       string          `json:"t,omitempty"`
		Data        json.RawMessage `json:"data,omitempty"` // of refEvent only
	}
)

// Kinds of a ref.
const (
	refJob     = "job"     // ID is the job's, on both sides
	refMessage = "message" // ID is the key in Messages
	refEvent   = "event"   // the frame itself, which holds no content
)

// job is a reasoning job. Body is the frame for the assistant while it is open,
// and the completion afterwards.
type job struct {
	ID          string `json:"id"`
	Integration string `json:"integration"`
	Desktop     string `json:"desktop"`
	State       string `json:"state"`
	Purpose     string `json:"purpose"`
	DeadlineAt  string `json:"deadline_at"`
	Deadline    int64  `json:"deadline"`
	Scheme      string `json:"scheme"`
	Clear       bool   `json:"clear,omitempty"` // a probe of static_v1 in clear
	Digest      string `json:"digest"`
	Result      string `json:"result,omitempty"` // digest of the completion
	Created     int64  `json:"created"`
	Sent        int64  `json:"sent,omitempty"` // first delivery
	Attempt     int    `json:"attempt"`
	Body        []byte `json:"-"`
	revision    uint64 // as read, 0 when not known
}

func jobKey(integration, id string) string { return integration + "." + id }

// encode writes the head as JSON and the body as it is, so that a change of state
// does not look at the content again.
func (j *job) encode() ([]byte, error) {
	head, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("encode job: %w", err)
	}
	data := binary.AppendUvarint(make([]byte, 0, len(head)+len(j.Body)+4), uint64(len(head)))
	return append(append(data, head...), j.Body...), nil
}

func decodeJob(data []byte) (*job, error) {
	size, n := binary.Uvarint(data)
	if n <= 0 || uint64(len(data)-n) < size {
		return nil, errors.New("decode job: the record is torn")
	}
	j := new(job)
	if err := json.Unmarshal(data[n:n+int(size)], j); err != nil {
		return nil, fmt.Errorf("decode job: %w", err)
	}
	j.Body = data[n+int(size):]
	return j, nil
}

// errKeep ends a change without writing.
var errKeep = errors.New("nothing to change")

// casTries bounds how often a change starts over because another node was first.
const casTries = 16

// change reads a record, lets fn change it and writes it back, until nobody came
// between. fn sees the zero value when there is none; errKeep ends it without a
// write, any other error too and is returned.
func change[T any](ctx context.Context, s store, b Bucket, key string, fn func(v *T, exists bool) error) (T, error) {
	for range casTries {
		v, rev, err := read[T](ctx, s, b, key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return v, err
		}
		switch err := fn(&v, err == nil); {
		case errors.Is(err, errKeep):
			return v, nil
		case err != nil:
			return v, err
		}
		data, err := json.Marshal(v)
		if err != nil {
			return v, fmt.Errorf("encode record: %w", err)
		}
		if _, err = s.Put(ctx, b, key, data, rev); err == nil {
			return v, nil
		} else if !errors.Is(err, ErrConflict) {
			return v, err
		}
	}
	var none T
	return none, ErrConflict
}

// read decodes a record.
func read[T any](ctx context.Context, s store, b Bucket, key string) (v T, revision uint64, err error) {
	e, err := s.Get(ctx, b, key)
	if err != nil {
		return v, 0, err
	}
	if err := json.Unmarshal(e.Value, &v); err != nil {
		return v, 0, fmt.Errorf("decode record of %s: %w", b, err)
	}
	return v, e.Revision, nil
}

// create writes a record that must not exist.
func create(ctx context.Context, s store, b Bucket, key string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	_, err = s.Put(ctx, b, key, data, 0)
	return err
}

// hash is how an id of others stands in a key.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// secretHash is how a code, an invite or a token stands in a key.
func secretHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func millis(t time.Time) int64 { return t.UnixMilli() }

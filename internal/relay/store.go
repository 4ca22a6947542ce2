package relay

import (
	"context"
	"errors"
	"time"

	"openclaw/byo"
)

// Errors of a [Store]. Any other error means that the storage is not available.
var (
	ErrNotFound = errors.New("no such entry")
	ErrConflict = errors.New("the entry is another one by now")
)

// Bucket is a table of a [Store].
type Bucket string

// The tables of a relay. Keys consist of letters, digits, dashes and dots.
const (
	Desktops     Bucket = "sw_desktops"     // desktop id
	Integrations Bucket = "sw_integrations" // integration id
	Tokens       Bucket = "sw_tokens"       // SHA-256 of the token
	Invites      Bucket = "sw_invites"      // SHA-256 of the invite
	Pairings     Bucket = "sw_pairings"     // p.<pairing id>, code.<SHA-256>, token.<SHA-256>
	Attempts     Bucket = "sw_attempts"     // address or network
	Jobs         Bucket = "sw_jobs"         // <integration>.<job>
	Messages     Bucket = "sw_messages"     // <integration>.in|out.<hash of the id>
	Cursors      Bucket = "sw_cursors"      // integration id
	Presences    Bucket = "sw_presence"     // integration id
	Locks        Bucket = "sw_locks"        // name of the lock
)

// BucketConfig says how long a bucket keeps an entry after its last change, 0 for
// ever, and whether it may be lost with the process.
type BucketConfig struct {
	Bucket Bucket
	TTL    time.Duration
	Memory bool
}

// Buckets lists the tables a [Store] has to have. A job lives for ten minutes at
// most and is not changed after its end, so the lifetime of its bucket is the
// lifetime of results.
func Buckets() []BucketConfig {
	return []BucketConfig{
		{Bucket: Desktops}, {Bucket: Integrations}, {Bucket: Tokens}, {Bucket: Invites},
		{Bucket: Pairings, TTL: pairingKept},
		{Bucket: Attempts, TTL: byo.WrongCodesBlock},
		{Bucket: Jobs, TTL: byo.ResultsFor},
		{Bucket: Messages, TTL: byo.EventsFor},
		{Bucket: Cursors, TTL: byo.EventsFor},
		{Bucket: Presences, TTL: 10 * time.Minute, Memory: true},
		{Bucket: Locks, TTL: lockFor, Memory: true},
	}
}

// pairingKept is longer than a pairing lives, so that its end can be seen.
const pairingKept = 3 * byo.PairingTTL

// Entry is a value with the revision that a change has to name.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
}

// Store keeps the relay's tables. A change is seen by every node's next Get.
type Store interface {
	// Get returns an entry or ErrNotFound. The caller does not change the value.
	Get(ctx context.Context, b Bucket, key string) (Entry, error)
	// Put writes an entry if its revision is still that one (0: if there is none)
	// and returns the new revision, or ErrConflict.
	Put(ctx context.Context, b Bucket, key string, value []byte, revision uint64) (uint64, error)
	// Delete removes an entry if its revision is still that one, or else returns
	// ErrConflict; with revision 0 it removes whatever there is, or nothing.
	Delete(ctx context.Context, b Bucket, key string, revision uint64) error
	// List returns the entries whose keys begin with prefix, which is empty or
	// ends with a dot, in any order.
	List(ctx context.Context, b Bucket, prefix string) ([]Entry, error)
}

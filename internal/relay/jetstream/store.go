package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"openclaw/internal/relay"
)

// bucket makes sure of a table. It is a key-value bucket as the client library
// would make it, but for two things: in a cluster reads go to the leader, since a
// replica may be behind and a token that was just made must be found; and marks
// of deleted keys of tables without an end go away.
func (b *Broker) bucket(ctx context.Context, c relay.BucketConfig) (jetstream.KeyValue, error) {
	cfg := jetstream.StreamConfig{
		Name: "KV_" + string(c.Bucket), Subjects: []string{"$KV." + string(c.Bucket) + ".>"},
		MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1, MaxConsumers: -1, MaxMsgSize: -1, MaxAge: c.TTL,
		Storage: jetstream.FileStorage, Replicas: b.replicas, Discard: jetstream.DiscardNew,
		AllowRollup: true, DenyDelete: true, AllowDirect: b.replicas == 1,
	}
	if c.Memory {
		cfg.Storage = jetstream.MemoryStorage
	}
	if c.TTL > 0 && c.TTL < relay.DedupeFor {
		cfg.Duplicates = c.TTL
	}
	if c.TTL == 0 {
		cfg.AllowMsgTTL = true
		cfg.SubjectDeleteMarkerTTL = markerTTL
	}
	if _, err := b.js.CreateOrUpdateStream(ctx, cfg); err != nil {
		return nil, err
	}
	return b.js.KeyValue(ctx, string(c.Bucket))
}

// markerTTL is how long the mark of a deleted key stays.
const markerTTL = time.Hour

// Get implements [relay.Store].
func (b *Broker) Get(ctx context.Context, bucket relay.Bucket, key string) (relay.Entry, error) {
	if err := b.check(); err != nil {
		return relay.Entry{}, err
	}
	e, err := b.buckets[bucket].Get(ctx, key)
	if err != nil {
		return relay.Entry{}, storeError("read", bucket, err)
	}
	return relay.Entry{Key: key, Value: e.Value(), Revision: e.Revision()}, nil
}

// Put implements [relay.Store].
func (b *Broker) Put(ctx context.Context, bucket relay.Bucket, key string, value []byte, revision uint64) (uint64, error) {
	if err := b.check(); err != nil {
		return 0, err
	}
	kv := b.buckets[bucket]
	write := func() (uint64, error) { return kv.Update(ctx, key, value, revision) }
	if revision == 0 {
		write = func() (uint64, error) { return kv.Create(ctx, key, value) }
	}
	rev, err := write()
	return rev, storeError("write", bucket, err)
}

// Delete implements [relay.Store].
func (b *Broker) Delete(ctx context.Context, bucket relay.Bucket, key string, revision uint64) error {
	if err := b.check(); err != nil {
		return err
	}
	kv := b.buckets[bucket]
	if revision == 0 {
		if _, err := kv.Get(ctx, key); err != nil { // no mark for what is not there
			if err = storeError("read", bucket, err); errors.Is(err, relay.ErrNotFound) {
				return nil
			}
			return err
		}
	}
	var opts []jetstream.KVDeleteOpt
	if revision != 0 {
		opts = append(opts, jetstream.LastRevision(revision))
	}
	if b.ttl[bucket] == 0 {
		opts = append(opts, jetstream.PurgeTTL(markerTTL))
		return storeError("delete", bucket, kv.Purge(ctx, key, opts...))
	}
	return storeError("delete", bucket, kv.Delete(ctx, key, opts...))
}

// List implements [relay.Store].
func (b *Broker) List(ctx context.Context, bucket relay.Bucket, prefix string) (list []relay.Entry, err error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	w, err := b.buckets[bucket].Watch(ctx, prefix+">", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, storeError("list", bucket, err)
	}
	defer func() { err = errors.Join(err, storeError("list", bucket, w.Stop())) }()
	for {
		select {
		case e, open := <-w.Updates():
			if !open {
				return nil, fmt.Errorf("list %s: the watcher ended", bucket)
			}
			if e == nil { // all of what there was
				return list, nil
			}
			list = append(list, relay.Entry{Key: e.Key(), Value: e.Value(), Revision: e.Revision()})
		case <-ctx.Done():
			return nil, fmt.Errorf("list %s: %w", bucket, ctx.Err())
		}
	}
}

// Codes of the server for a write whose expectation does not hold.
const (
	codeWrongLast       = 10071
	codeWrongLastShared = 10164
)

// storeError tells the two answers a relay understands from what went wrong.
func storeError(what string, bucket relay.Bucket, err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyDeleted):
		return relay.ErrNotFound
	case errors.Is(err, jetstream.ErrKeyExists),
		errors.As(err, &api) && (api.ErrorCode == codeWrongLast || api.ErrorCode == codeWrongLastShared):
		return relay.ErrConflict
	}
	return fmt.Errorf("%s %s: %w", what, bucket, err)
}

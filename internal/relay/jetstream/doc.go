// Package jetstream is the broker of a relay that lasts: tables and topics on
// NATS JetStream, either embedded in this process, without any port and with its
// files in one folder, or an external cluster that several nodes share.
//
// Topics are subjects of two streams, tables are key-value buckets; content is in
// the buckets only. A node has one consumer for each stream and hands events on in
// memory. It owns its connection, the consumers and, when embedded, the server
// with its folder, which it locks: two processes never open one folder.
// cmd/stagewhisper opens it.
//
//	b, err := jetstream.Open(ctx, jetstream.Config{Dir: dir})
//	if err != nil { … }
//	defer b.Close()
//	r, err := relay.New(relay.Config{Broker: b})
//
// See docs/relay.md#storage.
package jetstream

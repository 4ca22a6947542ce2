// Package relay is the blind backend of StageWhisper: it pairs desktops with
// assistants, carries sealed jobs and chat between them, and never learns what
// they say. It holds ids, states, times, sizes and ciphertext; it has no key and
// imports nothing that could open an envelope.
//
// A node of the relay keeps nothing but caches and its open streams. What lasts
// is in the [Broker]: tables with compare-and-set and topics with sequence
// numbers. The topics carry references only; content stands in the tables, where
// it is dropped as soon as nobody needs it. Any number of nodes may share one
// broker, and any node serves any call. [NewMemory] is the broker of one process,
// internal/relay/jetstream the one that lasts.
//
// Goroutines: Run has the sweeper and the keep-alive of streams; an idle stream
// costs one goroutine that waits for its end, a busy one a second that writes.
//
//	r, err := relay.New(relay.Config{Broker: relay.NewMemory(nil), Log: log})
//	…
//	go func() { err = r.Run(ctx) }()
//	http.Serve(listener, r.Handler())
//
// To stop, call Drain, end the context of Run, then shut the HTTP server down: it
// does not know the streams, whose connections the relay has taken over.
//
// The wire is package byo; operating a relay is described in docs/relay.md.
package relay

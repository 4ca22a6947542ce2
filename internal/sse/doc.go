// Package sse writes and reads event streams (text/event-stream). It owns no
// goroutines and knows nothing of what the events mean.
//
// A server makes a [Writer] for a response, gives it to [Writer.Serve] together
// with a [Queue], and pushes events from anywhere. The queue is bounded in events
// and bytes and refuses what does not fit: a reader that stalls loses its stream
// and resumes by its last id, it never slows anybody down.
//
//	q := sse.NewQueue(256, 4<<20)
//	defer hub.Subscribe(q)()
//	return sse.NewWriter(w, 10*time.Second).Serve(ctx, q, 15*time.Second)
//
// A client reads with a [Reader], whose lines and events are bounded:
//
//	r := sse.NewReader(resp.Body, sse.Config{})
//	for {
//		ev, err := r.Next()
//		…
//	}
//	req.Header.Set("Last-Event-ID", r.LastID())
//
// Frames have exactly one data line, since public readers of this wire take
// nothing else. The reader takes everything the format allows. See
// docs/byo.md#streams.
package sse

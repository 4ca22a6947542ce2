// Package relayclient talks to a StageWhisper relay: one call, or a stream that comes
// back by itself. Both ends use it, the assistant and the desktop; what the calls mean
// is theirs. It owns no state but a stream's place and starts no goroutines. See
// docs/byo.md#errors-of-the-relay.
//
//	c := &relayclient.Client{Base: "https://relay.example", Token: func() byo.Secret { return token }}
//	err := c.Call(ctx, http.MethodPost, "/pair/start", start, &started)
//	err = c.Stream(ctx, relayclient.Stream{Path: "/desktop/stream", Handle: handle})
package relayclient

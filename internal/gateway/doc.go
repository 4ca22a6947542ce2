// Package gateway is the surface of the program: one port for HTTP and
// WebSocket, the handshake, who may do what, the methods, and the events that
// tell clients what happens.
//
// It owns the listeners and the single-instance lock, the connections, presence,
// the health snapshot and the short memory of answers to repeated requests. It
// owns no files but the TLS pair it may generate. What a method does is done by
// other rooms: router starts and stops runs, session keeps conversations, config
// the settings, pairing the devices.
//
// Goroutines: for each connection a reader, which runs the handshake and then
// starts requests, and a writer, the only one to write to the socket; one for
// each running request; one for ticks and sweeps, one that tells of presence
// and health. Broadcasts are encoded once and put into the outbox of each
// connection, which is bounded; nothing waits for a client that does not read.
// Locks are taken in the order run, hub, outbox.
//
// cmd wires it, passes run events to [Gateway.Publish] and tells it of a changed
// config file with [Gateway.Reload]. The wire is described in docs/protocol.md.
//
//	gw := gateway.New(gateway.Config{Settings: file, Router: rt, Sessions: stores, Models: models, Devices: devices, …})
//	group.Go(func() error { return gw.Run(ctx) })
package gateway

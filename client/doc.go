// Package client connects a Go program to the gateway: it answers the
// challenge, proves the device, calls methods and receives events.
//
// [Dial] returns a connected [Client]. It owns one socket and two goroutines,
// a reader and a watchdog, which end with [Client.Close] or with the
// connection. [Keep] holds a connection up over restarts of the gateway.
// Depend on this package and on protocol only; both keep their promises to
// programs outside of this module.
//
//	c, err := client.Dial(ctx, client.Options{URL: "ws://127.0.0.1:18789", Token: token})
//	if err != nil { … } // *protocol.Error says why the gateway refused
//	defer c.Close()
//
//	var health protocol.HealthResult
//	err = c.Call(ctx, protocol.MethodHealth, nil, &health)
//
//	events := c.Subscribe(protocol.EventChat)
//	defer events.Close()
//	for {
//		e, err := events.Next(ctx)
//		…
//	}
package client

// Package guard decides who may talk to a listener of this machine, and whom this
// program may call back.
//
// A loopback listener is open to every program and, through DNS rebinding, to every
// web page on the machine. So a request passes, in this order: [Loopback] for the
// other end, [HostName] for the name it was sent to, no Origin header, [Bearer] for
// the secret, and a [Window] for how often it comes. Outbound, a [Dialer] looks a name
// up once, checks every address and dials one it has checked, and [Dialer.Client]
// follows no redirect and no proxy.
//
// The assistant's ingress and the desktop's callback listener use it; both add their
// own answers. It keeps no state besides a Window, which its owner holds, and starts
// no goroutines.
//
//	if !guard.Loopback(r.RemoteAddr) { … 403 … }
//	if !guard.Bearer(r.Header.Get("Authorization"), token) { … 401 … }
package guard

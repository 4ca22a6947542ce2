package protocol

// Protocol versions. Each bump lists what it changed.
//
//	3  the protocol of 2026.2: frames, handshake and methods of docs/protocol.md
//	4  auth always present in hello-ok, FORBIDDEN and details codes, unknown
//	   param keys ignored, deltaText in chat events (docs/protocol.md#protocol-4)
const (
	Version3 = 3
	Version4 = 4

	// MinVersion and MaxVersion bound what the gateway and the client speak.
	MinVersion = Version3
	MaxVersion = Version4
)

// Negotiate returns the highest version within [lo, hi] that this package
// speaks. When there is none, ok is false and version is what the mismatch
// error names as expected. See docs/protocol.md#version-negotiation.
func Negotiate(lo, hi int) (version int, ok bool) {
	if v := min(hi, MaxVersion); v >= MinVersion && v >= lo {
		return v, true
	}
	if lo > MaxVersion {
		return MaxVersion, false
	}
	return MinVersion, false
}

// Limits and times that clients rely on. See docs/protocol.md#limits.
const (
	// MaxPayload is the largest inbound message after hello-ok, in bytes.
	MaxPayload = 26_214_400
	// MinMaxPayload is the lowest value an operator may configure for MaxPayload.
	MinMaxPayload = 524_288
	// MaxPreAuthPayload is the largest message before hello-ok, in bytes.
	MaxPreAuthPayload = 65_536
	// MaxBuffered3 and MaxBuffered4 are the outbound bytes that may be queued for
	// one connection of protocol 3 and 4.
	MaxBuffered3 = 1_572_864
	MaxBuffered4 = 52_428_800
	// TickIntervalMs is the distance of two tick events.
	TickIntervalMs = 30_000
	// HandshakeTimeoutMs is how long a connection may stay without hello-ok.
	HandshakeTimeoutMs = 10_000
	// MaxCloseReason is the longest close reason, in bytes of UTF-8.
	MaxCloseReason = 120
)

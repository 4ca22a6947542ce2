// Package device is the key-pair identity behind a connection: an Ed25519 key,
// the id that is the hash of its public half, the signature that answers the
// gateway's challenge, and the tokens that gateways issued to it.
//
// On the client side it owns <state>/identity/device.json and device-auth.json,
// which it shares with other programs of the same user. On the gateway's side
// it is pure: [Verify] checks the device of a connect request, and the gateway
// decides what a verified device may do. It starts no goroutines.
//
//	id, err := device.Open(filepath.Join(state, "identity", "device.json"), time.Now)
//	text := protocol.DeviceText(protocol.SignatureV2, &params)
//	params.Device.Signature = id.Sign(text)
//
//	key, err := device.Verify(&params, device.Rules{Nonce: nonce, Now: now, Skew: device.Skew3})
//
// See docs/protocol.md#device.
package device

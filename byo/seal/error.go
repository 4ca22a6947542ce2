package seal

import "errors"

// Errors of opening, sealing and pairing. Nothing of a plaintext is ever returned
// together with one.
var (
	// ErrVersion refuses an envelope of another scheme; a Duplex never opens static_v1.
	ErrVersion = errors.New("envelope is of another version")
	// ErrReflected refuses an envelope that this side could have sealed itself.
	ErrReflected = errors.New("envelope comes from the own side")
	// ErrReplay refuses what was opened before, and what is too old to know.
	ErrReplay = errors.New("envelope was opened before or is too old")
	// ErrTampered refuses what does not authenticate: changed, cut, or another key.
	ErrTampered = errors.New("envelope does not authenticate")
	// ErrMalformed refuses a nonce, ciphertext or metadata value that cannot be one.
	ErrMalformed = errors.New("envelope is malformed")
	// ErrContentType refuses content of another kind than expected.
	ErrContentType = errors.New("envelope holds another content type")
	// ErrEpoch refuses an epoch whose keys are gone or were never made.
	ErrEpoch = errors.New("envelope is of an unknown epoch")
	// ErrDeadline refuses a job long past its deadline.
	ErrDeadline = errors.New("deadline of the envelope has passed")
	// ErrBinding matches every [BindingError].
	ErrBinding = errors.New("envelope belongs to something else")
	// ErrLowOrder refuses public keys that would make the secret a known one.
	ErrLowOrder = errors.New("public key is of low order")
	// ErrKey refuses keys, nonces and secrets of the wrong size, and a secret key
	// that is not the one of the handshake.
	ErrKey = errors.New("key does not fit")
	// ErrRekey refuses an offer or answer that does not fit the state.
	ErrRekey = errors.New("rekey message does not fit")
	// ErrState refuses a state that cannot be restored.
	ErrState = errors.New("state cannot be restored")
	// ErrErased is returned by a Duplex after [Duplex.Erase].
	ErrErased = errors.New("keys are erased")
)

// BindingError says which field of an envelope is not that of the message around it.
type BindingError struct{ Field string }

// Error implements error.
func (e *BindingError) Error() string { return ErrBinding.Error() + ": " + e.Field }

// Is makes errors.Is(err, ErrBinding) true.
func (e *BindingError) Is(target error) bool { return target == ErrBinding }

// MalformedError says which part of an envelope cannot be one.
type MalformedError struct{ Field string }

// Error implements error.
func (e *MalformedError) Error() string { return ErrMalformed.Error() + ": " + e.Field }

// Is makes errors.Is(err, ErrMalformed) true.
func (e *MalformedError) Is(target error) bool { return target == ErrMalformed }

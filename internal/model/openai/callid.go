package openai

import (
	"crypto/sha256"
	"encoding/hex"
)

// shorten fits an id into n characters, keeping different ids different and the
// same id the same.
func shorten(id string, n int) string {
	if len(id) <= n {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:])[:n-len("call_")]
}

package seal

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"sync"
)

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// digits are the two base64 digits of each 12 bits. Made on first use.
var digits = sync.OnceValue(func() *[4096]uint16 {
	var t [4096]uint16
	for i := range t {
		t[i] = uint16(alphabet[i>>6]) | uint16(alphabet[i&63])<<8
	}
	return &t
})

// appendBase64 is base64.StdEncoding.AppendEncode in half the time, which is most
// of the time that sealing takes.
func appendBase64(dst, src []byte) []byte {
	n := base64.StdEncoding.EncodedLen(len(src))
	dst = slices.Grow(dst, n)
	at, t := len(dst), digits()
	dst = dst[:at+n]
	for ; len(src) >= 8; src, at = src[6:], at+8 {
		v := binary.BigEndian.Uint64(src) // six bytes of it are used
		binary.LittleEndian.PutUint64(dst[at:], uint64(t[v>>52])|uint64(t[v>>40&4095])<<16|
			uint64(t[v>>28&4095])<<32|uint64(t[v>>16&4095])<<48)
	}
	base64.StdEncoding.Encode(dst[at:], src)
	return dst
}

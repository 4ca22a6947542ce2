package seal

import (
	"encoding/binary"
	"slices"
)

const (
	padLeast = 1 << 10
	padMost  = 64 << 10 // above it, multiples of it
)

// padded is the size of n bytes of content with their length, padded: 1, 2, 4 …
// 64 KiB, then multiples of 64 KiB.
func padded(n int) int {
	n += 4
	if n > padMost {
		return (n + padMost - 1) / padMost * padMost
	}
	size := padLeast
	for size < n {
		size *= 2
	}
	return size
}

// pad returns length, data and zeros in scratch, which grows as needed, with room
// for a tag of 16 bytes.
func pad(scratch, data []byte) []byte {
	size := padded(len(data))
	b := slices.Grow(scratch[:0], size+16)[:size]
	binary.BigEndian.PutUint32(b, uint32(len(data)))
	clear(b[4+copy(b[4:], data):])
	return b
}

// unpad is the reverse of pad; there is exactly one padded form of each content.
func unpad(b []byte) ([]byte, bool) {
	if len(b) < padLeast {
		return nil, false
	}
	n := uint64(binary.BigEndian.Uint32(b))
	if n+4 > uint64(len(b)) || padded(int(n)) != len(b) {
		return nil, false
	}
	var rest byte
	for _, c := range b[4+n:] {
		rest |= c
	}
	return b[4 : 4+n], rest == 0
}

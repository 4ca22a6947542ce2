package seal

import (
	"encoding/base64"
	"encoding/binary"
)

// WindowSize is how far behind the highest number a message may arrive.
const WindowSize = 4096

const words = WindowSize / 64

// window remembers which sequence numbers were opened: the highest, and a bit for
// each of the last WindowSize numbers (number n at bit n mod WindowSize).
type window struct {
	high uint64
	bits [words]uint64
}

// fresh reports whether seq may be opened.
func (w *window) fresh(seq uint64) bool {
	switch {
	case seq == 0:
		return false
	case seq > w.high:
		return true
	case w.high-seq >= WindowSize:
		return false
	}
	return w.bits[seq/64%words]&(1<<(seq%64)) == 0
}

// mark notes that seq, which is fresh, was opened.
func (w *window) mark(seq uint64) {
	if seq > w.high {
		if seq-w.high >= WindowSize {
			w.bits = [words]uint64{}
		} else {
			for n := w.high + 1; n < seq; n++ {
				w.bits[n/64%words] &^= 1 << (n % 64)
			}
		}
		w.high = seq
	}
	w.bits[seq/64%words] |= 1 << (seq % 64)
}

func (w *window) encode() string {
	b := make([]byte, 0, 8*words)
	for _, word := range w.bits {
		b = binary.BigEndian.AppendUint64(b, word)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func decodeWindow(high uint64, text string) (w window, ok bool) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != 8*words {
		return w, false
	}
	w.high = high
	for i := range w.bits {
		w.bits[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return w, true
}

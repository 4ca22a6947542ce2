package file

import (
	"encoding/binary"
)

// exifOrientation returns how a JPEG wants to be turned: 1 (as it is) to 8. Any
// oddity in the file means 1.
func exifOrientation(data []byte) int {
	rest := data[min(2, len(data)):] // start of image
	for len(rest) >= 4 && rest[0] == 0xFF {
		marker, size := rest[1], int(binary.BigEndian.Uint16(rest[2:]))
		if marker == 0xDA || size < 2 || len(rest) < 2+size {
			return 1 // the picture itself begins
		}
		if segment := rest[4 : 2+size]; marker == 0xE1 && len(segment) > 6 && string(segment[:6]) == "Exif\x00\x00" {
			return tiffOrientation(segment[6:])
		}
		rest = rest[2+size:]
	}
	return 1
}

// tiffOrientation looks up the orientation tag in the first directory of a TIFF block.
func tiffOrientation(tiff []byte) int {
	const tag, short = 0x0112, 3
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := int(order.Uint16(tiff[at:]))
	for i := range entries {
		entry := at + 2 + uint64(12*i)
		if entry+12 > uint64(len(tiff)) {
			return 1
		}
		if order.Uint16(tiff[entry:]) != tag || order.Uint16(tiff[entry+2:]) != short {
			continue
		}
		if v := int(order.Uint16(tiff[entry+8:])); v >= 1 && v <= 8 {
			return v
		}
		return 1
	}
	return 1
}

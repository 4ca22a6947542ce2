package router

import (
	"encoding/base64"
	"encoding/json"

	"openclaw/protocol"
)

// Pictures describes the images among the attachments of a message, without their
// data, for those who only look on.
func Pictures(list []json.RawMessage) []protocol.ChatUserContent {
	blocks, _, err := images(list)
	if err != nil {
		return nil // the message was refused for it
	}
	var out []protocol.ChatUserContent
	for _, b := range blocks {
		n := base64.StdEncoding.DecodedLen(len(b.Data))
		for i := len(b.Data) - 1; i >= 0 && b.Data[i] == '='; i-- {
			n--
		}
		out = append(out, protocol.ChatUserContent{Type: "image", MimeType: b.MimeType, Bytes: n})
	}
	return out
}

package router

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"openclaw/internal/turn"
	"openclaw/protocol"
)

// maxAttachment bounds one attachment, in decoded bytes.
const maxAttachment = 5_000_000

// images decodes the attachments of a request. What is no image is left out and
// counted; an attachment that cannot be read refuses the request. See
// docs/runtime.md#attachments.
func images(list []json.RawMessage) (blocks []turn.Block, dropped int, err error) {
	for i, raw := range list {
		var a protocol.Attachment
		if err := json.Unmarshal(raw, &a); err != nil {
			return nil, 0, &Error{fmt.Sprintf("attachment attachment-%d: must be an object", i+1)}
		}
		label := a.FileName
		if label == "" {
			label = a.Type
		}
		if label == "" {
			label = fmt.Sprintf("attachment-%d", i+1)
		}
		content, ok := text(a.Content)
		if !ok {
			return nil, 0, &Error{fmt.Sprintf("attachment %s: content must be base64 string", label)}
		}
		if content == "" {
			continue
		}
		data, err := decode(content)
		switch {
		case err != nil:
			return nil, 0, &Error{fmt.Sprintf("attachment %s: invalid base64 content", label)}
		case len(data) > maxAttachment:
			return nil, 0, &Error{fmt.Sprintf("attachment %s: exceeds size limit (%d > %d bytes)", label, len(data), maxAttachment)}
		}
		mime, _, _ := strings.Cut(http.DetectContentType(data), ";")
		if !strings.HasPrefix(mime, "image/") {
			dropped++
			continue
		}
		blocks = append(blocks, turn.Block{Type: turn.BlockImage, MimeType: mime, Data: base64.StdEncoding.EncodeToString(data)})
	}
	return blocks, dropped, nil
}

// text reads a JSON string; absent and null are empty.
func text(raw json.RawMessage) (string, bool) {
	var s *string
	if len(raw) == 0 {
		return "", true
	}
	if json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	if s == nil {
		return "", true
	}
	return strings.TrimSpace(*s), true
}

// decode reads base64, bare or as a data URL.
func decode(content string) ([]byte, error) {
	if strings.HasPrefix(content, "data:") {
		head, body, ok := strings.Cut(content, ",")
		if !ok || !strings.HasSuffix(head, ";base64") {
			return nil, fmt.Errorf("not a base64 data URL")
		}
		content = strings.TrimSpace(body)
	}
	return base64.StdEncoding.DecodeString(content)
}

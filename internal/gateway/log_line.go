package gateway

import (
	"encoding/json"
	"strings"
)

// asOthersRead adds to a line of our log the fields in which the client and the
// control page of the reference look for message, level and room: they read the
// arguments of a logging library ("0", "1") and its "_meta". Lines that have them, and
// those that are no JSON, stay as they are. See docs/protocol.md#logs.
func asOthersRead(line string) string {
	var fields map[string]any
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &fields) != nil {
		return line
	}
	message, ok := fields["message"].(string)
	if _, done := fields["_meta"]; done || !ok {
		return line
	}
	level, _ := fields["level"].(string)
	meta := map[string]any{"logLevelName": strings.ToUpper(level), "date": fields["time"]}
	if room, ok := fields["subsystem"].(string); ok {
		name, _ := json.Marshal(map[string]string{"subsystem": room}) // a string always encodes
		meta["name"] = string(name)
	}
	more := map[string]any{"0": message, "_meta": meta}
	for _, known := range []string{"message", "level", "time", "subsystem"} {
		delete(fields, known)
	}
	if len(fields) > 0 {
		more["1"] = fields
	}
	tail, err := json.Marshal(more)
	if err != nil {
		return line
	}
	return strings.TrimSuffix(strings.TrimSpace(line), "}") + "," + string(tail[1:])
}

package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Identity is what IDENTITY.md says about the agent; unknown parts are empty.
type Identity struct {
	Name, Creature, Vibe, Theme, Emoji, Avatar string
}

// IsZero reports whether nothing is known yet.
func (id Identity) IsZero() bool { return id == Identity{} }

// LoadIdentity reads IDENTITY.md of dir. A missing file is an error that
// matches [io/fs.ErrNotExist].
func LoadIdentity(dir string) (Identity, error) {
	data, err := os.ReadFile(filepath.Join(dir, IdentityFile))
	if err != nil {
		return Identity{}, fmt.Errorf("read identity: %w", err)
	}
	return ParseIdentity(string(data)), nil
}

// ParseIdentity reads lines of the form "- **Name:** value". Labels are compared
// without case and markup; values in parentheses or italics are placeholders and
// ignored. The last line with a label wins. See docs/runtime.md#identity.
func ParseIdentity(text string) Identity {
	var id Identity
	fields := map[string]*string{
		"name": &id.Name, "creature": &id.Creature, "vibe": &id.Vibe,
		"theme": &id.Theme, "emoji": &id.Emoji, "avatar": &id.Avatar,
	}
	for line := range strings.Lines(text) {
		label, value, ok := identityLine(line)
		if field := fields[label]; ok && field != nil {
			*field = value
		}
	}
	return id
}

func identityLine(line string) (label, value string, ok bool) {
	line = strings.TrimSpace(line)
	line = strings.TrimSpace(strings.TrimPrefix(line, "-"))
	label, value, ok = strings.Cut(line, ":")
	if !ok {
		return "", "", false
	}
	label = strings.ToLower(strings.TrimSpace(stripMarks(label)))
	// The bold of "**Name:** value" closes behind the colon.
	value = strings.TrimSpace(strings.TrimPrefix(value, "**"))
	if isPlaceholder(value) {
		return "", "", false
	}
	value = strings.TrimSpace(strings.Trim(value, "*_"))
	return label, value, value != ""
}

// isPlaceholder recognises "(…)", "_…_", "*…*" and combinations of them.
func isPlaceholder(value string) bool {
	inner := strings.Trim(value, "*_ ")
	if strings.HasPrefix(inner, "(") && strings.HasSuffix(inner, ")") {
		return true
	}
	return italic(value, "_") || italic(value, "*")
}

func italic(s, mark string) bool {
	return len(s) > 2 && strings.HasPrefix(s, mark) && strings.HasSuffix(s, mark) &&
		!strings.HasPrefix(s, mark+mark)
}

func stripMarks(s string) string {
	return strings.NewReplacer("*", "", "_", "").Replace(s)
}

package stagewhisper

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/config"
)

// settings is what the configuration and the environment say; the environment wins.
// See docs/stagewhisper.md#configuration.
type settings struct {
	off           string // why nothing is served; empty when something is
	relay, direct bool   // which pairings are served
	paused        []string
	listening     assistant.Listening
	legacy        bool // the keys of an older pairing are in the configuration
}

func readSettings(c *config.Config, env config.Env) (settings, error) {
	s := settings{off: disabled(c), relay: true, direct: true}
	section, _ := c.Channels[Channel].(map[string]any)
	plugin := c.Plugins.Entries[Channel].Config
	for _, tree := range []map[string]any{section, plugin} {
		s.legacy = s.legacy || text(tree, "relayToken") != ""
	}
	accounts, _ := section["accounts"].(map[string]any)
	for name, v := range accounts {
		if on, _ := config.Lookup(v, "enabled"); on == false {
			s.paused = append(s.paused, name)
		}
	}
	switch transport := strings.ToLower(cmp.Or(env("STAGEWHISPER_TRANSPORT"), text(plugin, "transport"))); transport {
	case "":
	case "sse":
		s.direct = false
	case "http":
		s.relay = false
	default:
		return s, fmt.Errorf("the transport of %s is %q: want sse for a relay, http for the direct listener, or nothing for both", Channel, transport)
	}
	s.listening.Host = cmp.Or(env("STAGEWHISPER_HTTP_HOST"), text(plugin, "httpHost"))
	s.listening.Token = byo.Secret(cmp.Or(env("STAGEWHISPER_HTTP_TOKEN"), text(plugin, "httpToken")))
	s.listening.Hosts = words(env("STAGEWHISPER_ALLOW_INGRESS_HOSTS"))
	s.listening.Callbacks = words(env("STAGEWHISPER_ALLOW_CALLBACK_URLS"))
	if port := cmp.Or(env("STAGEWHISPER_HTTP_PORT"), text(plugin, "httpPort")); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return s, fmt.Errorf("the port of %s's listener is %q: want a number from 1 to 65535", Channel, port)
		}
		s.listening.Port = int(n)
	}
	return s, nil
}

// disabled says which setting switches the plugin off.
func disabled(c *config.Config) string {
	section, _ := c.Channels[Channel].(map[string]any)
	entry := c.Plugins.Entries[Channel]
	switch {
	case !c.Plugins.Enabled:
		return "plugins.enabled is false"
	case slices.Contains(c.Plugins.Deny, Channel):
		return "plugins.deny names it"
	case len(c.Plugins.Allow) > 0 && !slices.Contains(c.Plugins.Allow, Channel):
		return "plugins.allow does not name it"
	case entry.Enabled != nil && !*entry.Enabled:
		return "plugins.entries." + Channel + ".enabled is false"
	case section["enabled"] == false:
		return "channels." + Channel + ".enabled is false"
	}
	return ""
}

// serves reports whether a pairing is to be served.
func (s settings) serves(name string) bool {
	if s.off != "" || slices.Contains(s.paused, name) {
		return false
	}
	if name == assistant.DirectName {
		return s.direct
	}
	return s.relay
}

// text reads a setting that may be a string or a number.
func text(tree map[string]any, key string) string {
	v := tree[key]
	if v == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprint(v))
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// Label is the name that the configuration gives this assistant; may be empty.
func Label(c *config.Config) string {
	section, _ := c.Channels[Channel].(map[string]any)
	return cmp.Or(text(section, "label"), text(c.Plugins.Entries[Channel].Config, "label"))
}

// APIBaseURL is the relay that the configuration names for new pairings; may be empty.
func APIBaseURL(c *config.Config) string {
	section, _ := c.Channels[Channel].(map[string]any)
	return cmp.Or(text(section, "apiBaseUrl"), text(c.Plugins.Entries[Channel].Config, "apiBaseUrl"))
}

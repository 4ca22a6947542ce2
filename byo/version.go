package byo

// BasePath of the relay API, the same for every provider kind.
const BasePath = "/api/v1/openclaw"

// OldBasePath is where the published Hermes plugin (0.29.0) looks for the same API. A
// relay answers there as well.
const OldBasePath = "/api/v1/assistant-relay"

// SchemaVersion of a job.
const SchemaVersion = 1

// Content schemes, as they stand in byo_versions, byo_version and an envelope's
// version. See docs/byo.md#content-protection.
const (
	StaticV1 = "static_v1" // one key for a pairing; only for peers that know nothing better
	DuplexV2 = "duplex_v2" // a key for each direction and epoch, replay window, bound to the job
)

// Envelope versions of a job, one for each content scheme.
const (
	EnvelopeVersion1 = 1 // StaticV1
	EnvelopeVersion2 = 2 // DuplexV2
)

// EnvelopeVersion is the number of a content scheme, 0 of an unknown one.
func EnvelopeVersion(scheme string) int {
	switch scheme {
	case StaticV1:
		return EnvelopeVersion1
	case DuplexV2:
		return EnvelopeVersion2
	}
	return 0
}

// BestVersion is the best content scheme that both sides list, "" when there is
// none. A peer with a key that lists nothing speaks [StaticV1] only.
func BestVersion(desktop, plugin []string) string {
	if len(plugin) == 0 {
		plugin = []string{StaticV1}
	}
	for _, v := range []string{DuplexV2, StaticV1} {
		if contains(desktop, v) && contains(plugin, v) {
			return v
		}
	}
	return ""
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

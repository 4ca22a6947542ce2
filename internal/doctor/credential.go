package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"openclaw/internal/disk"
	"openclaw/internal/model"
)

// WarnAfter is how long before its end a login counts as expiring.
const WarnAfter = 24 * time.Hour

// Status says whether a stored credential can be used.
type Status string

const (
	Valid    Status = "ok"
	Expiring Status = "expiring"
	Expired  Status = "expired"
	Static   Status = "static" // an API key, which carries no date
)

// ProfileHealth is one stored credential without its secret.
type ProfileHealth struct {
	ProfileID   string `json:"profileId"`
	Provider    string `json:"provider"`
	Type        string `json:"type"`
	Status      Status `json:"status"`
	ExpiresAt   *int64 `json:"expiresAt,omitempty"`
	RemainingMs *int64 `json:"remainingMs,omitempty"`
}

// ProviderHealth is the best of a vendor's credentials.
type ProviderHealth struct {
	Provider string `json:"provider"`
	Status   Status `json:"status"`
}

// UnusableProfile is a credential that rests after failures.
type UnusableProfile struct {
	ProfileID   string `json:"profileId"`
	Provider    string `json:"provider"`
	Kind        string `json:"kind"` // cooldown or disabled
	Until       int64  `json:"until"`
	RemainingMs int64  `json:"remainingMs"`
	Reason      string `json:"reason,omitempty"`
}

// Profiles is the health of a store of credentials.
type Profiles struct {
	Profiles  []ProfileHealth
	Providers []ProviderHealth
	Unusable  []UnusableProfile
	WithOAuth []string
	// Err says that the store is there and cannot be read.
	Err error
}

// Count returns how many credentials of a vendor are stored.
func (p Profiles) Count(provider string) int {
	n := 0
	for _, ph := range p.Profiles {
		if ph.Provider == provider {
			n++
		}
	}
	return n
}

// ReadProfiles reads an auth-profiles.json without its secrets. A missing store
// holds nothing.
func ReadProfiles(path string, now time.Time) Profiles {
	out := Profiles{Profiles: []ProfileHealth{}, Providers: []ProviderHealth{}, Unusable: []UnusableProfile{}, WithOAuth: []string{}}
	data, err := disk.ReadFile(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return out
	}
	var store struct {
		Profiles map[string]struct {
			Type     string `json:"type"`
			Provider string `json:"provider"`
			Expires  int64  `json:"expires"`
		} `json:"profiles"`
		Usage map[string]struct {
			CooldownUntil  int64  `json:"cooldownUntil"`
			DisabledUntil  int64  `json:"disabledUntil"`
			DisabledReason string `json:"disabledReason"`
		} `json:"usageStats"`
	}
	if err == nil && json.Unmarshal(data, &store) != nil {
		err = errors.New("it is no JSON of the expected shape") // the decoder's text could quote a secret
	}
	if err != nil {
		out.Err = fmt.Errorf("read %s: %w", filepath.Base(path), err)
		return out
	}
	best := map[string]Status{}
	for id, p := range store.Profiles {
		ph := ProfileHealth{ProfileID: id, Provider: model.NormalizeProvider(p.Provider), Type: p.Type, Status: Static}
		if p.Type != "api_key" {
			ph.Status = Valid
			if p.Expires > 0 {
				left := p.Expires - now.UnixMilli()
				ph.ExpiresAt, ph.RemainingMs = &p.Expires, &left
				ph.Status = statusOf(time.Duration(left) * time.Millisecond)
			}
		}
		if p.Type == "oauth" && !slices.Contains(out.WithOAuth, ph.Provider) {
			out.WithOAuth = append(out.WithOAuth, ph.Provider)
		}
		out.Profiles = append(out.Profiles, ph)
		if have, seen := best[ph.Provider]; !seen || rank(ph.Status) > rank(have) {
			best[ph.Provider] = ph.Status
		}
		u := store.Usage[id]
		for _, rest := range []UnusableProfile{{Kind: "disabled", Until: u.DisabledUntil, Reason: u.DisabledReason}, {Kind: "cooldown", Until: u.CooldownUntil}} {
			if left := rest.Until - now.UnixMilli(); left > 0 {
				rest.ProfileID, rest.Provider, rest.RemainingMs = id, ph.Provider, left
				out.Unusable = append(out.Unusable, rest)
				break
			}
		}
	}
	for provider, status := range best {
		out.Providers = append(out.Providers, ProviderHealth{provider, status})
	}
	slices.SortFunc(out.Profiles, func(a, b ProfileHealth) int { return compare(a.ProfileID, b.ProfileID) })
	slices.SortFunc(out.Providers, func(a, b ProviderHealth) int { return compare(a.Provider, b.Provider) })
	slices.SortFunc(out.Unusable, func(a, b UnusableProfile) int { return compare(a.ProfileID, b.ProfileID) })
	slices.Sort(out.WithOAuth)
	return out
}

func statusOf(left time.Duration) Status {
	switch {
	case left <= 0:
		return Expired
	case left < WarnAfter:
		return Expiring
	}
	return Valid
}

func rank(s Status) int { return slices.Index([]Status{Expired, Expiring, Valid, Static}, s) }

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// defaultModel checks that runs have a model and a key for it.
func (d *doctor) defaultModel(context.Context) []Finding {
	const check = "model"
	snap := d.snapshot()
	if !snap.Valid {
		return nil
	}
	dir := d.Models(snap)
	if dir.Offline() {
		return []Finding{note(check, "the built-in offline model answers: "+dir.OfflineReason())}
	}
	var found []Finding
	refs := append([]string{dir.Default().String()}, snap.Config.Agents.Defaults.Model.Fallbacks...)
	for _, ref := range refs {
		var failed *model.Error
		if _, err := dir.Resolve(ref); errors.As(err, &failed) {
			found = append(found, problem(check, ref+": "+failed.Text))
		} else if err != nil {
			found = append(found, problem(check, ref+": "+err.Error()))
		}
	}
	return or(found, check, dir.Default().String()+" has what it needs")
}

// profiles checks the stored credentials of every agent.
func (d *doctor) profiles(context.Context) []Finding {
	const check = "credentials"
	c := d.snapshot().Config
	var found []Finding
	stored := 0
	for _, id := range c.AgentIDs() {
		path := filepath.Join(c.AgentDir(d.Paths, d.Env, id), "auth-profiles.json")
		health := ReadProfiles(path, d.Now())
		stored += len(health.Profiles)
		if health.Err != nil {
			found = append(found, problem(check, fmt.Sprintf("agent %s: %v", id, health.Err), "correct or remove "+d.Paths.Short(path)))
		}
		for _, ph := range health.Profiles {
			switch ph.Status {
			case Expired:
				found = append(found, problem(check, fmt.Sprintf("%s of agent %s has expired", ph.ProfileID, id), "log in again"))
			case Expiring:
				found = append(found, note(check, fmt.Sprintf("%s of agent %s expires within a day", ph.ProfileID, id)))
			}
		}
		for _, u := range health.Unusable {
			found = append(found, note(check, fmt.Sprintf("%s of agent %s rests until %s (%s)", u.ProfileID, id,
				time.UnixMilli(u.Until).Format(time.DateTime), u.Kind)))
		}
	}
	return or(found, check, fmt.Sprintf("%d stored", stored))
}

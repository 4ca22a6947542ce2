package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/internal/doctor"
	"openclaw/internal/model"
)

type modelStatusFlags struct {
	json, plain, check bool
	agent              string
}

func modelsStatusCommand(p *program) *cobra.Command {
	var f modelStatusFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the model that runs use and where its key is from",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return p.modelsStatus(&f) },
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print the status as JSON")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "print the default model alone")
	cmd.Flags().BoolVar(&f.check, "check", false, "exit with 1 when a credential is missing or expired, 2 when one expires within a day")
	cmd.Flags().StringVar(&f.agent, "agent", "", "the agent whose credentials count")
	return cmd
}

// modelStatus is what models status prints as JSON. It holds no secret. CLI-035.
type modelStatus struct {
	ConfigPath      string            `json:"configPath"`
	AgentID         string            `json:"agentId,omitempty"`
	AgentDir        string            `json:"agentDir"`
	DefaultModel    string            `json:"defaultModel"`
	ResolvedDefault string            `json:"resolvedDefault"`
	Fallbacks       []string          `json:"fallbacks"`
	ImageModel      *string           `json:"imageModel"`
	ImageFallbacks  []string          `json:"imageFallbacks"`
	Aliases         map[string]string `json:"aliases"`
	Allowed         []string          `json:"allowed"`
	Auth            authStatus        `json:"auth"`
}

type authStatus struct {
	StorePath             string                   `json:"storePath"`
	ShellEnvFallback      shellEnvStatus           `json:"shellEnvFallback"`
	ProvidersWithOAuth    []string                 `json:"providersWithOAuth"`
	MissingProvidersInUse []string                 `json:"missingProvidersInUse"`
	Providers             []providerStatus         `json:"providers"`
	UnusableProfiles      []doctor.UnusableProfile `json:"unusableProfiles"`
	OAuth                 oauthStatus              `json:"oauth"`
}

type shellEnvStatus struct {
	Enabled     bool     `json:"enabled"`
	AppliedKeys []string `json:"appliedKeys"`
}

// providerStatus says where the key of a vendor is from.
type providerStatus struct {
	Provider  string `json:"provider"`
	Effective struct {
		Kind   string `json:"kind"` // profiles, env, config, none or missing
		Detail string `json:"detail"`
	} `json:"effective"`
	Profiles int `json:"profiles"`
}

type oauthStatus struct {
	WarnAfterMs int64                   `json:"warnAfterMs"`
	Profiles    []doctor.ProfileHealth  `json:"profiles"`
	Providers   []doctor.ProviderHealth `json:"providers"`
}

func (p *program) modelsStatus(f *modelStatusFlags) error {
	s, err := p.modelStatus(f.agent)
	if err != nil {
		return err
	}
	switch {
	case f.json:
		err = p.io.JSON(s)
	case f.plain:
		_, err = fmt.Fprintln(p.io.Out, s.ResolvedDefault)
	default:
		p.printModelStatus(s)
	}
	if err == nil && f.check {
		err = s.checkResult()
	}
	return err
}

// checkResult is 1 for missing or expired credentials, 2 for ones that expire
// soon. CLI-003.
func (s modelStatus) checkResult() error {
	if len(s.Auth.MissingProvidersInUse) > 0 {
		return cli.Exit(1)
	}
	code := 0
	for _, ph := range s.Auth.OAuth.Profiles {
		switch {
		case ph.Status == doctor.Expired && s.inUse(ph.Provider):
			return cli.Exit(1)
		case ph.Status == doctor.Expiring && s.inUse(ph.Provider):
			code = 2
		}
	}
	if code != 0 {
		return cli.Exit(code)
	}
	return nil
}

func (s modelStatus) inUse(provider string) bool {
	return slices.ContainsFunc(s.Auth.Providers, func(ps providerStatus) bool { return ps.Provider == provider })
}

func (p *program) modelStatus(agentID string) (modelStatus, error) {
	c := p.snapshot().Config
	id := firstOf(agentID, c.DefaultAgentID())
	if _, known := c.Agent(id); !known && !slices.Contains(c.AgentIDs(), id) {
		return modelStatus{}, cli.Fail(fmt.Sprintf("unknown agent %q", id), "known agents: "+strings.Join(c.AgentIDs(), ", "))
	}
	m := newModels(p.paths, p.snapshot)
	dir := m.of(id)
	choice := c.AgentModel(id)
	s := modelStatus{
		ConfigPath: p.paths.ConfigPath, AgentID: agentID, AgentDir: c.AgentDir(p.paths, m.env, id),
		DefaultModel: choice.Primary, Fallbacks: orEmpty(choice.Fallbacks),
		ImageFallbacks: orEmpty(c.Agents.Defaults.ImageModel.Fallbacks), Aliases: c.Aliases(), Allowed: []string{},
	}
	ref := dir.Default()
	if choice.Primary != "" {
		if parsed, err := dir.Parse(choice.Primary); err == nil {
			ref = parsed
		}
	}
	s.ResolvedDefault = ref.String()
	s.DefaultModel = cmp.Or(s.DefaultModel, s.ResolvedDefault)
	if image := c.Agents.Defaults.ImageModel.Primary; image != "" {
		s.ImageModel = &image
	}
	s.Allowed = append(s.Allowed, slices.Sorted(maps.Keys(c.Agents.Defaults.Models))...)
	s.Auth = p.authStatus(dir, s, ref)
	return s, nil
}

// authStatus looks at the credentials of every vendor in use.
func (p *program) authStatus(dir *model.Directory, s modelStatus, def model.Ref) authStatus {
	a := authStatus{
		StorePath:        filepath.Join(s.AgentDir, "auth-profiles.json"),
		ShellEnvFallback: shellEnvStatus{AppliedKeys: []string{}}, ProvidersWithOAuth: []string{}, MissingProvidersInUse: []string{},
		Providers: []providerStatus{}, UnusableProfiles: []doctor.UnusableProfile{},
	}
	health := doctor.ReadProfiles(a.StorePath, p.now())
	a.UnusableProfiles = append(a.UnusableProfiles, health.Unusable...)
	a.OAuth = oauthStatus{WarnAfterMs: doctor.WarnAfter.Milliseconds(), Profiles: health.Profiles, Providers: health.Providers}
	a.ProvidersWithOAuth = append(a.ProvidersWithOAuth, health.WithOAuth...)
	refs := []model.Ref{def}
	for _, text := range s.Fallbacks {
		if ref, err := dir.Parse(text); err == nil {
			refs = append(refs, ref)
		}
	}
	seen := map[string]bool{}
	for _, ref := range refs {
		if seen[ref.Provider] {
			continue
		}
		seen[ref.Provider] = true
		ps := providerStatus{Provider: ref.Provider, Profiles: health.Count(ref.Provider)}
		ps.Effective.Kind, ps.Effective.Detail = effectiveKey(dir, ref)
		if ps.Effective.Kind == "missing" {
			a.MissingProvidersInUse = append(a.MissingProvidersInUse, ref.Provider)
		}
		a.Providers = append(a.Providers, ps)
	}
	return a
}

// effectiveKey says which kind of key a call would use, in words without it.
func effectiveKey(dir *model.Directory, ref model.Ref) (kind, detail string) {
	e, err := dir.Resolve(ref.String())
	var failed *model.Error
	switch {
	case errors.As(err, &failed):
		return "missing", failed.Text
	case err != nil:
		return "missing", err.Error()
	case e.Profile != "":
		return "profiles", e.Profile
	case e.KeySource == "":
		return "none", "no key is needed"
	case strings.Contains(e.KeySource, "environment"):
		return "env", e.KeySource
	}
	return "config", e.KeySource
}

func (p *program) printModelStatus(s modelStatus) {
	style := p.io.OutStyle()
	line := func(name, value string) { fmt.Fprintf(p.io.Out, "%-13s %s\n", name+":", value) }
	line("Config", p.io.Path(s.ConfigPath))
	line("Default", s.ResolvedDefault+mark(s.DefaultModel != s.ResolvedDefault, " (written as "+s.DefaultModel+")"))
	line("Fallbacks", cmp.Or(strings.Join(s.Fallbacks, ", "), "none"))
	if s.ImageModel != nil {
		line("Image model", *s.ImageModel)
	}
	for _, name := range sortedKeys(s.Aliases) {
		line("Alias", name+" = "+s.Aliases[name])
	}
	if len(s.Allowed) > 0 {
		line("Allowed", strings.Join(s.Allowed, ", "))
	}
	for _, ps := range s.Auth.Providers {
		text := ps.Effective.Detail
		if ps.Effective.Kind == "missing" {
			text = style.Red("missing") + ": " + text
		}
		line("Key", ps.Provider+": "+text)
	}
	for _, u := range s.Auth.UnusableProfiles {
		line("Resting", fmt.Sprintf("%s (%s) for %s", u.ProfileID, u.Kind, cli.Age(time.Duration(u.RemainingMs)*time.Millisecond)))
	}
	for _, ph := range s.Auth.OAuth.Profiles {
		if ph.Status == doctor.Expired || ph.Status == doctor.Expiring {
			line("Login", ph.ProfileID+" "+style.Yellow(string(ph.Status)))
		}
	}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

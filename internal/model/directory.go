package model

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"openclaw/internal/logs"
)

// Limits of a model's context window, in tokens; see agent-runtime 11.2.
const (
	DefaultWindow = 200_000 // when nothing is known
	WarnWindow    = 32_000  // below, answers suffer
	MinWindow     = 16_000  // below, the model is refused
)

// Credentials finds the key of a provider. Implementations never log it.
type Credentials interface {
	// Find looks in this order: the pinned profile when one is named, stored
	// profiles, the environment, then configured. ok is false when there is none.
	Find(provider string, configured logs.Secret, pinned string) (c Credential, ok bool)
}

// Credential is a key and where it is from.
type Credential struct {
	Key logs.Secret
	// Bearer marks tokens that are not API keys: OAuth and setup tokens.
	Bearer bool
	// Source completes "Check …": "the environment variable OPENAI_API_KEY".
	Source string
	// Profile is the id of the auth profile, empty for other sources.
	Profile string
	// Problem says why a stored credential was not used: "the auth profile x has
	// expired". Only set when there is no key.
	Problem string
}

// Catalog knows models without being told by the configuration.
type Catalog interface {
	Find(Ref) (Info, bool)
	// Models lists the models of a provider.
	Models(provider string) []Info
}

// DirectoryConfig is what a [Directory] joins. All fields are required.
type DirectoryConfig struct {
	Settings    func() Settings // called for each question, must be cheap
	Credentials Credentials
	Catalog     Catalog
	Families    map[API]Family // with APIOffline
}

// Directory decides which endpoint serves a ref. It holds no state of its own
// and is safe for concurrent use.
type Directory struct{ cfg DirectoryConfig }

// NewDirectory returns a directory over cfg.
func NewDirectory(cfg DirectoryConfig) *Directory { return &Directory{cfg} }

// For returns a directory that finds keys with c: agents have their own.
func (d *Directory) For(c Credentials) *Directory {
	cfg := d.cfg
	cfg.Credentials = c
	return &Directory{cfg}
}

// Endpoint is a model that can be called.
type Endpoint struct {
	Info    Info // ContextWindow is capped by agents.defaults.contextTokens
	Params  Params
	Model   Model
	Profile string // auth profile in use, may be empty
	// KeySource says where the key is from, without the key; empty for none.
	KeySource string
	// Warning is a remark for the log, such as a small context window.
	Warning string
}

// Default returns the model for runs that name none: the configured primary;
// else the first provider that has a key; else the offline model.
func (d *Directory) Default() Ref {
	s := d.cfg.Settings()
	ref, _ := d.defaultRef(s)
	return ref
}

// defaultRef also reports whether the choice is the user's.
func (d *Directory) defaultRef(s Settings) (ref Ref, chosen bool) {
	if s.Primary != "" {
		if ref, err := ParseRef(s.Primary, s.Aliases); err == nil {
			return ref, true
		}
	}
	for _, b := range builtins {
		id := cmp.Or(firstModel(s.Providers[b.ID]), b.Default)
		if _, _, err := d.credential(s, Ref{b.ID, id}, ""); err == nil && id != "" {
			return Ref{b.ID, id}, false
		}
	}
	for _, p := range slices.Sorted(maps.Keys(s.Providers)) {
		ref := Ref{NormalizeProvider(p), firstModel(s.Providers[p])}
		if _, _, err := d.credential(s, ref, ""); err == nil && ref.ID != "" {
			return ref, false
		}
	}
	return OfflineRef(), false
}

func firstModel(p Provider) string {
	if len(p.Models) == 0 {
		return ""
	}
	return p.Models[0].ID
}

// Offline reports whether runs that name no model get the built-in offline one.
func (d *Directory) Offline() bool { return d.Default() == OfflineRef() }

// OfflineReason says why [Directory.Offline] holds and what to do about it;
// empty when it does not.
func (d *Directory) OfflineReason() string {
	if !d.Offline() {
		return ""
	}
	if p := d.cfg.Settings().Primary; p != "" {
		return "The configuration chooses the offline model."
	}
	return "No model is configured and no API key was found. Set an environment variable such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or describe a server under models.providers."
}

// Parse reads a ref or alias as the user may write it, without checks.
func (d *Directory) Parse(text string) (Ref, error) {
	return ParseRef(text, d.cfg.Settings().Aliases)
}

// Allowed reports whether the allowlist lets users select ref. See RT-093.
func (d *Directory) Allowed(ref Ref) bool {
	s := d.cfg.Settings()
	if len(s.Allow) == 0 || slices.Contains(s.AlwaysAllow, ref.Provider) {
		return true
	}
	for key := range s.Allow {
		if r, err := ParseRef(key, s.Aliases); err == nil && r == ref {
			return true
		}
	}
	if def, _ := d.defaultRef(s); ref == def {
		return true
	}
	return slices.ContainsFunc(s.provider(ref.Provider).Models, func(m ProviderModel) bool { return m.ID == ref.ID })
}

// Select parses what a user asked for and checks it against the allowlist.
func (d *Directory) Select(text string) (Ref, error) {
	ref, err := d.Parse(text)
	if err != nil {
		return Ref{}, err
	}
	if !d.Allowed(ref) {
		return Ref{}, fmt.Errorf("model %s is not allowed; add it to agents.defaults.models or choose one that is listed there", ref)
	}
	return ref, nil
}

// Resolve returns the endpoint of a ref or alias; empty means [Directory.Default].
// The error is an [*Error] that names the next step: kind [KindAuth] for a
// missing key, [KindNotFound] for an unknown provider, [KindConfig] otherwise.
func (d *Directory) Resolve(text string) (Endpoint, error) { return d.ResolveAs(text, "") }

// ResolveAs is Resolve with a pinned auth profile.
func (d *Directory) ResolveAs(text, profile string) (Endpoint, error) {
	s := d.cfg.Settings()
	ref, _ := d.defaultRef(s)
	if text = strings.TrimSpace(text); text != "" || s.Primary != "" {
		var err error
		if ref, err = ParseRef(cmp.Or(text, s.Primary), s.Aliases); err != nil {
			return Endpoint{}, &Error{Kind: KindConfig, Text: err.Error() + "."}
		}
	}
	target, err := d.target(s, ref, profile)
	if err != nil {
		return Endpoint{}, err
	}
	e := Endpoint{Info: target.Info, Params: s.params(ref), KeySource: target.KeySource, Profile: target.Profile}
	if e.Warning, err = CheckWindow(e.Info); err != nil {
		return Endpoint{}, err
	}
	if e.Model, err = d.cfg.Families[e.Info.API](target); err != nil {
		return Endpoint{}, &Error{Kind: KindConfig, Ref: ref, Text: err.Error()}
	}
	return e, nil
}

// unsupported is the error of a family that this build does not have.
func unsupported(ref Ref, api API) *Error {
	text := fmt.Sprintf("The API %q of provider %s is not supported. Use one of openai-completions, openai-responses, anthropic-messages or google-generative-ai.", api, ref.Provider)
	switch api {
	case APIBedrock:
		text = "Provider " + ref.Provider + " needs Amazon Bedrock, which this build does not include. Use a build with the bedrock tag, or another provider."
	case APICopilot:
		text = "Provider " + ref.Provider + " needs a GitHub Copilot sign-in, which this build does not offer. Use another provider."
	}
	return &Error{Kind: KindConfig, Ref: ref, Text: text}
}

// target joins what the configuration, the built-in table, the catalogue and the
// credentials say about ref.
func (d *Directory) target(s Settings, ref Ref, profile string) (Target, error) {
	info, err := d.info(s, ref)
	if err != nil {
		return Target{}, err
	}
	if info.API == APIOffline {
		return Target{Info: info}, nil
	}
	t := Target{Info: info, BaseURL: s.baseURL(ref.Provider), Headers: s.headers(ref)}
	p := s.provider(ref.Provider)
	if m, ok := p.model(ref.ID); ok {
		t.Compat = m.Compat
	}
	if info.API == APIBedrock || p.Auth == "aws-sdk" {
		return Target{}, unsupported(ref, APIBedrock)
	}
	if _, ok := d.cfg.Families[info.API]; !ok {
		return Target{}, unsupported(ref, info.API)
	}
	cred, bearer, err := d.credential(s, ref, profile)
	if err != nil {
		return Target{}, err
	}
	t.Key, t.KeySource, t.Profile, t.Bearer = cred.Key, cred.Source, cred.Profile, bearer
	return t, nil
}

// credential finds the key of a provider. A server on this machine or network
// may want none.
func (d *Directory) credential(s Settings, ref Ref, pinned string) (c Credential, bearer bool, err error) {
	provider := ref.Provider
	p := s.provider(provider)
	c, ok := d.cfg.Credentials.Find(provider, p.APIKey, pinned)
	if ok {
		return c, c.Bearer || p.AuthHeader || p.Auth == "token" || p.Auth == "oauth", nil
	}
	_, known := LookupBuiltin(provider)
	if p.BaseURL != "" && (isLocal(p.BaseURL) || hasAuthorization(p.Headers)) {
		return Credential{}, false, nil
	}
	if !known && p.BaseURL == "" {
		return Credential{}, false, unknownProvider(ref, s)
	}
	return Credential{}, false, missingKey(ref, c.Problem)
}

// isLocal reports whether a server stands on this machine or a private network.
func isLocal(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return host == "localhost" || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") ||
		host != "" && !strings.Contains(host, ".")
}

func hasAuthorization(h map[string]logs.Secret) bool {
	for k := range h {
		switch strings.ToLower(k) {
		case "authorization", "x-api-key", "api-key":
			return true
		}
	}
	return false
}

func missingKey(ref Ref, problem string) *Error {
	ways := []string{"set models.providers." + ref.Provider + ".apiKey in the configuration", "add an auth profile for it"}
	if b, ok := LookupBuiltin(ref.Provider); ok {
		ways = append([]string{"set the environment variable " + b.Env[len(b.Env)-1]}, ways...)
	}
	if problem != "" {
		problem = " (" + problem + ")"
	}
	return &Error{Kind: KindAuth, Ref: ref, Text: fmt.Sprintf("No API key for provider %s%s. To fix it, %s, or %s.",
		ref.Provider, problem, strings.Join(ways[:len(ways)-1], ", "), ways[len(ways)-1])}
}

func unknownProvider(ref Ref, s Settings) *Error {
	var known []string
	for _, b := range builtins {
		known = append(known, b.ID)
	}
	for p := range s.Providers {
		known = append(known, NormalizeProvider(p))
	}
	slices.Sort(known)
	return &Error{Kind: KindNotFound, Ref: ref, Text: fmt.Sprintf("Unknown provider %q. Known are %s; others go under models.providers.",
		ref.Provider, strings.Join(slices.Compact(known), ", "))}
}

// CheckWindow refuses a context window that is too small to work with and warns
// of a small one. See RT-097.
func CheckWindow(info Info) (warning string, err error) {
	switch w := info.ContextWindow; {
	case w < MinWindow:
		return "", &Error{Kind: KindConfig, Ref: info.Ref, Text: fmt.Sprintf("The context window of %s is %d tokens; at least %d are needed. Choose another model or raise contextWindow.", info.Ref, w, MinWindow)}
	case w < WarnWindow:
		return fmt.Sprintf("the context window of %s is only %d tokens", info.Ref, w), nil
	}
	return "", nil
}

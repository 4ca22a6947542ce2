package logs

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Redact replaces what looks like a credential in text by [Hidden]: keys of
// well-known vendors, bearer headers, private keys, passwords in URLs, and
// values beside names such as token or password, in prose, JSON and flags. It
// errs on the side of hiding.
func Redact(text string) string { return builtin().Redact(text) }

// Redactor hides credentials by the built-in rules and by patterns of the user.
type Redactor struct {
	rules []rule
	user  []*regexp.Regexp
}

// NewRedactor adds the patterns of logging.redactPatterns to the built-in rules.
// A pattern is a regular expression, bare or as /…/flags; what its first group
// matches is hidden, or the whole match when it has none.
func NewRedactor(patterns []string) (*Redactor, error) {
	r := &Redactor{rules: builtin().rules}
	for _, p := range patterns {
		re, err := compilePattern(p)
		if err != nil {
			return nil, fmt.Errorf("compile redaction pattern %q: %w", p, err)
		}
		r.user = append(r.user, re)
	}
	return r, nil
}

// Redact hides credentials in text.
func (r *Redactor) Redact(text string) string {
	lower := strings.ToLower(text)
	for _, rule := range r.rules {
		if rule.applies(lower) {
			text = hide(rule.re, text, rule.plausible)
		}
	}
	for _, re := range r.user {
		text = hide(re, text, nil)
	}
	return text
}

func compilePattern(p string) (*regexp.Regexp, error) {
	if body, ok := strings.CutPrefix(p, "/"); ok {
		if end := strings.LastIndexByte(body, '/'); end > 0 {
			p = body[:end]
			for _, flag := range body[end+1:] {
				switch flag {
				case 'i', 's', 'm':
					p = "(?" + string(flag) + ")" + p
				case 'g', 'u', 'y': // always so here
				default:
					return nil, fmt.Errorf("unknown flag %q", flag)
				}
			}
		}
	}
	return regexp.Compile(p)
}

// rule hides the group of re that matched, or the whole match when re has none.
type rule struct {
	hints     []string // in lower case; one must occur before re is tried
	re        *regexp.Regexp
	plausible func(match string, value string) bool // nil accepts all
}

func (r rule) applies(lower string) bool {
	for _, h := range r.hints {
		if strings.Contains(lower, h) {
			return true
		}
	}
	return false
}

func hide(re *regexp.Regexp, text string, plausible func(match, value string) bool) string {
	var b strings.Builder
	last := 0
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		from, to := m[0], m[1]
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 {
				from, to = m[i], m[i+1]
			}
		}
		if from == to || plausible != nil && !plausible(text[m[0]:from], text[from:to]) {
			continue
		}
		b.WriteString(text[last:from])
		b.WriteString(Hidden)
		last = to
	}
	if last == 0 {
		return text
	}
	b.WriteString(text[last:])
	return b.String()
}

// builtin compiles the rules on first use: most commands never log.
var builtin = sync.OnceValue(func() *Redactor {
	return &Redactor{rules: []rule{
		{[]string{"-----begin "}, regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*?(?:-----END[A-Z0-9 ]*-----|$)`), nil},
		{[]string{"://"}, regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s:/@"']*:([^\s@/"']+)@`), nil},
		{
			[]string{"bearer", "basic"},
			regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9+/._~=-]{8,})`), func(_, v string) bool { return random(v) },
		},
		{
			[]string{"key", "token", "secret", "passw", "passphrase", "authorization", "credential", "cookie"},
			regexp.MustCompile(`(?i)(?:(?:api|access|private|secret|signing|encryption)[_-]?key|token|secret|passwd|password|passphrase|authorization|credentials?|cookie)` +
				`(?:\\*["'])?(?:\s*[:=]\s*|\s+)(?:(?:bearer|basic|token)\s+)?` +
				`(?:\\*"((?:[^"\\]|\\[^"])+)|\\*'([^']+)|([^\s"'\\,;&(){}\[\]<>]+))`), plausibleValue,
		},
		{[]string{"key=", "sig=", "signature=", "auth="}, regexp.MustCompile(`(?i)[?&#](?:key|sig|signature|auth)=([^&#\s"']+)`), nil},
		{
			[]string{"sk-", "gh", "glpat-", "xox", "xapp-", "gsk_", "aiza", "akia", "npm_", "pplx-", "hf_", "ya29.", "eyj"},
			regexp.MustCompile(`\b(?:sk-[A-Za-z0-9_-]{8,}|gh[oprsu]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}` +
				`|xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}|gsk_[A-Za-z0-9]{16,}|AIza[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{12,}` +
				`|npm_[A-Za-z0-9]{16,}|pplx-[A-Za-z0-9]{16,}|hf_[A-Za-z0-9]{16,}|ya29\.[A-Za-z0-9_-]{16,}` +
				`|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?)`), nil,
		},
		{[]string{":a", ":b"}, regexp.MustCompile(`\b[0-9]{6,12}:[A-Za-z0-9_-]{30,}`), nil}, // Telegram bots: "123456:AA…"
	}}
})

// plausibleValue decides whether the word after a sensitive name is its value.
// After "=" and in quotes it is; after a colon or in prose ("token mismatch",
// "password: expected string") it must look random.
func plausibleValue(before, value string) bool {
	if value == Hidden || strings.HasPrefix(value, "$") {
		return false // hidden already, or a reference to the environment
	}
	if strings.HasSuffix(before, `"`) || strings.HasSuffix(before, "'") {
		return strings.ContainsAny(before, ":=")
	}
	return strings.Contains(before, "=") || random(value)
}

// random reports whether a word looks like a credential rather than language.
func random(word string) bool {
	return len(word) >= 8 && strings.ContainsAny(word, "0123456789") || len(word) >= 24
}

package client

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

var fingerprintPrefix = regexp.MustCompile(`(?i)^sha-?256:?`)

// NormalizeFingerprint reduces a SHA-256 fingerprint as people write it to 64
// lower-case hex digits; anything else is an error.
func NormalizeFingerprint(s string) (string, error) {
	s = fingerprintPrefix.ReplaceAllString(strings.TrimSpace(s), "")
	s = strings.ToLower(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F' {
			return r
		}
		return -1
	}, s))
	if len(s) != 2*sha256.Size {
		return "", errors.New("a TLS fingerprint is a SHA-256 of 64 hex digits")
	}
	return s, nil
}

// httpClient returns what opens the socket: no proxy, the caller's dialer, and
// the pinned certificate if there is one.
func httpClient(o Options) (*http.Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return nil, fmt.Errorf("gateway URL %q is not ws://host:port or wss://host:port", redactURL(o.URL))
	}
	t := &http.Transport{DialContext: o.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if o.TLSFingerprint == "" {
		return &http.Client{Transport: t}, nil
	}
	if u.Scheme != "wss" {
		return nil, errors.New("a TLS fingerprint needs a wss:// URL")
	}
	want, err := NormalizeFingerprint(o.TLSFingerprint)
	if err != nil {
		return nil, err
	}
	t.TLSClientConfig.InsecureSkipVerify = true // the pin is the proof
	t.TLSClientConfig.VerifyConnection = func(s tls.ConnectionState) error {
		sum := sha256.Sum256(s.PeerCertificates[0].Raw)
		if got := hex.EncodeToString(sum[:]); got != want {
			return fmt.Errorf("certificate fingerprint is %s, want %s", got, want)
		}
		return nil
	}
	return &http.Client{Transport: t}, nil
}

// redactURL drops credentials and query from a URL for an error message.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "…"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

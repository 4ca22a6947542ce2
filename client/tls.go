package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"openclaw/protocol"
)

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
	want, err := protocol.NormalizeFingerprint(o.TLSFingerprint)
	if err != nil {
		return nil, err
	}
	t.TLSClientConfig.InsecureSkipVerify = true // the pin is the proof
	t.TLSClientConfig.VerifyConnection = func(s tls.ConnectionState) error {
		if got := protocol.Fingerprint(s.PeerCertificates[0].Raw); got != want {
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

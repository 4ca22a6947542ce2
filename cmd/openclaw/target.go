package main

import (
	"cmp"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/internal/config"
	"openclaw/protocol"
)

// gatewayFlags are the flags of every command that talks to a gateway.
// See docs/commands/openclaw.md.
type gatewayFlags struct {
	url, token, password string
	fingerprint          string // of the certificate
	timeout              int    // milliseconds
	final                bool
	json                 bool
	protocol             int // highest version to speak, 0 for the newest; no flag
}

func (f *gatewayFlags) register(cmd *cobra.Command, timeout int) {
	f.registerTarget(cmd)
	cmd.Flags().IntVar(&f.timeout, "timeout", timeout, "milliseconds to wait for the gateway")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the answer as JSON")
}

func (f *gatewayFlags) registerTarget(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "url", "", "the gateway to talk to (ws://host:port or wss://host:port)")
	cmd.Flags().StringVar(&f.token, "token", "", "the gateway's token")
	cmd.Flags().StringVar(&f.password, "password", "", "the gateway's password")
	cmd.Flags().StringVar(&f.fingerprint, "tls-fingerprint", "", "SHA-256 of the gateway's certificate, instead of a certificate authority")
}

func (f *gatewayFlags) registerFinal(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.final, "expect-final", false, "wait for the last answer of methods that answer twice")
}

// target is a gateway to connect to and what may be shown to it.
type target struct {
	URL string
	// Source says where the URL is from, for people; Kind for programs.
	Source, Kind string
	Token        protocol.Secret
	Password     protocol.Secret
	// TokenSource says where the secret is from.
	TokenSource string
	Fingerprint string // pins the certificate
	// Note is what is odd about the choice.
	Note string
	// Explicit means that the user named this gateway: nothing stored is sent to
	// it and nothing else takes its place.
	Explicit bool
	// Stored allows the device tokens that this gateway issued before.
	Stored bool
}

// Kinds of a target.
const (
	kindExplicit = "cli"
	kindRemote   = "remote"
	kindLocal    = "local"
)

// target works out which gateway the flags and the configuration mean. CLI-005.
func (p *program) target(f gatewayFlags) (target, error) {
	if f.url != "" {
		return explicitTarget(f)
	}
	gw := p.snapshot().Config.Gateway
	if gw.Mode == "remote" && strings.TrimSpace(gw.Remote.URL) != "" {
		t := target{URL: strings.TrimSpace(gw.Remote.URL), Source: "gateway.remote.url", Kind: kindRemote, Stored: true,
			TokenSource: "gateway.remote", Fingerprint: gw.Remote.TLSFingerprint,
			Token: protocol.Secret(gw.Remote.Token.Reveal()), Password: protocol.Secret(gw.Remote.Password.Reveal())}
		t = t.override(f)
		return t, t.check()
	}
	t, err := p.localTarget()
	if gw.Mode == "remote" {
		t.Note = "gateway.mode is remote but gateway.remote.url is not set; using the gateway on this machine"
	}
	t = t.override(f)
	return t, errors.Join(err, t.check())
}

func explicitTarget(f gatewayFlags) (target, error) {
	t := target{URL: f.url, Source: "--url", Kind: kindExplicit, Explicit: true, TokenSource: "the command line",
		Token: protocol.Secret(f.token), Password: protocol.Secret(f.password)}
	if f.token == "" && f.password == "" {
		return t, cli.Fail("--url needs --token or --password: stored secrets are not sent to a gateway named on the command line",
			"add --token <the gateway's token>")
	}
	t = t.override(f)
	return t, t.check()
}

// override puts secrets and the fingerprint of the command line in the place of
// stored ones.
func (t target) override(f gatewayFlags) target {
	if f.fingerprint != "" {
		t.Fingerprint = f.fingerprint
	}
	if f.token != "" || f.password != "" {
		t.Token, t.Password = protocol.Secret(f.token), protocol.Secret(f.password)
		t.TokenSource, t.Stored = "the command line", false
	}
	return t
}

func (t target) check() error {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return cli.Fail(fmt.Sprintf("%q (from %s) is no gateway address", t.URL, t.Source), "write it as ws://host:port or wss://host:port")
	}
	if t.Fingerprint == "" {
		return nil
	}
	if u.Scheme != "wss" {
		return cli.Fail(fmt.Sprintf("a TLS fingerprint needs a wss:// address, but %s (from %s) is none", t.URL, t.Source),
			"write the address as wss://…, or turn gateway.tls on")
	}
	if _, err := protocol.NormalizeFingerprint(t.Fingerprint); err != nil {
		return cli.Hint(err, "the gateway writes it into its log as tlsSha256 when it starts")
	}
	return nil
}

// localTarget is the gateway on this machine.
func (p *program) localTarget() (target, error) {
	c := p.snapshot().Config
	port, source := c.Port(os.Getenv)
	t := target{URL: "ws://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Source: "local loopback", Kind: kindLocal}
	if source == "env" {
		t.Source += " (port from OPENCLAW_GATEWAY_PORT)"
	}
	if c.Gateway.TLS.Enabled {
		t.URL = "wss" + strings.TrimPrefix(t.URL, "ws")
		var err error
		if t.Fingerprint, err = p.localFingerprint(c.Gateway.TLS); err != nil {
			return t, err
		}
	}
	t.Token, t.TokenSource = secretOf(envSecret("TOKEN"), c.Gateway.Auth.Token.Reveal(), "TOKEN", "token")
	var from string
	t.Password, from = secretOf(envSecret("PASSWORD"), c.Gateway.Auth.Password.Reveal(), "PASSWORD", "password")
	t.TokenSource = cmp.Or(t.TokenSource, from)
	return t, nil
}

// envSecret reads OPENCLAW_GATEWAY_<name> or its old spelling.
func envSecret(name string) string {
	return strings.TrimSpace(cmp.Or(os.Getenv("OPENCLAW_GATEWAY_"+name), os.Getenv("CLAWDBOT_GATEWAY_"+name)))
}

func secretOf(env, stored, envName, key string) (protocol.Secret, string) {
	switch {
	case env != "":
		return protocol.Secret(env), "OPENCLAW_GATEWAY_" + envName
	case stored != "":
		return protocol.Secret(stored), "gateway.auth." + key
	}
	return "", ""
}

// localFingerprint pins the certificate of this machine's gateway, which is
// usually signed by nobody else.
func (p *program) localFingerprint(tls config.GatewayTLS) (string, error) {
	path := cmp.Or(tls.CertPath, p.paths.State("gateway", "tls", "gateway-cert.pem"))
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // it is made by the gateway's first start
	}
	if err != nil {
		return "", fmt.Errorf("read the gateway's certificate: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return "", fmt.Errorf("read the gateway's certificate: %s holds none", path)
	}
	return protocol.Fingerprint(block.Bytes), nil
}

// loopback reports whether the target is this very machine.
func (t target) loopback() bool {
	u, err := url.Parse(t.URL)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback() || u.Hostname() == "localhost"
}

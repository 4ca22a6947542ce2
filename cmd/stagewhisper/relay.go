package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"openclaw/byo"
	"openclaw/internal/cli"
	"openclaw/internal/disk"
	"openclaw/internal/relay"
	"openclaw/internal/relay/jetstream"
)

const (
	defaultBind = "127.0.0.1:8790"

	registerInvite = "invite"
	registerOpen   = "open"
)

// storeFlags say where a relay keeps what it carries.
type storeFlags struct {
	Data     string `json:"data,omitempty"`
	NATS     string `json:"nats,omitempty"`
	Creds    string `json:"creds,omitempty"`
	Replicas int    `json:"replicas,omitempty"`
}

func (f *storeFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.Data, "data", "", "folder of the embedded storage (default: relay in the state folder)")
	fl.StringVar(&f.NATS, "nats", "", "URL of a NATS server or cluster with JetStream, instead of the embedded storage")
	fl.StringVar(&f.Creds, "creds", "", "credentials file for --nats")
	fl.IntVar(&f.Replicas, "replicas", 0, "copies of everything stored, with --nats (default 3)")
}

// resolve fills the default folder in.
func (f *storeFlags) resolve(p *program) error {
	switch {
	case f.NATS != "" && f.Data != "":
		return cli.Fail("--data and --nats exclude each other", "--data is the embedded storage, --nats one that several relays share")
	case f.NATS == "" && (f.Creds != "" || f.Replicas != 0):
		return cli.Fail("--creds and --replicas need --nats")
	case f.NATS != "":
		return nil
	case f.Data != "":
		var err error
		if f.Data, err = filepath.Abs(f.Data); err != nil {
			return fmt.Errorf("find the data folder: %w", err)
		}
		return disk.MkdirAll(f.Data)
	}
	var err error
	f.Data, err = p.folder("relay")
	return err
}

// invites is the folder through which a running relay gets invites.
func (f *storeFlags) invites() string {
	if f.Data == "" {
		return ""
	}
	return filepath.Join(f.Data, "invites")
}

// open opens the broker.
func (f *storeFlags) open(ctx context.Context, log *slog.Logger) (*jetstream.Broker, error) {
	cfg := jetstream.Config{URL: f.NATS, Credentials: f.Creds, Replicas: f.Replicas, Log: log}
	if f.NATS == "" {
		cfg.Dir = filepath.Join(f.Data, "store")
	}
	b, err := jetstream.Open(ctx, cfg)
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("open the storage: %w", err), "one relay for each --data folder; several relays share a --nats cluster")
	}
	return b, nil
}

// relayFlags is the configuration of a relay, as --print-config prints it.
type relayFlags struct {
	Bind string `json:"bind"`
	storeFlags
	Registration   string        `json:"registration"`
	Providers      string        `json:"providers,omitempty"`
	Metrics        string        `json:"metrics,omitempty"`
	TLSCert        string        `json:"tls_cert,omitempty"`
	TLSKey         string        `json:"tls_key,omitempty"`
	TrustedProxies []string      `json:"trusted_proxies,omitempty"`
	OpenJobs       int           `json:"open_jobs"`
	JobsPerMinute  int           `json:"jobs_per_minute"`
	Drain          time.Duration `json:"-"`
	DrainText      string        `json:"drain"`

	log   logFlags
	print bool
}

// relayCommand runs the blind backend. See docs/relay.md.
func relayCommand(p *program) *cobra.Command {
	var f relayFlags
	cmd := &cobra.Command{
		Use:   "relay",
		Short: "Run the relay between desktops and assistants, which cannot read what it carries",
		Long: `Runs the relay between desktops and assistants. It has no key and stores ids, states,
times, sizes and ciphertext. By default its storage is inside the process, in one folder;
with --nats several relays share a cluster and serve the same users.

SIGTERM and Ctrl-C drain it: it takes no new streams, closes the open ones one after the
other, and ends. A second signal ends it at once.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.relay(cmd.Context(), &f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.Bind, "bind", defaultBind, "address to serve")
	f.storeFlags.register(cmd)
	fl.StringVar(&f.Registration, "registration", registerInvite, "invite: a desktop needs an invite; open: any desktop may register, on loopback only")
	fl.StringVar(&f.Providers, "providers", "", "JSON file with more kinds of assistants")
	fl.StringVar(&f.Metrics, "metrics", "", "address for Prometheus, such as 127.0.0.1:9790 (default: none)")
	fl.StringVar(&f.TLSCert, "tls-cert", "", "certificate chain, PEM")
	fl.StringVar(&f.TLSKey, "tls-key", "", "its key, PEM")
	fl.StringSliceVar(&f.TrustedProxies, "trusted-proxy", nil, "address or network of a proxy in front that speaks TLS and sets X-Forwarded-For; may be repeated")
	fl.IntVar(&f.OpenJobs, "open-jobs", byo.MaxOpenJobs, "open jobs of one pairing")
	fl.IntVar(&f.JobsPerMinute, "jobs-per-minute", byo.MaxJobsPerMinute, "new jobs of one pairing in a minute")
	fl.DurationVar(&f.Drain, "drain", 20*time.Second, "how long a shutdown may wait for streams, 0 for not at all")
	fl.BoolVar(&f.print, "print-config", false, "print the configuration in effect as JSON and exit")
	f.log.register(fl)
	cmd.AddCommand(relayInviteCommand(p))
	return cmd
}

// config checks the flags and makes the relay's configuration of them.
func (f *relayFlags) config(p *program) (cfg relay.Config, err error) {
	loopback, err := checkBind("--bind", f.Bind)
	if err != nil {
		return cfg, err
	}
	if f.Metrics != "" {
		if _, err := checkBind("--metrics", f.Metrics); err != nil {
			return cfg, err
		}
	}
	switch {
	case (f.TLSCert == "") != (f.TLSKey == ""):
		return cfg, cli.Fail("--tls-cert and --tls-key belong together")
	case !loopback && f.TLSCert == "" && len(f.TrustedProxies) == 0:
		return cfg, cli.Fail(fmt.Sprintf("--bind %s is reached from other machines, and tokens would travel in clear", f.Bind),
			"give it a certificate: --tls-cert FILE --tls-key FILE", "or name the proxy in front that speaks TLS: --trusted-proxy ADDRESS", "or stay on this machine: --bind "+defaultBind)
	case f.Registration != registerInvite && f.Registration != registerOpen:
		return cfg, cli.Fail(fmt.Sprintf("--registration %q is unknown (use invite or open)", f.Registration))
	case f.Registration == registerOpen && !loopback:
		return cfg, cli.Fail("--registration open is for a relay on this machine only", "make invites: stagewhisper relay invite")
	}
	for _, text := range f.TrustedProxies {
		prefix, err := netip.ParsePrefix(text)
		if addr, one := netip.ParseAddr(text); err != nil && one == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return cfg, cli.Fail(fmt.Sprintf("--trusted-proxy %q is neither an address nor a network", text), "want 10.0.0.7 or 10.0.0.0/24")
		}
		cfg.TrustedProxies = append(cfg.TrustedProxies, prefix)
	}
	if cfg.Registry, err = registry(f.Providers); err != nil {
		return cfg, err
	}
	if err := f.resolve(p); err != nil {
		return cfg, err
	}
	f.DrainText = f.Drain.String()
	cfg.OpenRegistration, cfg.InviteDir = f.Registration == registerOpen, f.invites()
	cfg.OpenJobs, cfg.JobsPerMinute = f.OpenJobs, f.JobsPerMinute
	return cfg, nil
}

func (p *program) relay(ctx context.Context, f *relayFlags) (err error) {
	cfg, err := f.config(p)
	if err != nil {
		return err
	}
	if f.print {
		return p.io.JSON(f)
	}
	log, closeLog, err := p.logger(f.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	n := &node{flags: f, log: log, tls: &tls.Config{MinVersion: tls.VersionTLS12}}
	if f.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
		if err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
		n.tls.Certificates = []tls.Certificate{pair}
	}
	if n.listener, err = listen("--bind", f.Bind); err != nil {
		return err
	}
	defer n.listener.Close()
	if f.Metrics != "" {
		if n.metrics, err = listen("--metrics", f.Metrics); err != nil {
			return err
		}
		defer n.metrics.Close()
	}
	broker, err := f.open(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Close()) }()
	cfg.Broker, cfg.Log = broker, log
	if n.relay, err = relay.New(cfg); err != nil {
		return err
	}
	return n.run(ctx)
}

// node is one process of a relay with its listeners.
type node struct {
	flags    *relayFlags
	relay    *relay.Relay
	listener net.Listener
	metrics  net.Listener // nil for none
	tls      *tls.Config
	log      *slog.Logger
}

// run serves until ctx ends, then drains.
func (n *node) run(ctx context.Context) error {
	counted := &countingListener{Listener: n.listener}
	server := &http.Server{Handler: n.relay.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, TLSConfig: n.tls,
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug)}
	duties, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var work errgroup.Group
	work.Go(func() error { return n.relay.Run(duties) })
	failed := make(chan error, 2) // one of each server
	work.Go(func() error {
		var err error
		if len(n.tls.Certificates) > 0 {
			err = server.ServeTLS(counted, "", "")
		} else {
			err = server.Serve(counted)
		}
		failed <- err
		return nil
	})
	numbers := &http.Server{Handler: n.relay.Metrics(), ReadHeaderTimeout: 10 * time.Second}
	if n.metrics != nil {
		work.Go(func() error { failed <- numbers.Serve(n.metrics); return nil })
	}
	n.log.Info("relay is ready", "addr", n.listener.Addr().String(), "registration", n.flags.Registration)
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	if n.flags.Drain > 0 && err == nil {
		n.log.Info("relay is draining", "up_to", n.flags.Drain.String())
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.flags.Drain)
		_ = n.relay.Drain(limit) // what is left ends with the duties
		cancel()
	}
	stop()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if shut := server.Shutdown(limit); shut != nil {
		server.Close()
	}
	numbers.Close()
	err = errors.Join(cleanEnd(err), work.Wait())
	n.log.Info("relay has stopped", "bytes_in", counted.in.Load(), "bytes_out", counted.out.Load())
	return err
}

func cleanEnd(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// countingListener counts what goes through its connections.
type countingListener struct {
	net.Listener
	in, out atomic.Int64
}

// Accept implements net.Listener.
func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: c, l: l}, nil
}

type countedConn struct {
	net.Conn
	l *countingListener
}

// Read implements net.Conn.
func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.l.in.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.l.out.Add(int64(n))
	return n, err
}

// relayInviteCommand makes an invite for a desktop.
func relayInviteCommand(p *program) *cobra.Command {
	var (
		f    storeFlags
		o    relay.InviteOptions
		ttl  string
		json bool
	)
	cmd := &cobra.Command{
		Use:   "invite",
		Short: "Make an invite, with which a desktop registers at the relay",
		Long: `Makes an invite and prints it; the relay keeps only its hash. It works while the relay
runs, and needs the same --data or --nats.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.TTL, err = cli.ParseDuration(ttl, 24*time.Hour); err != nil || o.TTL <= 0 {
				return cli.Fail(fmt.Sprintf("--ttl %q is no time", ttl), "want 12h or 7d")
			}
			if o.Uses < 1 {
				return cli.Fail("--uses must be 1 or more")
			}
			if err := f.resolve(p); err != nil {
				return err
			}
			invite, err := p.invite(cmd.Context(), &f, o)
			if err != nil {
				return err
			}
			if json {
				return p.io.JSON(map[string]any{"invite": string(invite), "uses": o.Uses, "expires_at": byo.FormatTime(p.now().Add(o.TTL))})
			}
			fmt.Fprintln(p.io.Out, string(invite))
			p.io.Say("for %d desktop(s) within %s: stagewhisper desktop pair --api-url URL --invite …", o.Uses, o.TTL)
			return nil
		},
	}
	f.register(cmd)
	cmd.Flags().IntVar(&o.Uses, "uses", 1, "how many desktops may use it")
	cmd.Flags().StringVar(&ttl, "ttl", "7d", "how long it holds")
	cmd.Flags().BoolVar(&json, "json", false, "print JSON")
	return cmd
}

func (p *program) invite(ctx context.Context, f *storeFlags, o relay.InviteOptions) (byo.Secret, error) {
	if dir := f.invites(); dir != "" {
		if err := disk.MkdirAll(dir); err != nil {
			return "", err
		}
		return relay.WriteInvite(dir, o)
	}
	b, err := f.open(ctx, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", err
	}
	invite, err := relay.NewInvite(ctx, b, o)
	return invite, errors.Join(err, b.Close())
}

// registry is the built-in list of assistants with a file's additions.
func registry(file string) (*byo.Registry, error) {
	known := byo.Builtin()
	if file == "" {
		return known, nil
	}
	data, err := disk.ReadFile(file, 1<<20)
	if err != nil {
		return nil, fmt.Errorf("read the kinds of assistants: %w", err)
	}
	if known, err = known.Merge(data); err != nil {
		return nil, cli.Hint(fmt.Errorf("read the kinds of assistants in %s: %w", file, err), "the form is that of \"stagewhisper providers --json\"")
	}
	return known, nil
}

package assistant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"openclaw/byo"
	"openclaw/internal/disk"
	"openclaw/internal/guard"
	"openclaw/internal/relayclient"
)

// lookEvery is how often a host looks for pairings that came or went.
const lookEvery = 2 * time.Second

// ErrNothing says that nothing is paired.
var ErrNothing = errors.New("nothing is paired")

// HostConfig joins a [Host] to the rest.
type HostConfig struct {
	// Dir holds a folder for each pairing, named by its integration id or [DirectName].
	Dir string
	// Agent makes what thinks for a pairing. When it has a Run method it is run as long
	// as the pairing is served, when it has a Close method it is closed after that.
	Agent func(name, dir, providerKind string) (Agent, error)
	// Serves says whether a pairing is to be served; nil serves all.
	Serves func(name string) bool
	// Listening says how the direct pairing is to listen; nil for as its code says.
	Listening func() Listening
	// Strict ends Run when a pairing that is there at the start cannot be served.
	// Otherwise it is tried again, and again.
	Strict bool

	Version, Transport string // as in ClientConfig
	HTTP               *http.Client
	Log                *slog.Logger // default: discarded
}

// Listening is how the direct pairing is reached, beyond what its code says.
type Listening struct {
	Host string // default 127.0.0.1; only addresses of this machine are taken
	Port int    // default: that of the code
	// Token replaces that of the code. With it no code is needed.
	Token byo.Secret
	// Hosts and Callbacks are those of IngressConfig.Hosts and Callbacks.Allowed.
	Hosts, Callbacks []string
}

// Host answers for all pairings kept below one folder, each with a folder, a token and
// a memory of its own. Pairings that are made or removed meanwhile come and go, so the
// commands that do so need not know whether a host runs.
type Host struct {
	cfg HostConfig
	log *slog.Logger
	wg  sync.WaitGroup

	mu      sync.Mutex
	serving map[string]*served

	look chan struct{} // holds one wish to look at once

	// Of Run's goroutine.
	complained map[string]string // by pairing, what was wrong last
	quiet      bool              // the problems of this round are returned
}

// served is a pairing that is being answered for.
type served struct {
	cancel context.CancelFunc
	done   chan struct{}
	client *Client
	direct *Listening
	addr   net.Addr // of the direct listener
}

// NewHost returns a host over cfg.
func NewHost(cfg HostConfig) *Host {
	return &Host{cfg: cfg, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), serving: map[string]*served{},
		complained: map[string]string{}, look: make(chan struct{}, 1)}
}

// Look has the host look for changes at once instead of within two seconds.
func (h *Host) Look() {
	select {
	case h.look <- struct{}{}:
	default:
	}
}

// Run serves until ctx ends. A strict host gives [ErrNothing] when there is nothing to
// serve at the start, and the first problem of the start.
func (h *Host) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer h.wg.Wait()
	defer cancel()
	h.quiet = h.cfg.Strict
	err := h.round(ctx)
	if err == nil && len(h.Served()) == 0 {
		err = ErrNothing
	}
	if err != nil && h.cfg.Strict {
		return err
	}
	h.quiet = false
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.look:
		case <-ctx.Done():
			return nil
		}
		_ = h.round(ctx) // it has complained
	}
}

// round starts what is paired and not served, and stops what is served and not paired.
func (h *Host) round(ctx context.Context) error {
	all, err := Pairings(h.cfg.Dir)
	var errs []error
	h.complain("", err)
	errs = append(errs, err)
	wanted := func(name string) bool { return h.cfg.Serves == nil || h.cfg.Serves(name) }
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if wanted(name) && !h.serves(name) {
			err := h.relay(ctx, name, all[name])
			h.complain(name, err)
			errs = append(errs, err)
		}
	}
	how, direct := h.listening()
	direct = direct && wanted(DirectName)
	h.settle(func(name string, s *served) bool {
		if name == DirectName {
			return direct && sameListening(*s.direct, how)
		}
		return all[name] != nil && wanted(name)
	})
	if direct && !h.serves(DirectName) {
		err := h.direct(ctx, how)
		h.complain(DirectName, err)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func sameListening(a, b Listening) bool {
	return a.Host == b.Host && a.Port == b.Port && a.Token == b.Token && slices.Equal(a.Hosts, b.Hosts) && slices.Equal(a.Callbacks, b.Callbacks)
}

// listening says how the direct pairing is to listen, and whether there is one.
func (h *Host) listening() (how Listening, paired bool) {
	if h.cfg.Listening != nil {
		how = h.cfg.Listening()
	}
	d, err := LoadDirect(filepath.Join(h.cfg.Dir, DirectName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.complain(DirectName, err)
	}
	if d == nil {
		d = &Direct{Port: DirectPort}
	}
	how.Host, how.Port = cmp.Or(how.Host, "127.0.0.1"), cmp.Or(how.Port, d.Port)
	return how, err == nil || how.Token != ""
}

// complain logs a problem once, until it is another one or gone.
func (h *Host) complain(name string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != h.complained[name] && text != "" && !h.quiet {
		h.log.Warn("a pairing is not served; this is tried again", "pairing", name, "err", err)
	}
	h.complained[name] = text
}

func (h *Host) serves(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.serving[name] != nil
}

// settle stops what is not kept, and forgets what has stopped.
func (h *Host) settle(keep func(name string, s *served) bool) {
	h.mu.Lock()
	all := maps.Clone(h.serving)
	h.mu.Unlock()
	for name, s := range all {
		if !keep(name, s) {
			s.cancel()
			<-s.done
		}
		select {
		case <-s.done:
			h.mu.Lock()
			delete(h.serving, name)
			h.mu.Unlock()
		default:
		}
	}
}

// start runs what serves a pairing, with what thinks for it.
func (h *Host) start(ctx context.Context, name string, s *served, agent Agent, run func(context.Context) error) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.done = make(chan struct{})
	h.mu.Lock()
	h.serving[name] = s
	h.mu.Unlock()
	h.wg.Go(func() {
		defer close(s.done)
		defer s.cancel()
		var thinking sync.WaitGroup
		if a, ok := agent.(interface{ Run(context.Context) error }); ok {
			thinking.Go(func() {
				if err := a.Run(ctx); err != nil && ctx.Err() == nil {
					h.log.Error("what thinks for a pairing has ended", "pairing", name, "err", err)
				}
			})
		}
		if err := run(ctx); err != nil && ctx.Err() == nil {
			h.log.Error("a pairing is not served any more; this is tried again", "pairing", name, "err", err)
		}
		s.cancel()
		thinking.Wait()
		if a, ok := agent.(interface{ Close() error }); ok {
			if err := a.Close(); err != nil {
				h.log.Warn("what thinks for a pairing did not end cleanly", "pairing", name, "err", err)
			}
		}
	})
}

// relay serves one pairing over a relay. Its end by the other side ends no other.
func (h *Host) relay(ctx context.Context, name string, p *Pairing) error {
	dir := filepath.Join(h.cfg.Dir, name)
	agent, err := h.cfg.Agent(name, dir, p.ProviderKind)
	if err != nil {
		return err
	}
	log := h.log.With("integration", name)
	client, err := OpenClient(ClientConfig{Dir: dir, Agent: agent, Version: h.cfg.Version, Transport: h.cfg.Transport, HTTP: h.cfg.HTTP, Log: h.log})
	if err != nil {
		return err
	}
	log.Info("answering over a relay", "relay", p.APIBaseURL)
	h.start(ctx, name, &served{client: client}, agent, func(ctx context.Context) error {
		err := client.Run(ctx)
		if errors.Is(err, relayclient.ErrRevoked) || relayclient.Gone(err) {
			log.Warn("the desktop has ended the pairing")
			return RemovePairing(dir)
		}
		return err
	})
	return nil
}

// direct serves the listener.
func (h *Host) direct(ctx context.Context, how Listening) error {
	if how.Token != "" && len(how.Token) < byo.MinToken {
		return fmt.Errorf("the listener's token is too short: want %d characters", byo.MinToken)
	}
	if ip := net.ParseIP(how.Host); !guard.LocalName(how.Host) && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("the listener's host %q is reached from other machines: want one of this machine, such as 127.0.0.1, and let the desktop tunnel", how.Host)
	}
	dir := filepath.Join(h.cfg.Dir, DirectName)
	if err := disk.MkdirAll(dir); err != nil {
		return err
	}
	lock, err := disk.Lock(ctx, filepath.Join(dir, "lock"), disk.LockOptions{Timeout: -1})
	if err != nil {
		return fmt.Errorf("the direct pairing is in use by another process: %w", err)
	}
	run, s, agent, err := h.listen(dir, how)
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	h.log.Info("answering on a listener", "addr", s.addr.String())
	h.start(ctx, DirectName, s, agent, func(ctx context.Context) error { return errors.Join(run(ctx), lock.Unlock()) })
	return nil
}

// listen opens the listener and the conversation behind it.
func (h *Host) listen(dir string, how Listening) (run func(context.Context) error, s *served, agent Agent, err error) {
	kind := ""
	if d, err := LoadDirect(dir); err == nil {
		kind = d.ProviderKind
	}
	if agent, err = h.cfg.Agent(DirectName, dir, kind); err != nil {
		return nil, nil, nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(how.Host, strconv.Itoa(how.Port)))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("open the listener: %w", err)
	}
	callbacks := Callbacks{Allowed: how.Callbacks, RemoteIngress: len(how.Hosts) > 0}.Dial(guard.Dialer{})
	talk, err := OpenTalk(TalkConfig{Path: filepath.Join(dir, talkFile), Agent: agent, Courier: callbacks.Deliver, Log: h.log})
	if err != nil {
		return nil, nil, nil, errors.Join(err, l.Close())
	}
	token := func() byo.Secret {
		if how.Token != "" {
			return how.Token
		}
		if now, err := LoadDirect(dir); err == nil {
			return now.Token
		}
		return "" // unpaired: nobody gets in
	}
	server := &http.Server{Handler: NewIngress(IngressConfig{Token: token, Talk: talk, Callbacks: callbacks, Hosts: how.Hosts, Version: h.cfg.Version, Log: h.log}),
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug)}
	return func(ctx context.Context) error {
		var serving sync.WaitGroup
		var failed error
		ctx, cancel := context.WithCancel(ctx)
		serving.Go(func() {
			defer cancel()
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed = err
			}
		})
		err := talk.Run(ctx)
		err = errors.Join(err, server.Close())
		serving.Wait()
		return errors.Join(err, failed)
	}, &served{direct: &how, addr: l.Addr()}, agent, nil
}

// Served describes a pairing that is being answered for.
type Served struct {
	Name   string
	Status string // a host status of package byo; empty for the direct pairing
	Reason string // a code when something is wrong
	Addr   string // of the direct listener
}

// Served lists what is being answered for, by name.
func (h *Host) Served() []Served {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []Served
	for _, name := range slices.Sorted(maps.Keys(h.serving)) {
		s, one := h.serving[name], Served{Name: name}
		if s.client != nil {
			one.Status, one.Reason = s.client.Status()
		} else {
			one.Addr = s.addr.String()
		}
		list = append(list, one)
	}
	return list
}

// Pairings returns the pairings over relays kept below dir, by the name of their
// folder. A folder that does not exist has none.
func Pairings(dir string) (map[string]*Pairing, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the pairings: %w", err)
	}
	found := map[string]*Pairing{}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || e.Name() == DirectName {
			continue
		}
		p, err := LoadPairing(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found[e.Name()] = p
	}
	return found, errors.Join(errs...)
}

// InUse reports whether a process answers for the pairing in dir.
func InUse(dir string) bool {
	lock, err := disk.Lock(context.Background(), filepath.Join(dir, "lock"), disk.LockOptions{Timeout: -1})
	if err != nil {
		return errors.Is(err, disk.ErrLocked)
	}
	_ = lock.Unlock() // it dies with this process anyway
	return false
}

package desktop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"openclaw/byo"
	"openclaw/byo/seal"
	"openclaw/internal/disk"
	"openclaw/internal/guard"
	"openclaw/internal/relayclient"
	"openclaw/internal/sse"
)

// Config says where a desk keeps its state, and joins it to the world.
type Config struct {
	Dir string // created when missing
	// Listen is the address of the callback listener, loopback only; empty for none,
	// and then answers are read from the assistants' event streams.
	Listen string
	// CallbackURL is advertised instead of the listener's own address.
	CallbackURL string
	SSH         string // program for tunnels, default ssh

	HTTP   func(pin string) *http.Client // for relays; default relayclient.NewHTTP
	Dialer guard.Dialer                  // for assistants' listeners
	Rand   io.Reader
	Now    func() time.Time
	Log    *slog.Logger // default: discarded
}

// Desk is the desktop's side of StageWhisper. It is safe for concurrent use.
type Desk struct {
	cfg      Config
	log      *slog.Logger
	now      func() time.Time
	config   *config
	store    *Store
	outbox   *outbox
	receiver *receiver
	hub      hub
	lock     *disk.FileLock
	listener net.Listener
	direct   *http.Client

	work sync.WaitGroup
	ctx  context.Context // of Run

	mu       sync.Mutex
	running  bool
	closing  bool
	bonds    map[string]*bond
	followed map[string]bool // relays whose stream is being read
	reading  map[string]context.CancelFunc
	pairings map[string]*pairing
	ended    []PairingStep
	jobs     map[string]chan byo.JobResult
	tests    map[string]chan byo.IntegrationTest // by integration
	calls    map[string]*Call
}

// ErrInUse says that another process has the state folder.
var ErrInUse = errors.New("another process uses this desktop's state folder")

// Open reads the state folder and takes it for this process.
func Open(cfg Config) (*Desk, error) {
	d := &Desk{cfg: cfg, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), now: cfg.Now, bonds: map[string]*bond{}, followed: map[string]bool{}, reading: map[string]context.CancelFunc{},
		pairings: map[string]*pairing{}, jobs: map[string]chan byo.JobResult{}, tests: map[string]chan byo.IntegrationTest{}, calls: map[string]*Call{}}
	if d.now == nil {
		d.now = time.Now
	}
	d.direct = directHTTP(cfg.Dialer)
	if err := disk.MkdirAll(cfg.Dir); err != nil {
		return nil, err
	}
	var err error
	if d.lock, err = disk.Lock(context.Background(), filepath.Join(cfg.Dir, "lock"), disk.LockOptions{Timeout: -1}); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrInUse, err)
	}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *Desk) open() (err error) {
	if d.config, err = openConfig(d.cfg.Dir); err != nil {
		return err
	}
	if d.store, err = OpenStore(filepath.Join(d.cfg.Dir, "sessions"), d.now); err != nil {
		return err
	}
	d.receiver = newReceiver(d.store, d.now, d.hub.tell)
	if d.outbox, err = openOutbox(filepath.Join(d.cfg.Dir, "outbox.jsonl")); err != nil {
		return err
	}
	d.outbox.lines, d.outbox.ended, d.outbox.log, d.outbox.now = d.line, d.delivered, d.log, d.now
	for _, rec := range d.config.get().Assistants {
		if rec.Topology == byo.TopologyRelay {
			if err := d.addBond(rec); err != nil {
				d.log.Error("an assistant is out of use", "assistant", rec.ID, "err", err)
			}
		}
	}
	if d.cfg.Listen != "" {
		if host, _, err := net.SplitHostPort(d.cfg.Listen); err != nil || !guard.LocalName(host) {
			return fmt.Errorf("listen %q: want 127.0.0.1:port, localhost:port or [::1]:port", d.cfg.Listen)
		}
		if d.listener, err = net.Listen("tcp", d.cfg.Listen); err != nil {
			return fmt.Errorf("open the callback listener: %w", err)
		}
	}
	return nil
}

func (d *Desk) close() error {
	var errs []error
	for _, b := range d.bonds {
		errs = append(errs, b.table.Close())
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	if d.listener != nil {
		d.listener.Close()
	}
	return errors.Join(append(errs, d.lock.Unlock())...)
}

// Run works until ctx ends.
func (d *Desk) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.mu.Lock()
	d.ctx, d.running = ctx, true
	d.mu.Unlock()
	d.work.Go(func() { _ = d.outbox.run(ctx) }) // it ends with ctx
	for _, a := range d.config.get().Relays {
		if err := d.follow(a); err != nil {
			return err
		}
	}
	for _, rec := range d.config.get().Assistants {
		d.attend(rec)
	}
	d.work.Go(func() { d.tidy(ctx) })
	var server *http.Server
	if d.listener != nil {
		server = &http.Server{Handler: &listener{token: d.CallbackToken, host: d.advertisedHost, receiver: d.receiver, log: d.log}, ReadHeaderTimeout: bodyTimeout, IdleTimeout: time.Minute,
			ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug)}
		d.work.Go(func() { _ = server.Serve(d.listener) }) // it ends with Close
	}
	<-ctx.Done()
	if server != nil {
		stop, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		_ = server.Shutdown(stop)
		cancel()
		server.Close()
	}
	d.mu.Lock()
	d.closing = true
	d.mu.Unlock()
	d.work.Wait()
	d.receiver.stop()
	return d.close()
}

// background runs f until the desk ends.
func (d *Desk) background(f func(ctx context.Context)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running || d.closing {
		return errors.New("the desktop is not running")
	}
	ctx := d.ctx
	d.work.Go(func() { f(ctx) })
	return nil
}

func (d *Desk) tidy(ctx context.Context) {
	for relayclient.Sleep(ctx, time.Minute) {
		d.mu.Lock()
		bonds := make([]*bond, 0, len(d.bonds))
		for _, b := range d.bonds {
			bonds = append(bonds, b)
		}
		d.mu.Unlock()
		for _, b := range bonds {
			b.rekey(ctx)
			if err := b.tidy(); err != nil {
				d.log.Warn("old frames stay on the disk for now", "err", err)
			}
		}
	}
}

// CallbackToken is what assistants show at the callback listener.
func (d *Desk) CallbackToken() byo.Secret { return d.config.get().CallbackToken }

// RotateCallbackToken makes a new one; the old one is refused from now on.
func (d *Desk) RotateCallbackToken() error {
	return d.config.change(func(s *settings) error {
		token, err := byo.NewToken(d.cfg.Rand, "")
		s.CallbackToken = token
		return err
	})
}

// CallbackURL is where assistants send their answers, "" without a listener.
func (d *Desk) CallbackURL() string {
	switch {
	case d.listener == nil:
		return ""
	case d.cfg.CallbackURL != "":
		return d.cfg.CallbackURL
	}
	return cmp.Or(d.config.get().CallbackURL, "http://"+d.listener.Addr().String())
}

func (d *Desk) advertisedHost() string {
	u, err := url.Parse(d.CallbackURL())
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

func (d *Desk) target() *byo.CallbackTarget {
	if u := d.CallbackURL(); u != "" {
		return &byo.CallbackTarget{URL: u, Token: d.CallbackToken()}
	}
	return nil
}

func (d *Desk) http(pin string) *http.Client {
	if d.cfg.HTTP != nil {
		return d.cfg.HTTP(pin)
	}
	return relayclient.NewHTTP(pin)
}

func (d *Desk) client(a relayAccount) *relayclient.Client {
	return &relayclient.Client{Base: a.API, Token: func() byo.Secret { return a.Token }, HTTP: d.http(a.Pin)}
}

func (d *Desk) addBond(rec record) error {
	for _, a := range d.config.get().Relays {
		if a.API != rec.URL {
			continue
		}
		b, err := openBond(d.cfg.Dir, rec, d.client(a), d.cfg.Rand, d.now, d.log)
		if err != nil {
			return err
		}
		d.mu.Lock()
		d.bonds[rec.ID] = b
		d.mu.Unlock()
		return nil
	}
	return fmt.Errorf("the account at %s is gone; pair again", rec.URL)
}

func (d *Desk) dropKeys(id string) error {
	d.mu.Lock()
	b := d.bonds[id]
	delete(d.bonds, id)
	d.mu.Unlock()
	if b == nil {
		b = &bond{rec: record{Assistant: Assistant{ID: id}}}
		var err error
		if b.table, err = disk.OpenTable(bondPath(d.cfg.Dir, id)); err != nil {
			return err
		}
	}
	return b.remove(d.cfg.Dir)
}

func (d *Desk) bond(id string) *bond {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bonds[id]
}

// line implements the outbox's question for the way to an assistant.
func (d *Desk) line(id string) (line, bool) {
	if b := d.bond(id); b != nil {
		return b, true
	}
	rec, ok := d.config.assistant(id)
	if !ok || rec.Topology != byo.TopologyDirect {
		return nil, false
	}
	return d.directLine(rec), true
}

func (d *Desk) directLine(rec record) *directLine {
	return &directLine{url: rec.URL, token: rec.Token, client: d.direct, target: d.target}
}

// Assistants lists those that are paired, with how they are.
func (d *Desk) Assistants() []Assistant {
	var list []Assistant
	for _, rec := range d.config.get().Assistants {
		a := rec.Assistant
		if b := d.bond(rec.ID); b != nil {
			b.mu.Lock()
			state := b.state
			b.mu.Unlock()
			a.State = &state
		}
		list = append(list, a)
	}
	return list
}

// Unpair ends a pairing on both sides and deletes its keys. When the relay cannot be
// reached the keys are gone all the same, and the error says so.
func (d *Desk) Unpair(ctx context.Context, id string) error {
	rec, ok := d.config.assistant(id)
	if !ok {
		return fmt.Errorf("no assistant %q is paired", id)
	}
	var err error
	if b := d.bond(id); b != nil {
		if err = b.relay.Call(ctx, http.MethodDelete, b.path(""), nil, nil); relayclient.Gone(err) {
			err = nil
		} else if err != nil {
			err = fmt.Errorf("the keys are deleted here, but the relay was not told: %w", err)
		}
	}
	d.mu.Lock()
	for key, stop := range d.reading {
		if strings.HasPrefix(key, id+"/") {
			stop()
		}
	}
	d.mu.Unlock()
	if rec.Topology == byo.TopologyRelay {
		err = errors.Join(err, d.dropKeys(id))
	}
	return errors.Join(err, d.config.remove(id))
}

// follow reads the stream of a relay.
func (d *Desk) follow(a relayAccount) error {
	d.mu.Lock()
	already := d.followed[a.API]
	d.followed[a.API] = true
	running := d.running
	d.mu.Unlock()
	if already || !running {
		return nil
	}
	client := d.client(a)
	return d.background(func(ctx context.Context) {
		err := client.Stream(ctx, relayclient.Stream{Path: "/desktop/stream", LastID: a.Cursor,
			Handle: func(ev sse.Event) error { return d.event(ctx, ev) },
			Connected: func(up bool, err error) {
				d.log.Info("stream of the relay", "relay", a.API, "connected", up, "err", err)
				if up {
					d.refresh(ctx, client)
				}
			}})
		if ctx.Err() == nil {
			d.log.Error("the relay no longer knows this desktop; pair again", "relay", a.API, "err", err)
		}
	})
}

// refresh asks a relay how its integrations are.
func (d *Desk) refresh(ctx context.Context, client *relayclient.Client) {
	var got byo.Integrations
	if err := client.Call(ctx, http.MethodGet, "/integrations", nil, &got); err != nil {
		d.log.Debug("the relay does not say how its integrations are", "err", err)
		return
	}
	for _, i := range got.Integrations {
		if b := d.bond(i.IntegrationID); b != nil {
			b.set(i.Liveness, i.Status, i.Connected)
		}
	}
}

func (b *bond) set(liveness, status string, connected bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Liveness, b.state.Status, b.state.Connected = liveness, status, connected
}

// event takes one event of a relay's stream. An error makes it come again.
func (d *Desk) event(ctx context.Context, ev sse.Event) error {
	switch byo.EventType(ev.Data) {
	case byo.EventReasoningJobResult:
		var r byo.JobResult
		if json.Unmarshal(ev.Data, &r) == nil {
			d.mu.Lock()
			if ch := d.jobs[r.JobID]; ch != nil {
				select {
				case ch <- r:
				default: // it has one
				}
			}
			d.mu.Unlock()
		}
	case byo.EventIntegrationTest:
		var t byo.IntegrationTest
		if json.Unmarshal(ev.Data, &t) == nil {
			d.mu.Lock()
			if ch := d.tests[t.IntegrationID]; ch != nil {
				select {
				case ch <- t:
				default:
				}
			}
			d.mu.Unlock()
		}
	case byo.EventIntegrationStatus:
		var s byo.IntegrationStatus
		if json.Unmarshal(ev.Data, &s) == nil {
			if b := d.bond(s.IntegrationID); b != nil {
				b.set(s.Liveness, s.Status, s.Connected)
				a := b.rec.Assistant
				a.State = &byo.Integration{IntegrationID: s.IntegrationID, Liveness: s.Liveness, Status: s.Status, Connected: s.Connected}
				d.hub.tell(Event{Kind: EventAssistant, Assistant: &a})
			}
		}
	case byo.EventBYOControl, byo.EventChatFrame:
		var f byo.Frame
		if json.Unmarshal(ev.Data, &f) == nil {
			return d.frame(ctx, &f)
		}
	case byo.EventChatMessage:
		var m byo.ChatMessage
		if json.Unmarshal(ev.Data, &m) == nil {
			return d.chatMessage(&m)
		}
	}
	return nil
}

// frame takes a sealed message of an assistant, once.
func (d *Desk) frame(ctx context.Context, f *byo.Frame) error {
	b := d.bond(f.IntegrationID)
	if b == nil || byo.CheckMeta("frame_id", f.FrameID) != nil {
		return nil
	}
	if _, known := b.table.Get("f/" + f.FrameID); known {
		return nil
	}
	var err error
	if f.EventType == byo.EventBYOControl {
		err = b.control(ctx, f)
	} else {
		var c *byo.Callback
		if c, err = b.open(f); err == nil {
			err = d.take(b.rec.ID, c)
		}
	}
	if err != nil {
		d.log.Warn("a message of an assistant was not taken", "assistant", b.rec.ID, "frame", f.FrameID, "err", err)
		if !seal.Refused(err) {
			return err
		}
	}
	return b.seen(f.FrameID)
}

func (d *Desk) take(assistant string, c *byo.Callback) error {
	if err := c.Validate(c.TaskID); err != nil {
		d.log.Warn("an assistant sent what makes no sense", "assistant", assistant, "err", err)
		return nil
	}
	_, err := d.receiver.receive(assistant, c.TaskID, c)
	return err
}

func (d *Desk) chatMessage(m *byo.ChatMessage) error {
	b := d.bond(m.IntegrationID)
	if b == nil {
		return nil
	}
	c, err := b.openChat(m)
	if err != nil {
		d.log.Warn("a reply could not be opened", "assistant", b.rec.ID, "err", err)
		return nil
	}
	if c.MessageID == "" {
		c.MessageID = m.UserMessageID + ":reply"
	}
	_, err = d.receiver.receive(b.rec.ID, m.UserMessageID, c)
	return err
}

// delivered notes what became of something said.
func (d *Desk) delivered(o *outgoing, err error) {
	session, insights := byo.SplitSession(o.In.SessionID)
	if insights {
		if err != nil {
			d.hub.tell(Event{Kind: EventBadge, Session: session, Tab: TabInsights, Text: "not_delivered"})
		}
		return
	}
	m, changed := d.store.Change(session, o.In.Payload.UserMessageID, func(m *Message, known bool) bool {
		if !known || m.Status != MessageSending {
			return false
		}
		m.Status = MessageSent
		if err != nil {
			m.Status, m.ErrorMessage = MessageFailed, err.Error()
		}
		return true
	})
	if changed == nil && m.Role == RoleUser {
		d.hub.tell(Event{Kind: EventMessage, Message: &m})
	}
}

// Say adds what the person wrote to a conversation and brings it to the assistant. It
// is on the disk when Say returns; Message.Status tells how far it got.
func (d *Desk) Say(assistantID, sessionID, text string) (Message, error) {
	if _, ok := d.config.assistant(assistantID); !ok {
		return Message{}, fmt.Errorf("no assistant %q is paired", assistantID)
	}
	if n := len([]rune(text)); n == 0 || n > byo.MaxText {
		return Message{}, fmt.Errorf("the text has %d characters: want 1 to %d", n, byo.MaxText)
	}
	if _, err := d.store.Create(Session{ID: sessionID, AssistantID: assistantID}); err != nil {
		return Message{}, err
	}
	task, err := byo.NewID(d.cfg.Rand)
	if err != nil {
		return Message{}, err
	}
	m, err := d.store.Change(sessionID, task, func(m *Message, _ bool) bool {
		m.AssistantID, m.Tab, m.Role, m.Content, m.Status, m.TaskID = assistantID, TabChat, RoleUser, text, MessageSending, task
		return true
	})
	if err != nil {
		return m, err
	}
	d.hub.tell(Event{Kind: EventMessage, Message: &m})
	d.read(assistantID, sessionID)
	err = d.send(assistantID, byo.Incoming{TaskID: task, SessionID: sessionID, Reason: byo.ReasonChatMessage, Payload: byo.IncomingPayload{Text: text, UserMessageID: task}})
	return m, err
}

func (d *Desk) send(assistantID string, in byo.Incoming) error {
	in.OccurredAt = byo.FormatTime(d.now())
	return d.outbox.put(outgoing{Assistant: assistantID, In: in, At: d.now().UTC()})
}

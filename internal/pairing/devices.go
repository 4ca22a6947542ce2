package pairing

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"openclaw/internal/disk"
	"openclaw/protocol"
)

const (
	// requestTTL is how long a pending request waits for a decision.
	requestTTL = 300 * time.Second
	// flushDelay is how long dates of use may stay unwritten.
	flushDelay = 2 * time.Second
	// maxFile bounds the files that are read.
	maxFile = 16 << 20
)

// Config is what a device store needs.
type Config struct {
	Dir string // <state>/devices
	Now func() time.Time
	Log *slog.Logger
	// MaxPending bounds the pending requests, default 32; the oldest goes first.
	MaxPending int
}

// Devices is the store of pending and paired devices. It is safe for concurrent use.
type Devices struct {
	cfg   Config
	state atomic.Pointer[state]

	// turn is held by the one call that may change things, across its writes.
	turn chan struct{}
	// wake tells Run that something waits to be written; one is enough.
	wake chan struct{}

	// Owned by the holder of turn.
	dirty bool // paired has changes that are not written yet
	// modest names the pending requests that any approver with the scopes may
	// grant because the node declared no powerful command. The files have no place
	// for it: after a restart a node request needs an admin.
	modest map[string]bool
}

// state is what the files say. It is immutable.
type state struct {
	pending             records[protocol.PendingDevice]
	paired              records[*device]
	pendingAt, pairedAt stamp // the files as last read or written
}

func (s *state) setDevice(dev *device) {
	s.paired = s.paired.clone()
	s.paired.byID[dev.DeviceID] = dev
}

func (s *state) setPending(p protocol.PendingDevice) {
	s.pending = s.pending.clone()
	s.pending.byID[p.RequestID] = p
}

func (s *state) dropPending(requestID string) {
	s.pending = s.pending.clone()
	delete(s.pending.byID, requestID)
}

// stamp tells one version of a file from another.
type stamp struct{ info os.FileInfo }

func (a stamp) same(info os.FileInfo) bool {
	if a.info == nil || info == nil {
		return a.info == nil && info == nil
	}
	return os.SameFile(a.info, info) && a.info.Size() == info.Size() && a.info.ModTime().Equal(info.ModTime())
}

// OpenDevices reads the store of cfg.Dir. A damaged paired.json is an error,
// because going on would lose every pairing; damaged pending requests are
// dropped, they are made again.
func OpenDevices(cfg Config) (*Devices, error) {
	cfg.MaxPending = cmp.Or(cfg.MaxPending, 32)
	d := &Devices{cfg: cfg, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), modest: map[string]bool{}}
	d.state.Store(&state{})
	if err := disk.MkdirAll(cfg.Dir); err != nil {
		return nil, err
	}
	if err := d.reload(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Devices) path(name string) string { return filepath.Join(d.cfg.Dir, name) }

const (
	pendingName = "pending.json"
	pairedName  = "paired.json"
)

// reload reads the files that changed since they were last seen. It belongs to
// the holder of turn.
func (d *Devices) reload() error {
	next := *d.state.Load()
	pendingInfo, pairedInfo := d.stat(pendingName), d.stat(pairedName)
	if next.pending.byID == nil || !next.pendingAt.same(pendingInfo) {
		pending, err := readRecords[protocol.PendingDevice](d.path(pendingName))
		if err != nil {
			d.cfg.Log.Warn("pending devices unreadable, dropped", "err", err)
			pending, _ = parseRecords[protocol.PendingDevice](nil)
		}
		for id, p := range pending.byID {
			p.RequestID = id
			pending.byID[id] = p
		}
		next.pending, next.pendingAt = pending, stamp{pendingInfo}
	}
	if next.paired.byID == nil || !next.pairedAt.same(pairedInfo) {
		paired, err := readRecords[*device](d.path(pairedName))
		if err != nil {
			return err
		}
		for id, dev := range paired.byID {
			dev.DeviceID = id
		}
		next.paired, next.pairedAt, d.dirty = paired, stamp{pairedInfo}, false
	}
	d.state.Store(&next)
	return nil
}

func (d *Devices) stat(name string) os.FileInfo {
	info, err := os.Stat(d.path(name))
	if err != nil {
		return nil
	}
	return info
}

func readRecords[T any](path string) (records[T], error) {
	data, err := disk.ReadFile(path, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return records[T]{}, err
	}
	r, err := parseRecords[T](data)
	if err != nil {
		return r, fmt.Errorf("read %s: %w (repair the file or move it away)", path, err)
	}
	return r, nil
}

// begin waits for the turn and returns the state as it is now, without expired
// requests, for the caller to change by its set and drop methods. The caller
// must call end.
func (d *Devices) begin(ctx context.Context) (*state, error) {
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := d.reload(); err != nil {
		d.end()
		return nil, err
	}
	s := *d.state.Load()
	oldest := d.now() - requestTTL.Milliseconds()
	for id, p := range s.pending.byID {
		if p.Ts < oldest {
			s.dropPending(id)
		}
	}
	maps.DeleteFunc(d.modest, func(id string, _ bool) bool { _, ok := s.pending.byID[id]; return !ok })
	return &s, nil
}

func (d *Devices) end() { <-d.turn }

func (d *Devices) now() int64 { return d.cfg.Now().UnixMilli() }

// savePaired makes s.paired durable and current.
func (d *Devices) savePaired(s *state) error {
	if err := write(d.path(pairedName), s.paired); err != nil {
		return err
	}
	s.pairedAt, d.dirty = stamp{d.stat(pairedName)}, false
	d.publish(s)
	return nil
}

// savePending makes s.pending durable and current.
func (d *Devices) savePending(s *state) error {
	if err := write(d.path(pendingName), s.pending); err != nil {
		return err
	}
	s.pendingAt = stamp{d.stat(pendingName)}
	d.publish(s)
	return nil
}

// publish makes s current. The caller may go on changing its own s, whose maps
// are never changed in place.
func (d *Devices) publish(s *state) {
	c := *s
	d.state.Store(&c)
}

// saveLater makes s.paired current and leaves the writing to Run.
func (d *Devices) saveLater(s *state) {
	d.publish(s)
	d.dirty = true
	select {
	case d.wake <- struct{}{}:
	default: // Run knows already
	}
}

func write[T any](path string, r records[T]) error {
	data, err := r.encode()
	if err != nil {
		return err
	}
	return disk.WriteFile(path, data, 0o600)
}

// Run writes what may wait, shortly after it changed and when ctx ends.
func (d *Devices) Run(ctx context.Context) error {
	for {
		select {
		case <-d.wake:
		case <-ctx.Done():
			return d.flush(context.WithoutCancel(ctx))
		}
		select {
		case <-time.After(flushDelay):
		case <-ctx.Done():
		}
		if err := d.flush(context.WithoutCancel(ctx)); err != nil {
			d.cfg.Log.Warn("devices not written", "err", err)
		}
	}
}

func (d *Devices) flush(ctx context.Context) error {
	s, err := d.begin(ctx)
	if err != nil {
		return err
	}
	defer d.end()
	if !d.dirty {
		return nil
	}
	return d.savePaired(s)
}

// current is the state for readers, with edits of the files by others.
func (d *Devices) current() *state {
	s := d.state.Load()
	if !s.pairedAt.same(d.stat(pairedName)) || !s.pendingAt.same(d.stat(pendingName)) {
		if _, err := d.begin(context.Background()); err != nil {
			d.cfg.Log.Warn("devices not read again", "err", err)
		} else {
			d.end()
		}
	}
	return d.state.Load()
}

// List returns all devices, the newest first, without tokens and without
// expired requests.
func (d *Devices) List() protocol.DevicePairListResult {
	s := d.current()
	out := protocol.DevicePairListResult{Pending: []protocol.PendingDevice{}, Paired: []protocol.PairedDevice{}}
	oldest := d.now() - requestTTL.Milliseconds()
	for _, p := range s.pending.byID {
		if p.Ts >= oldest {
			out.Pending = append(out.Pending, p)
		}
	}
	for _, dev := range s.paired.byID {
		out.Paired = append(out.Paired, dev.view())
	}
	slices.SortFunc(out.Pending, func(a, b protocol.PendingDevice) int {
		return cmp.Or(cmp.Compare(b.Ts, a.Ts), cmp.Compare(a.RequestID, b.RequestID))
	})
	slices.SortFunc(out.Paired, func(a, b protocol.PairedDevice) int {
		return cmp.Or(cmp.Compare(b.ApprovedAtMs, a.ApprovedAtMs), cmp.Compare(a.DeviceID, b.DeviceID))
	})
	return out
}

// Get returns a paired device.
func (d *Devices) Get(deviceID string) (protocol.PairedDevice, bool) {
	dev, ok := d.current().paired.byID[deviceID]
	if !ok {
		return protocol.PairedDevice{}, false
	}
	return dev.view(), true
}

// newToken returns a credential of 128 random bits in hex.
func newToken() protocol.Secret {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return protocol.Secret(hex.EncodeToString(b[:]))
}

// newUUID returns a random UUID.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

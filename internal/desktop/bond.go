package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"openclaw/byo"
	"openclaw/byo/seal"
	"openclaw/internal/disk"
	"openclaw/internal/relayclient"
)

const (
	keysRow   = "keys"
	framesFor = 25 * time.Hour // a frame is known by its id; the relay keeps them for a day
)

// bond is the desktop's end of one integration: what seals and opens, and what it has
// seen.
type bond struct {
	rec    record
	relay  *relayclient.Client
	duplex *seal.Duplex // nil under static_v1
	static *seal.Static // nil under duplex_v2
	table  *disk.Table
	now    func() time.Time
	log    *slog.Logger

	mu    sync.Mutex
	state byo.Integration
}

func bondPath(dir, id string) string { return filepath.Join(dir, "keys", id+".jsonl") }

// openBond reads the keys of an assistant.
func openBond(dir string, rec record, relay *relayclient.Client, random io.Reader, now func() time.Time, log *slog.Logger) (*bond, error) {
	b := &bond{rec: rec, relay: relay, now: now, log: log, state: byo.Integration{IntegrationID: rec.ID, Label: rec.Label, ProviderKind: rec.ProviderKind, Liveness: byo.LivenessOffline}}
	var err error
	if b.table, err = disk.OpenTable(bondPath(dir, rec.ID)); err != nil {
		return nil, err
	}
	if rec.BYOVersion == byo.StaticV1 {
		err = b.openStatic()
	} else {
		raw, _ := b.table.Get(keysRow)
		var state seal.State
		if err = json.Unmarshal(raw, &state); err == nil {
			b.duplex, err = seal.Restore(state, seal.Config{Rand: random, Now: now, Save: b.saveKeys})
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the keys of %s: %w; pair again", rec.Label, err), b.table.Close())
	}
	return b, nil
}

func (b *bond) openStatic() error {
	secret, err := seal.ParseSecret(b.rec.SecretKey)
	if err != nil {
		return err
	}
	peer, err := seal.NewPublicKey(b.rec.PeerKey)
	if err != nil {
		return err
	}
	b.static, err = seal.NewStatic(secret, peer, seal.Desktop)
	return err
}

func (b *bond) saveKeys(s seal.State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return b.table.Apply(disk.Change{Key: keysRow, Value: data})
}

// seen notes that a frame was taken, together with the keys that opened it.
func (b *bond) seen(id string) error {
	at, err := json.Marshal(b.now().UTC())
	if err != nil {
		return err
	}
	change := disk.Change{Key: "f/" + id, Value: at}
	if b.duplex == nil {
		return b.table.Apply(change)
	}
	return b.duplex.Checkpoint(func(s seal.State) error {
		keys, err := json.Marshal(s)
		if err != nil {
			return err
		}
		return b.table.Apply(change, disk.Change{Key: keysRow, Value: keys})
	})
}

// tidy forgets old frames.
func (b *bond) tidy() error {
	var old []disk.Change
	for key, raw := range b.table.All() {
		var at time.Time
		if strings.HasPrefix(key, "f/") && json.Unmarshal(raw, &at) == nil && b.now().Sub(at) > framesFor {
			old = append(old, disk.Change{Key: key})
		}
	}
	return b.table.Apply(old...)
}

// remove deletes the keys.
func (b *bond) remove(dir string) error {
	if b.duplex != nil {
		b.duplex.Erase()
	}
	if b.static != nil {
		b.static.Erase()
	}
	return errors.Join(b.table.Close(), os.Remove(bondPath(dir, b.rec.ID)))
}

func (b *bond) path(rest string) string { return "/integrations/" + b.rec.ID + rest }

// send implements line: the desktop's word goes sealed over the relay, under the
// task's id, so that a repeat arrives once.
func (b *bond) send(ctx context.Context, in *byo.Incoming) error {
	if b.static != nil {
		return final(b.sendStatic(ctx, in))
	}
	plain, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	env, err := b.duplex.Seal(seal.Header{ContentType: byo.ContentChatIn, CorrelationID: in.TaskID}, plain)
	if err != nil {
		return err
	}
	return final(b.relay.Call(ctx, http.MethodPost, b.path("/control"), byo.ControlFrame{FrameID: in.TaskID, Envelope: env}, nil))
}

func (b *bond) sendStatic(ctx context.Context, in *byo.Incoming) error {
	if in.Reason != byo.ReasonChatMessage {
		return fmt.Errorf("%w: under static_v1 a relay carries chat only", errRefused)
	}
	env, err := b.static.Seal(seal.Header{MessageID: in.TaskID, SessionID: in.SessionID, CorrelationID: in.TaskID, ContentType: byo.ContentTask}, []byte(in.Payload.Text))
	if err != nil {
		return err
	}
	text, err := byo.EnvelopeText(env)
	if err != nil {
		return err
	}
	return b.relay.Call(ctx, http.MethodPost, b.path("/chat/messages"), byo.ChatPost{UserMessageID: in.TaskID, SessionID: in.SessionID, Content: text}, nil)
}

// final marks the refusals after which trying again is of no use.
func final(err error) error {
	if code := relayclient.Code(err); code != "" && !byo.Retryable(code) && code != byo.CodePairingState {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return err
}

// control takes a message about keys and answers it.
func (b *bond) control(ctx context.Context, f *byo.Frame) error {
	if b.duplex == nil {
		return seal.ErrVersion
	}
	back, err := b.duplex.Control(f.Envelope)
	if err != nil || back == nil {
		return err
	}
	return b.sendFrame(ctx, *back)
}

func (b *bond) sendFrame(ctx context.Context, env byo.Envelope) error {
	id, err := byo.NewID(nil)
	if err != nil {
		return err
	}
	return b.relay.Call(ctx, http.MethodPost, b.path("/control"), byo.ControlFrame{FrameID: id, Envelope: env}, nil)
}

// rekey changes the keys when they are due.
func (b *bond) rekey(ctx context.Context) {
	if b.duplex == nil || !b.duplex.RekeyDue() {
		return
	}
	env, err := b.duplex.Offer()
	if err == nil {
		err = b.sendFrame(ctx, env)
	}
	if err != nil && ctx.Err() == nil {
		b.log.Warn("new keys could not be offered", "assistant", b.rec.ID, "err", err)
	}
}

// open opens a callback that came as a frame.
func (b *bond) open(f *byo.Frame) (*byo.Callback, error) {
	if b.duplex == nil {
		return nil, seal.ErrVersion
	}
	plain, err := b.duplex.Open(f.Envelope, seal.Binding{ContentType: byo.ContentChatOut})
	if err != nil {
		return nil, err
	}
	var c byo.Callback
	return &c, json.Unmarshal(plain, &c)
}

// openChat opens a reply of the older kind.
func (b *bond) openChat(m *byo.ChatMessage) (*byo.Callback, error) {
	c := &byo.Callback{SessionID: m.SessionID, Status: byo.StatusMessage, MessageID: m.ID, UserMessageID: m.UserMessageID, ReplyText: m.Content}
	if m.Status == byo.ReplyErrored {
		c.Status, c.ReplyText, c.ErrorCode, c.ErrorMessage = byo.StatusErrored, "", m.ErrorCode, m.ErrorMessage
		return c, nil
	}
	if b.static == nil {
		return nil, seal.ErrVersion
	}
	env, err := byo.ParseEnvelope(m.Content)
	if err != nil {
		return nil, err
	}
	plain, err := b.static.Open(env, byo.ContentTask)
	c.ReplyText = string(plain)
	return c, err
}

package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"openclaw/byo"
	"openclaw/internal/relay"
)

const (
	topicPrefix   = "sw.v1."
	controlPrefix = "sw.v1.ctl."
)

// streamNames are the streams of the sides.
var streamNames = map[relay.Side]string{relay.ToAssistant: "SW_ASSISTANT", relay.ToDesktop: "SW_DESKTOP"}

// side is one stream with the subscribers of this node.
type side struct {
	name   relay.Side
	prefix string // of its subjects
	stream jetstream.Stream
	live   jetstream.ConsumeContext

	mu   sync.Mutex
	subs map[string]map[*subscriber]struct{} // by topic id, "" for all
}

type (
	subscriber struct{ fn func(relay.Event) }
	ear        struct{ fn func(relay.Signal) }
)

// side makes sure of a stream and begins to follow it.
func (b *Broker) side(ctx context.Context, name relay.Side) (*side, error) {
	s := &side{name: name, prefix: topicPrefix + string(name) + ".", subs: map[string]map[*subscriber]struct{}{}}
	stream, err := b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamNames[name], Subjects: []string{s.prefix + "*"}, Storage: jetstream.FileStorage, Replicas: b.replicas,
		MaxAge: byo.EventsFor, MaxMsgsPerSubject: int64(name.Keep()), MaxMsgSize: 512 << 10, Discard: jetstream.DiscardOld,
		Duplicates: relay.DedupeFor, AllowMsgTTL: true, AllowDirect: b.replicas == 1,
	})
	if err != nil {
		return nil, err
	}
	s.stream = stream
	info, err := stream.Info(ctx)
	if err != nil {
		return nil, err
	}
	// From an explicit position: what is published from here on is not missed,
	// whenever the consumer begins.
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: info.State.LastSeq + 1,
	})
	if err != nil {
		return nil, err
	}
	s.live, err = consumer.Consume(s.dispatch, jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		b.log.Warn("following the topics stalled", "side", string(name), "err", err)
	}))
	if err != nil {
		return nil, err
	}
	return s, nil
}

// dispatch hands an event to those who want it.
func (s *side) dispatch(msg jetstream.Msg) {
	meta, err := msg.Metadata()
	if err != nil {
		return // no message of a stream
	}
	id := strings.TrimPrefix(msg.Subject(), s.prefix)
	ev := relay.Event{Topic: relay.Topic{Side: s.name, ID: id}, Seq: meta.Sequence.Stream, Data: msg.Data()}
	s.mu.Lock()
	var to []*subscriber
	for _, key := range []string{id, ""} {
		for sub := range s.subs[key] {
			to = append(to, sub)
		}
	}
	s.mu.Unlock()
	for _, sub := range to {
		sub.fn(ev)
	}
}

// Publish implements [relay.Bus].
func (b *Broker) Publish(ctx context.Context, m relay.Message) (uint64, error) {
	if err := b.check(); err != nil {
		return 0, err
	}
	var opts []jetstream.PublishOpt
	if m.ID != "" {
		opts = append(opts, jetstream.WithMsgID(m.ID))
	}
	if m.TTL > 0 && m.TTL < byo.EventsFor {
		opts = append(opts, jetstream.WithMsgTTL(max(m.TTL.Truncate(time.Second), time.Second)))
	}
	ack, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: b.sides[m.Topic.Side].prefix + m.Topic.ID, Data: m.Data}, opts...)
	if err != nil {
		return 0, fmt.Errorf("publish to %s: %w", m.Topic.Side, err)
	}
	return ack.Sequence, nil
}

// Subscribe implements [relay.Bus].
func (b *Broker) Subscribe(t relay.Topic, fn func(relay.Event)) func() {
	s, sub := b.sides[t.Side], &subscriber{fn}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subs[t.ID] == nil {
		s.subs[t.ID] = map[*subscriber]struct{}{}
	}
	s.subs[t.ID][sub] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.subs[t.ID], sub); len(s.subs[t.ID]) == 0 {
			delete(s.subs, t.ID)
		}
	}
}

// Replay implements [relay.Bus]. A topic is read message by message: it mostly has
// none or few, for which a consumer would be too much.
func (b *Broker) Replay(ctx context.Context, t relay.Topic, after uint64, fn func(relay.Event) error) error {
	if err := b.check(); err != nil {
		return err
	}
	s := b.sides[t.Side]
	if t.ID == "" {
		return b.replaySide(ctx, s, after, fn)
	}
	subject := s.prefix + t.ID
	if after > 0 {
		if err := s.canResume(ctx, subject, after); err != nil {
			return err
		}
	}
	for {
		msg, err := s.stream.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("replay %s: %w", t.Side, err)
		}
		if err := fn(relay.Event{Topic: t, Seq: msg.Sequence, Data: msg.Data}); err != nil {
			return err
		}
		after = msg.Sequence
	}
}

// canResume reports whether all that came after a position is there.
func (s *side) canResume(ctx context.Context, subject string, after uint64) error {
	info, err := s.stream.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return fmt.Errorf("look at %s: %w", s.name, err)
	}
	if after > info.State.LastSeq || after+1 < info.State.FirstSeq {
		return relay.ErrNoResume
	}
	if info.State.Subjects[subject] < uint64(s.name.Keep()) {
		return nil
	}
	first, err := s.stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(subject))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w", s.name, err)
	case after < first.Sequence:
		return relay.ErrNoResume
	}
	return nil
}

// replaySide reads a whole stream.
func (b *Broker) replaySide(ctx context.Context, s *side, after uint64, fn func(relay.Event) error) error {
	info, err := s.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("look at %s: %w", s.name, err)
	}
	last := info.State.LastSeq
	if after > last {
		return relay.ErrNoResume
	}
	if info.State.Msgs == 0 || after == last {
		return nil
	}
	consumer, err := s.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
	})
	if err != nil {
		return fmt.Errorf("replay %s: %w", s.name, err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("replay %s: %w", s.name, err)
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("replay %s: %w", s.name, err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("replay %s: %w", s.name, err)
		}
		topic := relay.Topic{Side: s.name, ID: strings.TrimPrefix(msg.Subject(), s.prefix)}
		if meta.Sequence.Stream <= last {
			if err := fn(relay.Event{Topic: topic, Seq: meta.Sequence.Stream, Data: msg.Data()}); err != nil {
				return err
			}
		}
		if meta.Sequence.Stream >= last || meta.NumPending == 0 {
			return nil
		}
	}
}

// Purge implements [relay.Bus].
func (b *Broker) Purge(ctx context.Context, t relay.Topic) error {
	s := b.sides[t.Side]
	if err := s.stream.Purge(ctx, jetstream.WithPurgeSubject(s.prefix+t.ID)); err != nil {
		return fmt.Errorf("purge %s: %w", t.Side, err)
	}
	return nil
}

// Tell implements [relay.Peers].
func (b *Broker) Tell(_ context.Context, s relay.Signal) error {
	if err := b.conn.Publish(controlPrefix+s.Kind+"."+s.ID, s.Data); err != nil {
		return fmt.Errorf("tell the nodes: %w", err)
	}
	return nil
}

// Listen implements [relay.Peers].
func (b *Broker) Listen(fn func(relay.Signal)) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := &ear{fn}
	b.ears[e] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.ears, e)
	}
}

// hear hands on what a node said.
func (b *Broker) hear(msg *nats.Msg) {
	kind, id, found := strings.Cut(strings.TrimPrefix(msg.Subject, controlPrefix), ".")
	if !found {
		return
	}
	b.mu.Lock()
	ears := make([]*ear, 0, len(b.ears))
	for e := range b.ears {
		ears = append(ears, e)
	}
	b.mu.Unlock()
	for _, e := range ears {
		e.fn(relay.Signal{Kind: kind, ID: id, Data: msg.Data})
	}
}

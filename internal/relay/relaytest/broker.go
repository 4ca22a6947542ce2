package relaytest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"openclaw/internal/relay"
)

// Open makes fresh brokers that share everything, one for each of two nodes, and
// closes them when the test ends. They take the time of day from now, as far as
// they look at it.
type Open func(t *testing.T, now func() time.Time) []relay.Broker

// Run runs the whole suite.
func Run(t *testing.T, open Open) {
	for name, run := range map[string]func(*testing.T, []relay.Broker){
		"Store": testStore, "StoreRace": testStoreRace, "Bus": testBus, "BusLimit": testBusLimit, "BusJoin": testBusJoin, "Peers": testPeers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, open(t, time.Now))
		})
	}
	for _, tt := range suite {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // much of it waits for a sweep
			clock := &Clock{}
			brokers := open(t, clock.Now)
			tt.run(t, newPair(t, clock, brokers))
		})
	}
}

func testStore(t *testing.T, brokers []relay.Broker) {
	ctx, a, b := t.Context(), brokers[0], brokers[1]
	if _, err := a.Get(ctx, relay.Jobs, "i.none"); !errors.Is(err, relay.ErrNotFound) {
		t.Errorf("Get of nothing = %v, want ErrNotFound", err)
	}
	rev, err := a.Put(ctx, relay.Jobs, "i.one", []byte("1"), 0)
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	if _, err := b.Put(ctx, relay.Jobs, "i.one", []byte("x"), 0); !errors.Is(err, relay.ErrConflict) {
		t.Errorf("second create = %v, want ErrConflict", err)
	}
	e, err := b.Get(ctx, relay.Jobs, "i.one")
	if err != nil || string(e.Value) != "1" || e.Revision != rev || e.Key != "i.one" {
		t.Errorf("Get = %+v, %v, want 1 at revision %d", e, err, rev)
	}
	rev2, err := b.Put(ctx, relay.Jobs, "i.one", []byte("2"), rev)
	if err != nil || rev2 <= rev {
		t.Fatalf("update = %d, %v, want a later revision", rev2, err)
	}
	if _, err := a.Put(ctx, relay.Jobs, "i.one", []byte("x"), rev); !errors.Is(err, relay.ErrConflict) {
		t.Errorf("stale update = %v, want ErrConflict", err)
	}
	if err := a.Delete(ctx, relay.Jobs, "i.one", rev); !errors.Is(err, relay.ErrConflict) {
		t.Errorf("stale delete = %v, want ErrConflict", err)
	}
	for _, key := range []string{"i.two", "ii.three"} {
		if _, err := a.Put(ctx, relay.Jobs, key, []byte(key), 0); err != nil {
			t.Fatalf("Put %s: %v", key, err)
		}
	}
	if got := keys(t, b, "i."); !slices.Equal(got, []string{"i.one", "i.two"}) {
		t.Errorf("List(i.) = %v, want i.one and i.two", got)
	}
	if err := a.Delete(ctx, relay.Jobs, "i.one", rev2); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if err := a.Delete(ctx, relay.Jobs, "i.one", rev2); !errors.Is(err, relay.ErrConflict) {
		t.Errorf("second delete of a revision = %v, want ErrConflict", err)
	}
	if err := a.Delete(ctx, relay.Jobs, "i.none", 0); err != nil {
		t.Errorf("delete of nothing = %v, want nil", err)
	}
	if _, err := b.Get(ctx, relay.Jobs, "i.one"); !errors.Is(err, relay.ErrNotFound) {
		t.Errorf("Get after Delete = %v, want ErrNotFound", err)
	}
	if got := keys(t, b, ""); !slices.Equal(got, []string{"i.two", "ii.three"}) {
		t.Errorf("List() = %v, want i.two and ii.three", got)
	}
	if _, err := b.Put(ctx, relay.Jobs, "i.one", []byte("3"), 0); err != nil {
		t.Errorf("create after delete: %v", err)
	}
	for _, c := range relay.Buckets() {
		if _, err := a.Put(ctx, c.Bucket, "k", []byte{0, 255}, 0); err != nil {
			t.Errorf("Put in %s: %v", c.Bucket, err)
		}
	}
}

func keys(t *testing.T, s relay.Store, prefix string) []string {
	t.Helper()
	list, err := s.List(t.Context(), relay.Jobs, prefix)
	if err != nil {
		t.Fatalf("List(%s): %v", prefix, err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Key)
	}
	slices.Sort(got)
	return got
}

// Of many writers at once exactly one wins each round.
func testStoreRace(t *testing.T, brokers []relay.Broker) {
	ctx := t.Context()
	for round := range 5 {
		key := "r." + strconv.Itoa(round)
		var mu sync.Mutex
		var wg sync.WaitGroup
		wins := 0
		for i := range 8 {
			wg.Go(func() {
				_, err := brokers[i%2].Put(ctx, relay.Jobs, key, []byte{byte(i)}, 0)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					wins++
				} else if !errors.Is(err, relay.ErrConflict) {
					t.Errorf("Put: %v, want ErrConflict", err)
				}
			})
		}
		wg.Wait()
		if wins != 1 {
			t.Errorf("%d writers created %s, want 1", wins, key)
		}
	}
}

// inbox collects events.
type inbox chan relay.Event

func (in inbox) add(ev relay.Event) { in <- ev }

func (in inbox) next(t *testing.T) relay.Event {
	t.Helper()
	select {
	case ev := <-in:
		return ev
	case <-time.After(Wait):
		t.Fatal("no event came")
	}
	return relay.Event{}
}

func publish(t *testing.T, b relay.Bus, m relay.Message) uint64 {
	t.Helper()
	seq, err := b.Publish(t.Context(), m)
	if err != nil {
		t.Fatalf("Publish: %v", err)
	}
	return seq
}

func replay(t *testing.T, b relay.Bus, topic relay.Topic, after uint64) []string {
	t.Helper()
	var got []string
	err := b.Replay(t.Context(), topic, after, func(ev relay.Event) error {
		got = append(got, string(ev.Data))
		return nil
	})
	if err != nil {
		t.Fatalf("Replay(%d): %v", after, err)
	}
	return got
}

func testBus(t *testing.T, brokers []relay.Broker) {
	a, b := brokers[0], brokers[1]
	one, other := relay.Topic{Side: relay.ToAssistant, ID: "one"}, relay.Topic{Side: relay.ToAssistant, ID: "other"}
	mine, all := make(inbox, 64), make(inbox, 64)
	defer b.Subscribe(one, mine.add)()
	defer b.Subscribe(relay.Topic{Side: relay.ToAssistant}, all.add)()
	if got := replay(t, b, one, 0); got != nil {
		t.Errorf("Replay of nothing = %v", got)
	}
	first := publish(t, a, relay.Message{Topic: one, ID: "x:1", Data: []byte("1")})
	publish(t, a, relay.Message{Topic: other, Data: []byte("o")})
	publish(t, a, relay.Message{Topic: relay.Topic{Side: relay.ToDesktop, ID: "one"}, Data: []byte("d")})
	if again := publish(t, b, relay.Message{Topic: one, ID: "x:1", Data: []byte("again")}); again != first {
		t.Errorf("repeat = %d, want %d", again, first)
	}
	last := publish(t, b, relay.Message{Topic: one, ID: "x:2", Data: []byte("2"), TTL: time.Minute})
	for _, want := range []string{"1", "2"} {
		if ev := mine.next(t); string(ev.Data) != want || ev.Topic != one {
			t.Errorf("event = %+v, want %s of %v", ev, want, one)
		}
	}
	for _, want := range []string{"1", "o", "2"} {
		if ev := all.next(t); string(ev.Data) != want {
			t.Errorf("event of the side = %s, want %s", ev.Data, want)
		}
	}
	if got := replay(t, b, one, 0); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("Replay(0) = %v, want 1 and 2", got)
	}
	if got := replay(t, b, one, first); !slices.Equal(got, []string{"2"}) {
		t.Errorf("Replay(first) = %v, want 2", got)
	}
	if got := replay(t, a, one, last); got != nil {
		t.Errorf("Replay(last) = %v, want nothing", got)
	}
	if got := replay(t, a, relay.Topic{Side: relay.ToAssistant}, 0); !slices.Equal(got, []string{"1", "o", "2"}) {
		t.Errorf("Replay of the side = %v, want 1, o and 2", got)
	}
	none := func(relay.Event) error { return nil }
	if err := a.Replay(t.Context(), one, last+1000, none); !errors.Is(err, relay.ErrNoResume) {
		t.Errorf("Replay ahead of the newest = %v, want ErrNoResume", err)
	}
	stop := errors.New("stop")
	if err := a.Replay(t.Context(), one, 0, func(relay.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("Replay = %v, want fn's error", err)
	}
	if err := a.Purge(t.Context(), one); err != nil {
		t.Fatalf("Purge: %v", err)
	}
	if got := replay(t, b, one, 0); got != nil {
		t.Errorf("Replay after Purge = %v, want nothing", got)
	}
	if got := replay(t, b, other, 0); !slices.Equal(got, []string{"o"}) {
		t.Errorf("Replay of the other topic = %v, want o", got)
	}
}

// A topic keeps the newest events, and says so when older ones are asked for.
func testBusLimit(t *testing.T, brokers []relay.Broker) {
	topic := relay.Topic{Side: relay.ToAssistant, ID: "full"}
	keep := relay.ToAssistant.Keep()
	var first uint64
	for i := range keep + 10 {
		seq := publish(t, brokers[0], relay.Message{Topic: topic, Data: []byte(strconv.Itoa(i))})
		if i == 0 {
			first = seq
		}
	}
	got := replay(t, brokers[1], topic, 0)
	if len(got) != keep || got[0] != "10" || got[keep-1] != strconv.Itoa(keep+9) {
		t.Errorf("Replay = %d events from %s, want %d from 10", len(got), got[0], keep)
	}
	err := brokers[1].Replay(t.Context(), topic, first, func(relay.Event) error { return nil })
	if !errors.Is(err, relay.ErrNoResume) {
		t.Errorf("Replay of what is gone = %v, want ErrNoResume", err)
	}
}

// Whoever subscribes first and replays then misses nothing, while others publish.
func testBusJoin(t *testing.T, brokers []relay.Broker) {
	topic := relay.Topic{Side: relay.ToDesktop, ID: "join"}
	const n = 300
	var wg sync.WaitGroup
	defer wg.Wait()
	half := make(chan struct{})
	wg.Go(func() {
		for i := range n {
			if i == n/3 {
				close(half)
			}
			if _, err := brokers[0].Publish(context.Background(), relay.Message{Topic: topic, Data: []byte(strconv.Itoa(i))}); err != nil {
				t.Errorf("Publish: %v", err)
			}
		}
	})
	<-half
	live := make(inbox, 2*n)
	defer brokers[1].Subscribe(topic, live.add)()
	var got []string
	last := uint64(0)
	take := func(ev relay.Event) error {
		if ev.Seq > last {
			got, last = append(got, string(ev.Data)), ev.Seq
		}
		return nil
	}
	if err := brokers[1].Replay(t.Context(), topic, 0, take); err != nil {
		t.Fatalf("Replay: %v", err)
	}
	for len(got) < n {
		_ = take(live.next(t))
	}
	for i, s := range got {
		if s != strconv.Itoa(i) {
			t.Fatalf("event %d = %s, want all in order", i, s)
		}
	}
}

func testPeers(t *testing.T, brokers []relay.Broker) {
	got := make(chan relay.Signal, 16)
	for _, b := range brokers {
		defer b.Listen(func(s relay.Signal) { got <- s })()
	}
	want := relay.Signal{Kind: "stream", ID: "an-id", Data: []byte(`{"a":1}`)}
	if err := brokers[0].Tell(t.Context(), want); err != nil {
		t.Fatalf("Tell: %v", err)
	}
	for range brokers {
		select {
		case s := <-got:
			if s.Kind != want.Kind || s.ID != want.ID || string(s.Data) != string(want.Data) {
				t.Errorf("signal = %+v, want %+v", s, want)
			}
		case <-time.After(Wait):
			t.Fatal("a node did not hear the signal")
		}
	}
}

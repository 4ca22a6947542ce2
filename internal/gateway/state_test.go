package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/protocol"
)

// GW-046.
func TestFailureLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l failureLimiter
		a, b := netip.MustParseAddr("203.0.113.9"), netip.MustParseAddr("203.0.113.10")
		for i := range authFailures {
			if wait := l.locked(a); wait != 0 {
				t.Fatalf("locked after %d failures = %v, want 0", i, wait)
			}
			l.fail(a)
			time.Sleep(time.Second)
		}
		if wait := l.locked(a); wait <= 298*time.Second || wait > authLockout {
			t.Errorf("locked after %d failures = %v, want about %v", authFailures, wait, authLockout)
		}
		if wait := l.locked(b); wait != 0 {
			t.Errorf("locked(other address) = %v, want 0", wait)
		}
		time.Sleep(authLockout)
		if wait := l.locked(a); wait != 0 {
			t.Errorf("locked after the lockout = %v, want 0", wait)
		}
		// Failures that are spread out never lock.
		for range 5 * authFailures {
			l.fail(b)
			time.Sleep(authWindow/(authFailures-1) + time.Millisecond)
		}
		if wait := l.locked(b); wait != 0 {
			t.Errorf("locked(slow address) = %v, want 0", wait)
		}
	})
}

// A flood of addresses neither grows the table nor frees a locked address.
func TestFailureLimiterIsBounded(t *testing.T) {
	var l failureLimiter
	bad := netip.MustParseAddr("203.0.113.9")
	for range authFailures {
		l.fail(bad)
	}
	a := netip.MustParseAddr("10.0.0.0")
	for range authMaxTracked + 50 {
		a = a.Next()
		l.fail(a)
	}
	if n := len(l.byAddr); n > authMaxTracked {
		t.Errorf("table holds %d addresses, want at most %d", n, authMaxTracked)
	}
	if l.locked(bad) == 0 {
		t.Error("locked address was freed by a flood of others")
	}
}

func TestAddrCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c addrCounter
		ctx := context.Background()
		a := netip.MustParseAddr("203.0.113.9")
		for range 2 {
			if !c.take(ctx, a, 2, time.Second) {
				t.Fatal("take below the limit = false, want true")
			}
		}
		start := time.Now()
		if c.take(ctx, a, 2, time.Second) || time.Since(start) != time.Second {
			t.Errorf("take above the limit succeeded or took %v, want false after 1s", time.Since(start))
		}
		time.AfterFunc(time.Second/2, func() { c.give(a) })
		if !c.take(ctx, a, 2, time.Second) {
			t.Error("take while a place becomes free = false, want true")
		}
		c.give(a)
		c.give(a)
		if len(c.byAddr) != 0 {
			t.Errorf("table holds %d addresses after all left, want 0", len(c.byAddr))
		}
	})
}

// GW-127.
func TestDedupe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d dedupe
		e, hit := d.begin("k")
		if hit {
			t.Fatal("begin(new key) = hit")
		}
		again, hit := d.begin("k")
		if !hit || again != e {
			t.Fatal("begin(running key) is no hit on the same entry")
		}
		d.settle(e, answer{payload: []byte(`"accepted"`)}, false)
		<-again.known
		time.Sleep(2 * dedupeTTL)
		d.sweep()
		if got, ok := d.stored(again); !ok || string(got.payload) != `"accepted"` {
			t.Errorf("stored(running) = %s, %v, want the first answer however long it runs", got.payload, ok)
		}
		d.settle(e, answer{payload: []byte(`"done"`)}, true)
		time.Sleep(dedupeTTL - time.Second)
		if e, hit := d.begin("k"); !hit {
			t.Error("begin before the TTL is over = new entry, want a hit")
		} else if got, _ := d.stored(e); string(got.payload) != `"done"` {
			t.Errorf("stored(finished) = %s, want the last answer", got.payload)
		}
		time.Sleep(2 * time.Second)
		if _, hit := d.begin("k"); hit {
			t.Error("begin after the TTL = hit, want a new entry")
		}
	})
}

func TestDedupeWithdraw(t *testing.T) {
	var d dedupe
	e, _ := d.begin("k")
	waiting, _ := d.begin("k")
	d.withdraw(e)
	<-waiting.known
	if _, ok := d.stored(waiting); ok {
		t.Error("stored(withdrawn) = true, want false")
	}
	if _, hit := d.begin("k"); hit {
		t.Error("begin after withdraw = hit, want a new entry")
	}
}

// GW-127: never more than the bound, the oldest finished one goes first.
func TestDedupeIsBounded(t *testing.T) {
	var d dedupe
	running, _ := d.begin("running")
	for i := range 2 * dedupeMax {
		e, _ := d.begin(fmt.Sprint(i))
		d.settle(e, answer{payload: []byte(`1`)}, true)
		if n := d.len(); n > dedupeMax {
			t.Fatalf("cache holds %d entries, want at most %d", n, dedupeMax)
		}
	}
	if e, hit := d.begin("running"); !hit || e != running {
		t.Error("a running request was pushed out by finished ones")
	}
	if _, hit := d.begin("0"); hit {
		t.Error("the oldest finished entry is still there")
	}
	if _, hit := d.begin(fmt.Sprint(2*dedupeMax - 1)); !hit {
		t.Error("the newest finished entry is gone")
	}
}

// presentList decodes the list.
func presentList(t *testing.T, p *presence) ([]protocol.PresenceEntry, int64) {
	t.Helper()
	data, version := p.list()
	var list []protocol.PresenceEntry
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatalf("list = %s: %v", data, err)
	}
	return list, version
}

// GW-083.
func TestPresence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresence(func() protocol.PresenceEntry {
			return protocol.PresenceEntry{Host: "gw", Mode: "gateway", Reason: "self"}
		})
		key := presenceKey("  Device-A ")
		p.connect(key, protocol.PresenceEntry{Host: "cli", Mode: "ui", Roles: []string{"operator"}, Scopes: []string{"operator.read"}, Reason: "connect"})
		time.Sleep(time.Second)
		p.connect(presenceKey("device-a"), protocol.PresenceEntry{Version: "2", Roles: []string{"node", ""}, Scopes: []string{"operator.read", "operator.write"}, Reason: "connect"})
		list, version := presentList(t, p)
		now := time.Now().UnixMilli()
		want := []protocol.PresenceEntry{
			{Host: "gw", Mode: "gateway", Reason: "self", Ts: now},
			{Host: "cli", Mode: "ui", Version: "2", Text: "Node: cli · mode ui", Reason: "connect", Ts: now,
				Roles: []string{"operator", "node"}, Scopes: []string{"operator.read", "operator.write"}},
		}
		if diff := cmp.Diff(want, list); diff != "" || version != 3 {
			t.Errorf("list = version %d, want 3; (-want +got):\n%s", version, diff)
		}
		// Still connected, so it does not expire; one of two leaves, nothing changes.
		time.Sleep(2 * presenceTTL)
		if p.disconnect(key) {
			t.Error("disconnect(one of two) = true, want false")
		}
		if list, _ := presentList(t, p); len(list) != 2 {
			t.Errorf("list holds %d entries while connected, want 2", len(list))
		}
		if !p.disconnect(key) || p.current() != 4 {
			t.Errorf("disconnect(last) did not raise the version to 4, it is %d", p.current())
		}
		if list, _ := presentList(t, p); list[1].Reason != "disconnect" {
			t.Errorf("reason after disconnect = %q, want disconnect", list[1].Reason)
		}
		time.Sleep(presenceTTL + time.Second)
		if list, _ := presentList(t, p); len(list) != 1 {
			t.Errorf("list holds %d entries after the TTL, want only the gateway", len(list))
		}
	})
}

// GW-083: never more than 200, the oldest goes first.
func TestPresenceIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPresence(func() protocol.PresenceEntry { return protocol.PresenceEntry{Host: "gw"} })
		for i := range presenceMax + 10 {
			p.connect(fmt.Sprint(i), protocol.PresenceEntry{Host: fmt.Sprint(i)})
			time.Sleep(time.Millisecond)
		}
		list, _ := presentList(t, p)
		if len(list) != presenceMax+1 {
			t.Fatalf("list holds %d entries, want %d and the gateway", len(list), presenceMax)
		}
		if !slices.IsSortedFunc(list, func(a, b protocol.PresenceEntry) int { return int(b.Ts - a.Ts) }) {
			t.Error("list is not sorted, newest first")
		}
		if last := list[len(list)-1].Host; last != "10" {
			t.Errorf("oldest entry = %s, want 10", last)
		}
	})
}

// GW-082: the bound, the drop and the gap in seq.
func TestOutboxSlowConsumer(t *testing.T) {
	o := newOutbox(200)
	drop := &event{head: make([]byte, 90), droppable: true}
	keep := &event{head: make([]byte, 90)}
	for range 2 { // fills it beyond the limit
		if !o.broadcast(drop, 3) {
			t.Fatal("broadcast below the limit = false")
		}
	}
	for range 3 {
		if !o.broadcast(drop, 3) {
			t.Fatal("broadcast of a droppable event = false, want it dropped quietly")
		}
	}
	batch, bye := o.take(nil)
	if len(batch) != 2 || bye != nil || o.dropped != 3 {
		t.Fatalf("take = %d frames, farewell %v, dropped %d, want 2, none, 3", len(batch), bye, o.dropped)
	}
	// What is being written still counts.
	if o.broadcast(drop, 3); o.dropped != 4 {
		t.Errorf("dropped = %d while a batch is being written, want 4", o.dropped)
	}
	o.written(batch[0].size() + batch[1].size())
	if !o.broadcast(keep, 3) {
		t.Fatal("broadcast after the queue was written = false")
	}
	batch, _ = o.take(nil)
	if len(batch) != 1 || batch[0].seq != 7 {
		t.Fatalf("frame after 4 drops = %+v, want seq 7", batch)
	}
	o.written(batch[0].size())
	for range 2 {
		o.broadcast(keep, 3)
	}
	if o.broadcast(keep, 3) {
		t.Fatal("broadcast of a must-arrive event to a full outbox = true, want false")
	}
	batch, bye = o.take(nil)
	if len(batch) != 0 || bye == nil || bye.code != protocol.ClosePolicy || bye.reason != protocol.ReasonSlowConsumer {
		t.Errorf("after the overflow: %d frames, farewell %+v, want none and 1008 slow consumer", len(batch), bye)
	}
	if !o.broadcast(keep, 3) {
		t.Error("broadcast to a closing outbox = false, want it ignored")
	}
}

func TestEventForms(t *testing.T) {
	e := &event{head: []byte(`{"a":1`), head4: []byte(`{"a":1,"b":2`), tail: stateTail(protocol.StateVersion{Presence: 4, Health: 5})}
	for version, want := range map[int]string{
		3: `{"a":1,"seq":9,"stateVersion":{"presence":4,"health":5}}`,
		4: `{"a":1,"b":2,"seq":9,"stateVersion":{"presence":4,"health":5}}`,
	} {
		if got := string(spliceSeq(nil, frame{data: e.headFor(version), tail: e.tail, seq: 9})); got != want {
			t.Errorf("frame for protocol %d = %s, want %s", version, got, want)
		}
	}
}

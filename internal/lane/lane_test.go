package lane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hold occupies one slot of a lane until the returned function is called.
func hold(t *testing.T, l *Lanes, name string) (release func()) {
	t.Helper()
	p := l.Queue(name)
	if err := p.Wait(t.Context()); err != nil {
		t.Fatalf("Wait(%q) = %v, want a free slot", name, err)
	}
	return p.Leave
}

// RT-050: limits 4/8/1/1, one for sessions and for any other name.
func TestRT050DefaultLimits(t *testing.T) {
	l := New(Config{Limits: map[string]int{"wide": 3, "broken": -2}})
	want := map[string]int{Main: 4, Subagent: 8, Cron: 1, Nested: 1, "other": 1,
		"wide": 3, "broken": 1, Session("agent:main:main"): 1}
	for name, n := range want {
		if got := l.Stat(name).Limit; got != n {
			t.Errorf("Stat(%q).Limit = %d, want %d", name, got, n)
		}
	}
	if got := len(l.Stats()); got != 0 {
		t.Errorf("len(Stats()) = %d, want 0: asking must not make a lane", got)
	}
}

// RT-050: never more holders than the limit, whoever comes.
func TestRT050Limit(t *testing.T) {
	for _, name := range []string{Main, Subagent, Cron, Nested, "other", Session("k")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := New(Config{})
				limit := l.Stat(name).Limit
				var now, peak atomic.Int32
				var wg sync.WaitGroup
				start := time.Now()
				for range 3 * limit {
					wg.Go(func() {
						err := l.Do(t.Context(), name, func(context.Context) error {
							if n := now.Add(1); n > peak.Load() {
								peak.Store(n)
							}
							time.Sleep(time.Minute)
							now.Add(-1)
							return nil
						})
						if err != nil {
							t.Errorf("Do = %v, want nil", err)
						}
					})
				}
				wg.Wait()
				if got := int(peak.Load()); got != limit {
					t.Errorf("peak of holders = %d, want %d", got, limit)
				}
				if got, want := time.Since(start), 3*time.Minute; got != want {
					t.Errorf("three batches took %v, want %v", got, want)
				}
			})
		})
	}
}

// RT-050: the order of Queue is the order of execution, whatever the scheduler does.
func TestRT050FIFO(t *testing.T) {
	l := New(Config{})
	release := hold(t, l, "session:k")
	const n = 200
	places := make([]*Place, n)
	for i := range places {
		places[i] = l.Queue("session:k")
	}
	var wg sync.WaitGroup
	var order []int // guarded by the lane: it admits one
	for i := n - 1; i >= 0; i-- {
		wg.Go(func() {
			if err := places[i].Do(t.Context(), func(context.Context) error {
				order = append(order, i)
				return nil
			}); err != nil {
				t.Errorf("Do %d = %v, want nil", i, err)
			}
		})
	}
	release()
	wg.Wait()
	for i, got := range order {
		if got != i {
			t.Fatalf("order[%d] = %d, want first in, first out", i, got)
		}
	}
	if got := len(l.Stats()); got != 0 {
		t.Errorf("len(Stats()) = %d after all left, want 0", got)
	}
}

// RT-050: sessions do not wait for each other, only for the global lane.
func TestRT050SessionThenGlobal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Limits: map[string]int{Main: 2}})
		var wg sync.WaitGroup
		var mu sync.Mutex
		ended := map[string]time.Duration{}
		start := time.Now()
		for _, key := range []string{"a", "a", "b", "c"} {
			place := l.Queue(Session(key))
			wg.Go(func() {
				_ = place.Do(t.Context(), func(ctx context.Context) error {
					return l.Do(ctx, Main, func(context.Context) error {
						time.Sleep(time.Second)
						mu.Lock()
						ended[key] = time.Since(start)
						mu.Unlock()
						return nil
					})
				})
			})
			synctest.Wait()
		}
		wg.Wait()
		// a and b share the two slots, then c and the second a.
		want := map[string]time.Duration{"a": 2 * time.Second, "b": time.Second, "c": 2 * time.Second}
		if diff := cmp.Diff(want, ended); diff != "" {
			t.Errorf("end times (-want +got):\n%s", diff)
		}
	})
}

// RT-050: limits change on reload.
func TestRT050SetLimits(t *testing.T) {
	l := New(Config{Limits: map[string]int{Main: 1}})
	release := hold(t, l, Main)
	second, third := l.Queue(Main), l.Queue(Main)

	l.SetLimits(map[string]int{Main: 2})
	if diff := cmp.Diff(Stat{Name: Main, Limit: 2, Held: 2, Waiting: 1}, l.Stat(Main)); diff != "" {
		t.Errorf("Stat after raising (-want +got):\n%s", diff)
	}
	if err := second.Wait(t.Context()); err != nil {
		t.Fatalf("Wait of the second place = %v, want admitted", err)
	}

	l.SetLimits(map[string]int{Main: 0})
	second.Leave()
	if diff := cmp.Diff(Stat{Name: Main, Limit: 1, Held: 1, Waiting: 1}, l.Stat(Main)); diff != "" {
		t.Errorf("Stat after lowering (-want +got):\n%s", diff)
	}
	release()
	if err := third.Wait(t.Context()); err != nil {
		t.Fatalf("Wait of the third place = %v, want admitted", err)
	}
	third.Leave()
}

func TestCancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{})
		release := hold(t, l, "x")
		reason := errors.New("stopped by the user")
		ctx, cancel := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			err := l.Do(ctx, "x", func(context.Context) error {
				t.Error("a cancelled place was executed")
				return nil
			})
			if !errors.Is(err, reason) {
				t.Errorf("Do = %v, want the cause %v", err, reason)
			}
		})
		synctest.Wait()
		last := l.Queue("x")
		cancel(reason)
		wg.Wait()
		if diff := cmp.Diff(Stat{Name: "x", Limit: 1, Held: 1, Waiting: 1}, l.Stat("x")); diff != "" {
			t.Errorf("Stat after cancel (-want +got):\n%s", diff)
		}
		release()
		if err := last.Wait(t.Context()); err != nil {
			t.Errorf("Wait behind a cancelled place = %v, want nil", err)
		}
		last.Leave()
		last.Leave() // harmless
		if err := l.Do(ctx, "x", func(context.Context) error { return nil }); !errors.Is(err, reason) {
			t.Errorf("Do with an ended context = %v, want %v", err, reason)
		}
		if got := len(l.Stats()); got != 0 {
			t.Errorf("len(Stats()) = %d, want 0", got)
		}
	})
}

// A place that is admitted and given up at the same moment must pass its slot on.
func TestCancelRacesAdmission(t *testing.T) {
	l := New(Config{})
	for range 500 {
		release := hold(t, l, "x")
		ctx, cancel := context.WithCancel(t.Context())
		a, b := l.Queue("x"), l.Queue("x")
		var wg sync.WaitGroup
		wg.Go(release)
		wg.Go(cancel)
		wg.Go(func() { _ = a.Do(ctx, func(context.Context) error { return nil }) })
		wg.Go(func() {
			if err := b.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
				t.Errorf("Do = %v, want nil", err)
			}
		})
		wg.Wait()
	}
	if got := len(l.Stats()); got != 0 {
		t.Errorf("len(Stats()) = %d, want 0: a slot was lost", got)
	}
}

func TestClearRejectsWaitersOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{})
		release := hold(t, l, "session:k")
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := l.Do(t.Context(), "session:k", nil); !errors.Is(err, ErrCleared) {
					t.Errorf("Do = %v, want %v", err, ErrCleared)
				}
			})
		}
		synctest.Wait()
		if got := l.Clear("session:k"); got != 3 {
			t.Errorf("Clear = %d, want 3", got)
		}
		wg.Wait()
		if got := l.Stat("session:k").Held; got != 1 {
			t.Errorf("Held after Clear = %d, want 1", got)
		}
		if got := l.Clear("nobody"); got != 0 {
			t.Errorf("Clear of an unused lane = %d, want 0", got)
		}
		release()
		hold(t, l, "session:k")()
	})
}

// A wait of more than 2 s is told once, with lane, wait and depth.
func TestWaitNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []Wait
		l := New(Config{OnWait: func(w Wait) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, w)
		}})
		release := hold(t, l, Cron)
		var wg sync.WaitGroup
		enter := func() {
			p := l.Queue(Cron)
			wg.Go(func() { _ = p.Do(t.Context(), func(context.Context) error { return nil }) })
		}
		enter()
		time.Sleep(time.Second)
		enter()
		time.Sleep(1500 * time.Millisecond) // the first waited 2.5 s, the second 1.5 s
		release()
		wg.Wait()
		want := []Wait{{Lane: Cron, Waited: 2 * time.Second, Depth: 2}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("notices (-want +got):\n%s", diff)
		}
	})
}

func TestPanicGivesSlotBack(t *testing.T) {
	l := New(Config{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of fn was swallowed")
			}
		}()
		_ = l.Do(t.Context(), "x", func(context.Context) error { panic("boom") })
	}()
	if got := l.Stat("x").Held; got != 0 {
		t.Errorf("Held after a panic = %d, want 0", got)
	}
}

func TestManySessionsUnderLoad(t *testing.T) {
	l := New(Config{})
	var inside [8]atomic.Int32
	var wg sync.WaitGroup
	var done atomic.Int32
	for w := range 32 {
		wg.Go(func() {
			for i := range 200 {
				k := (w + i) % len(inside)
				_ = l.Do(t.Context(), Session(fmt.Sprint(k)), func(ctx context.Context) error {
					return l.Do(ctx, Main, func(context.Context) error {
						if inside[k].Add(1) != 1 {
							t.Error("two holders inside one session lane")
						}
						if held := l.Stat(Main).Held; held > 4 {
							t.Errorf("main holds %d, want at most 4", held)
						}
						inside[k].Add(-1)
						done.Add(1)
						return nil
					})
				})
			}
		})
	}
	wg.Wait()
	if got := done.Load(); got != 32*200 {
		t.Errorf("executed %d, want %d", got, 32*200)
	}
	if got := len(l.Stats()); got != 0 {
		t.Errorf("len(Stats()) = %d, want 0", got)
	}
}

func BenchmarkDo(b *testing.B) {
	l := New(Config{})
	ctx := b.Context()
	nothing := func(context.Context) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		_ = l.Do(ctx, "session:agent:main:main", nothing)
	}
}

// BenchmarkRun is what one run pays: its session lane and the main lane.
func BenchmarkRun(b *testing.B) {
	l := New(Config{})
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_ = l.Do(ctx, Session("agent:main:main"), func(ctx context.Context) error {
			return l.Do(ctx, Main, func(context.Context) error { return nil })
		})
	}
}

func BenchmarkContended(b *testing.B) {
	l := New(Config{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_ = l.Do(b.Context(), "x", func(context.Context) error { return nil })
		}
	})
}

package ledger

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// What a run pays: its acceptance with a sync, its end and its response.
func BenchmarkRun(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			l := open(b, b.TempDir(), nil)
			var n atomic.Int64
			b.SetParallelism(callers)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					one(b, l, n.Add(1))
				}
			})
		})
	}
}

// The same with a long history: the ledger is as full as it gets.
func BenchmarkRunWithHistory(b *testing.B) {
	l := open(b, b.TempDir(), nil)
	for i := range maxRemembered + 1000 {
		e := l.New(ask(fmt.Sprint("old", i), time.Now()))
		if !l.enter(e) {
			b.Fatal("closed")
		}
		end(b, e, Ending{State: Finished, EndedAt: time.Now()})
	}
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		n++
		one(b, l, n)
	}
}

// What it costs without the disk's sync: encoding, writing, bookkeeping.
func BenchmarkEnd(b *testing.B) {
	l := open(b, b.TempDir(), nil)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		e := l.New(ask(fmt.Sprint(n), time.Now()))
		if !l.enter(e) {
			b.Fatal("closed")
		}
		end(b, e, Ending{State: Finished, EndedAt: time.Now()})
	}
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	l := open(b, dir, nil)
	for i := range 1000 {
		e := l.New(ask(fmt.Sprint("r", i), time.Now()))
		line, err := encodeAccepted(e.ref, e.accepted)
		if err != nil {
			b.Fatal(err)
		}
		l.enter(e)
		if _, err := l.journal.Write(line); err != nil {
			b.Fatal(err)
		}
		if i%2 == 0 {
			end(b, e, Ending{State: Finished, EndedAt: time.Now()})
		}
	}
	shut(b, l)
	for b.Loop() {
		l := open(b, dir, nil)
		if n := len(l.Ended()) + len(lost(b, l)); n != 1000 {
			b.Fatalf("%d runs, want 1000", n)
		}
		shut(b, l)
	}
}

func one(b *testing.B, l *Ledger, n int64) {
	e := l.New(ask(fmt.Sprint(n), time.Now()))
	if err := e.Commit(); err != nil {
		b.Error(err)
	}
	if err := e.End(Ending{State: Finished, EndedAt: time.Now()}); err != nil {
		b.Error(err)
	}
	if err := e.Keep([]byte(`{"payloads":[{"text":"done","mediaUrl":null}],"meta":{"durationMs":5}}`)); err != nil {
		b.Error(err)
	}
}

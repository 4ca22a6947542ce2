package ledger

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// live runs the ledger of dir in a bubble until the returned function is called.
func live(t *testing.T, dir string) (*Ledger, func()) {
	t.Helper()
	l := open(t, dir, nil)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	return l, func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
		shut(t, l)
	}
}

// The end of a run is on the disk a second later, without anybody's help.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, stop := live(t, t.TempDir())
		defer stop()
		e := accept(t, l, ask("a", time.Now()))
		end(t, e, Ending{State: Finished, EndedAt: time.Now()})
		synctest.Wait()
		mark := l.unsynced
		if mark != 2 {
			t.Fatalf("mark = %d, want that of the second write", mark)
		}
		time.Sleep(lag + time.Millisecond)
		synctest.Wait()
		shut(t, l) // nothing is left to do
		if err := l.journal.Sync(mark); err != nil {
			t.Error(err)
		}
	})
}

// Nobody's words stay on the disk for longer than they must: when the last run is
// forgotten, the files go.
func TestIdleLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l, stop := live(t, dir)
		defer stop()
		for i := range 5 {
			end(t, accept(t, l, ask(fmt.Sprint(i), time.Now())), Ending{State: Finished, EndedAt: time.Now()})
		}
		time.Sleep(Retention - time.Minute)
		if got := files(t, dir); len(got) != 1 || len(l.Ended()) != 5 {
			t.Errorf("files = %v, ended = %d, want one file and all remembered", got, len(l.Ended()))
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if got := files(t, dir); len(got) != 0 {
			t.Errorf("files = %v, want none", got)
		}
		accept(t, l, ask("next", time.Now()))
		if diff := cmp.Diff([]string{"next"}, lost(t, open(t, crash(t, dir), nil))); diff != "" {
			t.Errorf("lost (-want +got):\n%s", diff)
		}
	})
}

// A run that lasts for hours pins its own record and not those of others.
func TestLongRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l, stop := live(t, dir)
		defer stop()
		long := accept(t, l, ask("long", time.Now()))
		for i := range 60 {
			end(t, accept(t, l, ask(fmt.Sprint("short", i), time.Now())), Ending{State: Finished, EndedAt: time.Now()})
			time.Sleep(5 * time.Minute)
		}
		synctest.Wait()
		text := content(t, dir)
		if n := strings.Count(text, "say "); n > 6 || !strings.Contains(text, `say \u003clong\u003e`) {
			t.Errorf("%d prompts are in the files, want that of the long run and a few of the last minutes", n)
		}
		if got := files(t, dir); len(got) != 1 {
			t.Errorf("files = %v, want one", got)
		}
		if diff := cmp.Diff([]string{"long"}, lost(t, open(t, crash(t, dir), nil))); diff != "" {
			t.Errorf("lost (-want +got):\n%s", diff)
		}
		end(t, long, Ending{State: Finished, EndedAt: time.Now()})
	})
}

// The file does not grow with the number of runs that there were.
func TestSizeIsBounded(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	l := open(t, dir, c)
	big := strings.Repeat("x", 100_000)
	most := int64(0)
	for i := range 120 { // 12 MB of prompts
		a := ask(fmt.Sprint(i), c.at)
		a.Request.Prompt = big
		end(t, accept(t, l, a), Ending{State: Finished, EndedAt: c.at})
		most = max(most, l.journal.Size())
		select {
		case <-l.wake:
			l.tidy()
		default:
		}
	}
	if most > fileLimit+200_000 {
		t.Errorf("the file grew to %d bytes, want little more than %d", most, fileLimit)
	}
	if got := files(t, dir); len(got) != 1 || len(l.Ended()) != 120 {
		t.Errorf("files = %v, ended = %d, want one and all", got, len(l.Ended()))
	}
	if got := len(open(t, crash(t, dir), c).Ended()); got != 120 {
		t.Errorf("the next process remembers %d, want 120", got)
	}
}

// A crash in the middle of a renewal leaves both files, which say the same.
func TestCrashWhileRenewing(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	l := open(t, dir, c)
	accept(t, l, ask("open", c.at))
	ended := accept(t, l, ask("ended", c.at))
	end(t, ended, Ending{State: Failed, Reason: "r", EndedAt: c.at})
	if err := ended.Keep([]byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	l.tidying <- struct{}{}
	was := l.journal.Path()
	if err := l.journal.Rotate(l.nextFile(), l.header()); err != nil {
		t.Fatal(err)
	}
	if err := l.carry([]string{was}); err != nil {
		t.Fatal(err)
	}
	l.old = append(l.old, was)
	<-l.tidying
	if got := files(t, dir); len(got) != 2 {
		t.Fatalf("files = %v, want two", got)
	}
	again := open(t, crash(t, dir), c)
	if diff := cmp.Diff([]string{"open"}, lost(t, again)); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(l.Ended(), again.Ended()); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
	if got := files(t, again.cfg.Dir); len(got) != 1 {
		t.Errorf("files of the next process = %v, want one", got)
	}
}

package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/run"
)

// P3, P25: what was accepted has an end in the next process too, or is there to
// be ended.
func TestReopen(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	l := open(t, dir, c)
	at := c.at
	finished, failed, open1 := accept(t, l, ask("finished", at)), accept(t, l, ask("failed", at)), accept(t, l, ask("open", at))
	queued := ask("uuid", at)
	queued.Origin, queued.Kind = "origin", Agent
	accept(t, l, queued)
	c.at = c.at.Add(time.Second)
	end(t, finished, Ending{State: Finished, StartedAt: at, EndedAt: c.at})
	if err := finished.Keep([]byte(`{"payloads":[]}`)); err != nil {
		t.Fatal(err)
	}
	end(t, failed, Ending{State: Failed, Reason: "no luck", EndedAt: c.at})
	if a := open1.Accepted(); a.Request.Prompt != "" || a.Request.Images != nil {
		t.Errorf("an entry of this process holds its prompt: %+v", a.Request)
	}

	for _, how := range []string{"crash", "close"} {
		t.Run(how, func(t *testing.T) {
			dir := dir
			if how == "crash" {
				dir = crash(t, dir)
			} else {
				shut(t, l)
			}
			l := open(t, dir, c)
			list, err := l.Lost()
			if err != nil || len(list) != 2 {
				t.Fatalf("Lost = %d runs, %v, want 2", len(list), err)
			}
			if diff := cmp.Diff([]Accepted{ask("open", at), queued}, []Accepted{list[0].Accepted(), list[1].Accepted()}); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
			want := Past{Kind: Chat, Owner: "device:d", ID: "finished", SessionKey: "agent:main:main", AcceptedAt: at,
				Ending: Ending{State: Finished, StartedAt: at, EndedAt: c.at}, Response: []byte(`{"payloads":[]}`)}
			if got, ok := l.Lookup(Chat, "device:d", "finished"); !ok || cmp.Diff(want, got) != "" {
				t.Errorf("Lookup(finished) = %v (-want +got):\n%s", ok, cmp.Diff(want, got))
			}
			if got, ok := l.Lookup(Agent, "device:d", "origin"); !ok || got.ID != "uuid" || got.Ending.State != "" {
				t.Errorf("Lookup of a queued message = %+v, %v, want it open under the id it was sent under", got, ok)
			}
			for _, k := range []key{{Agent, "device:d", "finished"}, {Chat, "secret", "finished"}, {Agent, "device:d", "uuid"}} {
				if got, ok := l.Lookup(k.kind, k.owner, k.id); ok {
					t.Errorf("Lookup(%v) = %+v, want nothing", k, got)
				}
			}
			ended := l.Ended()
			if len(ended) != 2 || ended[1].Ending.Reason != "no luck" {
				t.Errorf("Ended = %+v, want two, the failed one last", ended)
			}
			end(t, list[0], Ending{State: Failed, Reason: "the gateway stopped", EndedAt: c.at})
			if diff := cmp.Diff([]string{"uuid"}, lost(t, l)); diff != "" {
				t.Errorf("lost after an end (-want +got):\n%s", diff)
			}
			again := open(t, crash(t, dir), c)
			if got, ok := again.Lookup(Chat, "device:d", "open"); !ok || got.Ending.Reason != "the gateway stopped" {
				t.Errorf("Lookup in the third process = %+v, %v", got, ok)
			}
			if diff := cmp.Diff([]string{"uuid"}, lost(t, again)); diff != "" {
				t.Errorf("lost in the third process (-want +got):\n%s", diff)
			}
		})
	}
}

// One run has one end, whoever comes first.
func TestOneEnd(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	l := open(t, dir, c)
	e := accept(t, l, ask("a", c.at))
	var wg sync.WaitGroup
	results := make([]error, 16)
	for i := range results {
		wg.Go(func() { results[i] = e.End(Ending{State: Aborted, Reason: fmt.Sprint(i), EndedAt: c.at}) })
	}
	wg.Wait()
	won := -1
	for i, err := range results {
		switch {
		case err == nil && won >= 0:
			t.Errorf("ends %d and %d were both taken", won, i)
		case err == nil:
			won = i
		case !errors.Is(err, ErrEnded):
			t.Errorf("end %d = %v, want ErrEnded", i, err)
		}
	}
	past, _ := l.Lookup(Chat, "device:d", "a")
	if past.Ending.Reason != fmt.Sprint(won) {
		t.Errorf("end = %+v, want that of %d", past.Ending, won)
	}
	if n := strings.Count(content(t, dir), `"type":"ended"`); n != 1 {
		t.Errorf("the file has %d ends, want 1", n)
	}
}

func content(t testing.TB, dir string) string {
	t.Helper()
	all := ""
	for _, name := range files(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all += string(data)
	}
	return all
}

func TestRefusals(t *testing.T) {
	c := newClock()
	l := open(t, t.TempDir(), c)
	e := accept(t, l, ask("a", c.at))
	if err := e.Keep([]byte(`{}`)); err == nil {
		t.Error("a response was kept for a run that is open")
	}
	end(t, e, Ending{State: Failed, Reason: strings.Repeat("ä", maxReason), EndedAt: c.at})
	if past, _ := l.Lookup(Chat, "device:d", "a"); len(past.Ending.Reason) > maxReason || !strings.HasSuffix(past.Ending.Reason, "ä…") {
		t.Errorf("reason has %d bytes and ends in %q", len(past.Ending.Reason), past.Ending.Reason[len(past.Ending.Reason)-6:])
	}
	for name, body := range map[string]string{"too long": `"` + strings.Repeat("x", MaxResponse) + `"`, "no JSON": `{"a":`} {
		if err := e.Keep([]byte(body)); err == nil {
			t.Errorf("%s: the response was kept", name)
		}
	}
	other := accept(t, l, ask("b", c.at))
	shut(t, l)
	if err := other.End(Ending{State: Finished}); !errors.Is(err, ErrClosed) {
		t.Errorf("End after Close = %v, want ErrClosed", err)
	}
	if err := l.New(ask("c", c.at)).Commit(); !errors.Is(err, ErrClosed) {
		t.Errorf("Commit after Close = %v, want ErrClosed", err)
	}
	if _, err := l.Lost(); !errors.Is(err, ErrClosed) {
		t.Errorf("Lost after Close = %v, want ErrClosed", err)
	}
}

// An embedded run has no ledger.
func TestNil(t *testing.T) {
	var l *Ledger
	e := l.New(ask("a", time.Now()))
	if err := errors.Join(e.Commit(), e.End(Ending{State: Finished}), e.Keep([]byte("{}")), l.Close()); err != nil {
		t.Errorf("a nil ledger complains: %v", err)
	}
	if list, err := l.Lost(); len(list) != 0 || err != nil {
		t.Errorf("Lost = %v, %v", list, err)
	}
	if _, ok := l.Lookup(Chat, "", "a"); ok || l.Ended() != nil {
		t.Error("a nil ledger remembers something")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := l.Run(ctx); err != nil {
		t.Errorf("Run = %v", err)
	}
}

// Two gateways may share a state folder: neither takes what belongs to a living
// one, and both take what a dead one left, once.
func TestPeers(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	one := open(t, dir, c)
	accept(t, one, ask("one", c.at))
	dead := crash(t, dir)
	two := open(t, dir, c)
	if got := lost(t, two); len(got) != 0 {
		t.Errorf("lost %v, but their process lives", got)
	}
	accept(t, two, ask("two", c.at))
	// A third one dies beside them.
	third := open(t, dead, c)
	accept(t, third, ask("three", c.at))
	shut(t, third)
	if err := os.CopyFS(filepath.Join(dir, "0dead0"), os.DirFS(filepath.Join(dead, third.boot))); err != nil {
		t.Fatal(err)
	}
	got := append(lost(t, two), lost(t, one)...)
	// "one" is in the copy as well, but the copy is not where it lives.
	if diff := cmp.Diff([]string{"one", "three"}, got); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "0dead0")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead folder is still there: %v", err)
	}
}

// What a newer version wrote is not for us to judge or to remove.
func TestNewerVersion(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "abc", "000001.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"type":"openclaw-runs","version":2}` + "\n" + `{"type":"accepted","what":"ever"}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir, nil)
	if got := lost(t, l); len(got) != 0 {
		t.Errorf("lost %v", got)
	}
	shut(t, l)
	if got := content(t, dir); got != text {
		t.Errorf("content = %q, want it untouched", got)
	}
}

// Nobody else reads what people wrote, and nothing is written before there is
// something to write.
func TestModes(t *testing.T) {
	c := newClock()
	dir := filepath.Join(t.TempDir(), "state", "runs")
	l := open(t, dir, c)
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("files of an unused ledger = %v", got)
	}
	accept(t, l, ask("a", c.at))
	for path, want := range map[string]os.FileMode{dir: 0o700, l.folder(): 0o700, l.journal.Path(): 0o600, filepath.Join(l.folder(), lockName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
	empty := open(t, filepath.Join(t.TempDir(), "runs"), c)
	shut(t, empty)
	if list, err := os.ReadDir(empty.cfg.Dir); err != nil || len(list) != 0 {
		t.Errorf("an unused ledger leaves %v, %v", list, err)
	}
}

// A disk that takes nothing: the run is refused, and what ended meanwhile is
// written when the disk is back.
func TestBrokenDisk(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	l := open(t, dir, c)
	e := accept(t, l, ask("a", c.at))
	l.tidying <- struct{}{}
	if err := l.journal.Rotate(filepath.Join(dir, "nowhere", "x")); err != nil {
		t.Fatal(err)
	}
	l.old = append(l.old, filepath.Join(l.folder(), "000001.jsonl"))
	<-l.tidying
	if err := l.New(ask("b", c.at)).Commit(); err == nil {
		t.Fatal("a run was accepted without a record")
	}
	if _, ok := l.Lookup(Chat, "device:d", "b"); ok {
		t.Error("the refused run is known")
	}
	if err := e.End(Ending{State: Finished, EndedAt: c.at}); err == nil || errors.Is(err, ErrEnded) {
		t.Errorf("End = %v, want a failed write", err)
	}
	l.tidy()
	accept(t, l, ask("c", c.at))
	again := open(t, crash(t, dir), c)
	if got, _ := again.Lookup(Chat, "device:d", "a"); got.Ending.State != Finished {
		t.Errorf("end in the next process = %+v, want it finished", got.Ending)
	}
	if diff := cmp.Diff([]string{"c"}, lost(t, again)); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
}

// The order of New is the order in which runs come back, in this process and
// over several of them, also when the clock went back.
func TestOrder(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	l := open(t, dir, c)
	list := make([]*Entry, 20)
	for i := range list {
		list[i] = l.New(ask(fmt.Sprint("a", i), c.at))
	}
	var wg sync.WaitGroup
	for i := range list {
		wg.Go(func() {
			if err := list[len(list)-1-i].Commit(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	shut(t, l)
	c.at = c.at.Add(-time.Hour)
	l = open(t, dir, c)
	for i := range 3 {
		accept(t, l, ask(fmt.Sprint("b", i), c.at))
	}
	shut(t, l)
	if diff := cmp.Diff(append(numbered("a", 20), numbered("b", 3)...), lost(t, open(t, dir, c))); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
}

// A key that is used again after its run was forgotten, or by the next run,
// names the newest run.
func TestKeyAgain(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	l := open(t, dir, c)
	for i := range 3 {
		e := accept(t, l, ask("same", c.at))
		end(t, e, Ending{State: Finished, Reason: fmt.Sprint(i), EndedAt: c.at})
		c.at = c.at.Add(Retention / 2)
	}
	again := open(t, crash(t, dir), c)
	for _, l := range []*Ledger{l, again} {
		if got, ok := l.Lookup(Chat, "device:d", "same"); !ok || got.Ending.Reason != "2" {
			t.Errorf("Lookup = %+v, %v, want the third", got.Ending, ok)
		}
	}
	c.at = c.at.Add(Retention)
	if got, ok := l.Lookup(Chat, "device:d", "same"); ok {
		t.Errorf("Lookup = %+v long after the end", got)
	}
}

func TestResponsesAreBounded(t *testing.T) {
	c := newClock()
	l := open(t, t.TempDir(), c)
	body := []byte(`"` + strings.Repeat("x", MaxResponse-2) + `"`)
	for i := range maxResponses/MaxResponse + 10 {
		e := accept(t, l, ask(fmt.Sprint(i), c.at))
		end(t, e, Ending{State: Finished, EndedAt: c.at})
		if err := e.Keep(body); err != nil {
			t.Fatal(err)
		}
	}
	if l.responses > maxResponses || len(l.ended) != maxResponses/MaxResponse {
		t.Errorf("%d bytes of %d responses are held", l.responses, len(l.ended))
	}
}

func TestAcceptedKey(t *testing.T) {
	a := ask("id", time.Time{})
	if got := a.Key(); got != "id" {
		t.Errorf("Key() = %q", got)
	}
	a.Origin = "origin"
	if got := a.Key(); got != run.ID("origin") {
		t.Errorf("Key() of a queued message = %q", got)
	}
}

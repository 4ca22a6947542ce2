package ledger

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/run"
)

// state is what a ledger says, for comparing.
type state struct {
	Lost  []string
	Ended map[string]string // id → state, reason, response
}

func stateOf(t testing.TB, l *Ledger) state {
	t.Helper()
	s := state{Lost: lost(t, l), Ended: map[string]string{}}
	for _, p := range l.Ended() {
		s.Ended[string(p.ID)] = fmt.Sprintf("%s %s %s", p.Ending.State, p.Ending.Reason, p.Response)
	}
	return s
}

// sample writes a small ledger and returns its one file.
func sample(t *testing.T, c *clock) (name string, data []byte) {
	t.Helper()
	dir := t.TempDir()
	l := open(t, dir, c)
	for i, st := range []State{Finished, "", Failed, Aborted, ""} {
		e := accept(t, l, ask(fmt.Sprint("r", i), c.at))
		if st == "" {
			continue
		}
		end(t, e, Ending{State: st, Reason: "because", EndedAt: c.at})
		if st == Finished {
			if err := e.Keep([]byte(`{"text":"done"}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	list := files(t, dir)
	if len(list) != 1 {
		t.Fatalf("files = %v, want one", list)
	}
	data, err := os.ReadFile(filepath.Join(dir, list[0]))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(list[0]), data
}

// reading opens a ledger that a dead process left with this content.
func reading(t *testing.T, c *clock, name string, data []byte) *Ledger {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "dead"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dead", name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, dir, c)
}

// P3: a kill at any byte. What was whole counts, the torn rest does not, and the
// next process says the same as the one that read it first.
func TestTruncate(t *testing.T) {
	c := newClock()
	name, data := sample(t, c)
	for n := range len(data) + 1 {
		want := state{Lost: []string{}, Ended: map[string]string{}}
		texts := strings.SplitAfter(string(data[:n]), "\n")
		for i, text := range texts {
			rec, ok := parse([]byte(strings.TrimSuffix(text, "\n")))
			if !ok {
				if text != "" && i < len(texts)-1 {
					t.Fatalf("the sample has a broken line: %q", text)
				}
				continue
			}
			id := string(rec.ID)
			switch rec.Type {
			case typeAccepted:
				want.Lost = append(want.Lost, id)
			case typeEnded:
				want.Lost = slices.DeleteFunc(want.Lost, func(s string) bool { return s == id })
				want.Ended[id] = fmt.Sprintf("%s %s ", rec.State, rec.Reason)
			case typeResponse:
				want.Ended["r0"] += string(rec.Response)
			}
		}
		if diff := cmp.Diff(want, inMemory(t, data[:n])); diff != "" {
			t.Fatalf("cut at %d (-want +got):\n%s", n, diff)
		}
		if n%197 != 0 && (n == 0 || data[n-1] != '\n') {
			continue
		}
		// And all the way through the files, twice.
		l := reading(t, c, name, data[:n])
		if diff := cmp.Diff(want, stateOf(t, l)); diff != "" {
			t.Fatalf("cut at %d (-want +got):\n%s", n, diff)
		}
		shut(t, l)
		again := open(t, l.cfg.Dir, c)
		if diff := cmp.Diff(want, stateOf(t, again)); diff != "" {
			t.Fatalf("cut at %d, read again (-want +got):\n%s", n, diff)
		}
		shut(t, again)
	}
}

// inMemory is what a ledger says that has read data, without its disk.
func inMemory(t *testing.T, data []byte) state {
	t.Helper()
	found := map[ref]*Entry{}
	if _, err := readLines(bytes.NewReader(data), func(rec record, _ []byte) error { collect(found, rec); return nil }); err != nil {
		t.Fatal(err)
	}
	s := state{Lost: []string{}, Ended: map[string]string{}}
	for _, e := range found {
		if p := e.past(); e.ended() {
			s.Ended[string(p.ID)] = fmt.Sprintf("%s %s %s", p.Ending.State, p.Ending.Reason, p.Response)
		} else if p.ID != "" {
			s.Lost = append(s.Lost, string(p.ID))
		}
	}
	slices.Sort(s.Lost)
	return s
}

// Damage in one line costs that line and no other.
func TestDamage(t *testing.T) {
	c := newClock()
	name, data := sample(t, c)
	texts := bytes.SplitAfter(data, []byte("\n"))
	whole := stateOf(t, reading(t, c, name, data))
	check := func(what string, damaged []byte) {
		t.Helper()
		if diff := cmp.Diff(whole, inMemory(t, damaged)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	tests := map[string][]byte{
		"zeroes":      append(bytes.Repeat([]byte{0}, 4096), '\n'),
		"text":        []byte("what is this\n"),
		"other JSON":  []byte("[1,2]\n{\"type\":\"other\"}\n{}\n\n"),
		"no boot":     []byte(`{"type":"ended","runId":"r1","state":"finished"}` + "\n"),
		"no state":    []byte(`{"type":"ended","boot":"x","n":1,"runId":"r1"}` + "\n"),
		"odd state":   []byte(`{"type":"ended","boot":"x","n":1,"runId":"r1","state":"asleep"}` + "\n"),
		"lone answer": []byte(`{"type":"response","boot":"x","n":1,"response":{}}` + "\n"),
		"twice":       data,
	}
	for what, insert := range tests {
		for at := range len(texts) {
			damaged := bytes.Join(slices.Insert(slices.Clone(texts), at, insert), nil)
			check(fmt.Sprintf("%s before line %d", what, at), damaged)
			if at == 3 {
				if diff := cmp.Diff(whole, stateOf(t, reading(t, c, name, damaged))); diff != "" {
					t.Errorf("%s, through the files (-want +got):\n%s", what, diff)
				}
			}
		}
	}
	// Lines in any order.
	for range 50 {
		mixed := slices.Clone(texts)
		rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		check("mixed lines", bytes.Join(mixed, nil))
	}
}

// Random work, crashes, restarts, renewals and passing time, against a model that
// is a map: nothing that was acknowledged is lost, lost and ended together are
// what was accepted, and no end changes.
func TestRandomWork(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomWork(t, rand.New(rand.NewPCG(seed, 6))) })
	}
}

type modelRun struct {
	order int
	entry *Entry // nil: of a process that is gone
	end   string // empty: open
	at    time.Time
}

func randomWork(t *testing.T, rnd *rand.Rand) {
	c, dir := newClock(), t.TempDir()
	l := open(t, dir, c)
	known := map[string]*modelRun{}
	var ids []string
	pick := func() *modelRun { return known[ids[rnd.IntN(len(ids))]] }
	for range 160 {
		switch op := rnd.IntN(20); {
		case op < 7 || len(ids) == 0:
			id := fmt.Sprint("r", len(ids))
			known[id] = &modelRun{order: len(ids), entry: accept(t, l, ask(id, c.at))}
			ids = append(ids, id)
		case op < 13:
			r := pick()
			if r.entry == nil {
				continue
			}
			st := []State{Finished, Failed, Aborted}[rnd.IntN(3)]
			err := r.entry.End(Ending{State: st, EndedAt: c.at})
			if (err == nil) != (r.end == "") {
				t.Fatalf("End of a run in state %q = %v", r.end, err)
			}
			if r.end == "" {
				r.end, r.at = fmt.Sprintf("%s  ", st), c.at
			}
		case op < 15:
			if r := pick(); r.entry != nil && r.end != "" && c.at.Sub(r.at) < Retention && !strings.HasSuffix(r.end, "}") {
				if err := r.entry.Keep([]byte(`{}`)); err != nil {
					t.Fatal(err)
				}
				r.end += "{}"
			}
		case op < 16:
			c.at = c.at.Add(time.Duration(rnd.IntN(400)) * time.Second)
		case op < 18:
			l.mu.Lock()
			l.broken = rnd.IntN(2) == 0 // renews for sure
			l.mu.Unlock()
			l.tidy()
		default:
			if op == 18 {
				dir = crash(t, dir)
			} else {
				shut(t, l)
			}
			l = open(t, dir, c)
			reclaim(t, l, known)
		}
		compare(t, l, known, ids, c)
	}
}

// reclaim gives the model the entries of a new process.
func reclaim(t *testing.T, l *Ledger, known map[string]*modelRun) {
	t.Helper()
	list, err := l.Lost()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range known {
		r.entry = nil
	}
	for _, e := range list {
		known[string(e.Accepted().Request.ID)].entry = e
	}
}

func compare(t *testing.T, l *Ledger, known map[string]*modelRun, ids []string, c *clock) {
	t.Helper()
	want, got := state{Lost: []string{}, Ended: map[string]string{}}, stateOf(t, l)
	for _, id := range ids {
		switch r := known[id]; {
		case r.end == "" && (r.entry == nil || r.entry.ref.boot != l.boot):
			want.Lost = append(want.Lost, id)
		case r.end == "":
			if p, ok := l.Lookup(Chat, "device:d", run.ID(id)); !ok || p.Ending.State != "" {
				t.Fatalf("Lookup of the open run %s = %+v, %v", id, p, ok)
			}
		case c.at.Sub(r.at) <= Retention:
			want.Ended[id] = r.end
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("ledger (-want +got):\n%s", diff)
	}
}

// Whatever a file holds, reading ends, and what is taken from it can be written
// and read again.
func FuzzReadLines(f *testing.F) {
	f.Add([]byte(`{"type":"openclaw-runs","version":1,"pid":1}` + "\n" + `{"type":"accepted","boot":"a","n":1,"runId":"r","at":1,"request":{"prompt":"hi"}}` + "\n"))
	f.Add([]byte(`{"type":"ended","boot":"a","n":1,"kind":"chat","runId":"r","state":"failed","reason":"x","endedAt":5}` + "\n" + `{"type":"response","boot":"a","n":1,"response":{"a":[1]}}`))
	f.Add([]byte("{\"type\":\"accepted\",\"boot\":\"a\",\"n\":1,\"runId\":\"r\",\"request\":{\"images\":[{\"type\":\"image\",\"data\":\"aGk=\"}]}}\n\x00\x00\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		found := map[ref]*Entry{}
		bad, err := readLines(bytes.NewReader(data), func(rec record, line []byte) error {
			if again, ok := parse(line); !ok || again.ref() != rec.ref() {
				t.Errorf("parse(%q) changed its mind", line)
			}
			collect(found, rec)
			return nil
		})
		if err != nil && len(found) == 0 && bad == 0 {
			return // a newer version
		}
		for at, e := range found {
			if e.accepted.Request.ID == "" {
				continue
			}
			lines := [][]byte{}
			add := func(line []byte, err error) {
				if err != nil {
					t.Fatalf("encode %+v: %v", e.accepted, err)
				}
				lines = append(lines, line)
			}
			if e.ended() {
				add(encodeEnded(at, e.past()))
			} else {
				add(encodeAccepted(at, e.accepted))
			}
			if e.response != nil {
				add(encodeResponse(at, e.response))
			}
			again := map[ref]*Entry{}
			if bad, err := readLines(bytes.NewReader(bytes.Join(lines, []byte("\n"))), func(rec record, _ []byte) error {
				collect(again, rec)
				return nil
			}); bad != 0 || err != nil {
				t.Fatalf("what was written is not read: %d bad, %v", bad, err)
			}
			got := again[at]
			if got == nil || got.ended() != e.ended() || got.accepted.Request.ID != e.accepted.Request.ID || got.accepted.Request.Prompt != e.accepted.Request.Prompt && !e.ended() {
				t.Errorf("again %+v, want %+v", got, e)
			}
		}
	})
}

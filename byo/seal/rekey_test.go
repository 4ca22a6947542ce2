package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"openclaw/byo"
	"openclaw/internal/testkit"
)

// wall is a clock that tests move.
type wall struct{ now time.Time }

func (w *wall) Now() time.Time { return w.now }

func newWall() *wall { return &wall{now: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)} }

// pair is both ends of a pairing with a common clock.
func pair(t testing.TB, w *wall) (desktop, plugin *Duplex) {
	t.Helper()
	k := readJSON[keys](t, "testdata/keys.json")
	d, p := k.roots(t, k.handshake())
	return NewDuplex(d, Config{Now: w.Now}), NewDuplex(p, Config{Now: w.Now})
}

// talk sends text from one end to the other and reports how opening fails.
func talk(t *testing.T, from, to *Duplex, text string) error {
	t.Helper()
	e, err := from.Seal(Header{ContentType: byo.ContentChatIn}, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := to.Open(e, Binding{ContentType: byo.ContentChatIn})
	if err == nil && string(plain) != text {
		t.Errorf("Open = %q, want %q", plain, text)
	}
	return err
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// SW-10: offer and answer change the keys on both sides, whoever begins; the old
// epoch dies after 120 seconds, and its keys are erased.
func TestRekey(t *testing.T) {
	for _, begins := range []Role{Desktop, Plugin} {
		w := newWall()
		a, b := pair(t, w)
		if begins == Plugin {
			a, b = b, a
		}
		old := a.current
		late := must[byo.Envelope](t)(b.Seal(Header{ContentType: byo.ContentChatIn}, []byte("late")))
		later := must[byo.Envelope](t)(b.Seal(Header{ContentType: byo.ContentChatIn}, []byte("later")))

		answer := must[*byo.Envelope](t)(b.Control(must[byo.Envelope](t)(a.Offer())))
		// The answering side has the new keys, but seals with the old ones until
		// it knows that the other side has them too.
		if n, _ := b.Epoch(); n != 0 {
			t.Errorf("%v begins: epoch of the answering side = %d before the other one used the new keys, want 0", begins, n)
		}
		if err := talk(t, b, a, "still old"); err != nil {
			t.Errorf("%v begins: %v", begins, err)
		}
		done := must[*byo.Envelope](t)(a.Control(*answer))
		if n, _ := a.Epoch(); n != 1 {
			t.Errorf("%v begins: epoch after the answer = %d, want 1", begins, n)
		}
		if err := talk(t, b, a, "crossed the answer"); err != nil {
			t.Errorf("%v begins: %v", begins, err)
		}
		if reply, err := b.Control(*done); err != nil || reply != nil {
			t.Errorf("%v begins: Control(done) = %v, %v, want nothing", begins, reply, err)
		}
		an, aid := a.Epoch()
		bn, bid := b.Epoch()
		if an != 1 || bn != 1 || aid != bid || aid == old.keyID {
			t.Errorf("%v begins: epochs %d %s and %d %s, want 1 with new keys on both sides", begins, an, aid, bn, bid)
		}
		for _, err := range []error{talk(t, a, b, "new"), talk(t, b, a, "new")} {
			if err != nil {
				t.Errorf("%v begins: %v", begins, err)
			}
		}

		w.now = w.now.Add(OldEpochFor - time.Second)
		if _, err := a.Open(late, Binding{ContentType: byo.ContentChatIn}); err != nil {
			t.Errorf("%v begins: old epoch after 119 seconds: %v", begins, err)
		}
		w.now = w.now.Add(time.Second)
		if _, err := a.Open(later, Binding{ContentType: byo.ContentChatIn}); !errors.Is(err, ErrEpoch) {
			t.Errorf("%v begins: old epoch after 120 seconds: %v, want ErrEpoch", begins, err)
		}
		if old.send != [keySize]byte{} || old.receive != [keySize]byte{} || old.root.key != [keySize]byte{} {
			t.Errorf("%v begins: the old keys are still in memory", begins)
		}
		s, err := json.Marshal(a.Snapshot())
		if err != nil || bytes.Contains(s, []byte("previous")) || bytes.Contains(s, []byte("own_secret")) {
			t.Errorf("%v begins: the state still holds old keys (error %v)", begins, err)
		}
	}
}

// SW-10: of two offers at once the desktop's wins, in every order of arrival.
func TestRekeyTie(t *testing.T) {
	for _, pluginFirst := range []bool{false, true} {
		d, p := pair(t, newWall())
		fromD, fromP := must[byo.Envelope](t)(d.Offer()), must[byo.Envelope](t)(p.Offer())
		ignored := func() {
			if reply, err := d.Control(fromP); reply != nil || err != nil {
				t.Errorf("desktop answers %v, %v to the plugin's offer, want nothing", reply, err)
			}
		}
		if pluginFirst {
			ignored()
		}
		answer := must[*byo.Envelope](t)(p.Control(fromD))
		if !pluginFirst {
			ignored()
		}
		done := must[*byo.Envelope](t)(d.Control(*answer))
		if _, err := p.Control(*done); err != nil {
			t.Error(err)
		}
		dn, did := d.Epoch()
		pn, pid := p.Epoch()
		if dn != 1 || pn != 1 || did != pid {
			t.Errorf("epochs %d %s and %d %s, want 1 with the same keys", dn, did, pn, pid)
		}
		if err := errors.Join(talk(t, d, p, "x"), talk(t, p, d, "y")); err != nil {
			t.Error(err)
		}
	}
}

// Lost and repeated control frames, a restart at every step and traffic without
// the last message all end in the same keys.
func TestRekeySurvivesLossAndRestart(t *testing.T) {
	w := newWall()
	d, p := pair(t, w)
	restart := func(x *Duplex) *Duplex {
		t.Helper()
		data, err := json.Marshal(x.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		var s State
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		return must[*Duplex](t)(Restore(s, Config{Now: w.Now}))
	}
	must[byo.Envelope](t)(d.Offer()) // lost
	d = restart(d)
	again := must[byo.Envelope](t)(d.Offer())
	must[*byo.Envelope](t)(p.Control(again)) // its answer is lost
	p = restart(p)
	answer := must[*byo.Envelope](t)(p.Control(must[byo.Envelope](t)(d.Offer())))
	d = restart(d)
	must[*byo.Envelope](t)(d.Control(*answer)) // its last message is lost
	if _, err := d.Apply(*answer); err == nil {
		t.Error("the same answer applies twice")
	}
	p, d = restart(p), restart(d)
	if err := talk(t, p, d, "old keys"); err != nil {
		t.Error(err)
	}
	w.now = w.now.Add(time.Hour)
	told := must[*byo.Envelope](t)(d.Control(*answer)) // delivered again, an hour later
	if told.Epoch != 1 || told.ContentType != byo.ContentRekeyDone {
		t.Errorf("the same answer again gives %s of epoch %d, want rekey_done of 1", told.ContentType, told.Epoch)
	}
	if reply, err := p.Control(*told); err != nil || reply != nil {
		t.Errorf("Control(done) = %v, %v, want nothing", reply, err)
	}
	if err := errors.Join(talk(t, d, p, "new keys"), talk(t, p, d, "new keys")); err != nil {
		t.Error(err)
	}
	pn, pid := p.Epoch()
	if _, did := d.Epoch(); pn != 1 || did != pid {
		t.Errorf("plugin is in epoch %d with keys %s, desktop with %s; want 1 and the same", pn, pid, did)
	}
	if err := talk(t, must[*Duplex](t)(Restore(d.Snapshot(), Config{Now: w.Now})), p, "and again"); err != nil {
		t.Error(err)
	}
}

// A repeated offer gets the same answer, so that it does not matter which of the
// answers arrives.
func TestRekeyAnswersAlike(t *testing.T) {
	d, p := pair(t, newWall())
	first := must[*byo.Envelope](t)(p.Control(must[byo.Envelope](t)(d.Offer())))
	must[*byo.Envelope](t)(p.Control(must[byo.Envelope](t)(d.Offer())))
	ephemeral := p.next.own.b
	done := must[*byo.Envelope](t)(d.Control(*first))
	if _, err := p.Control(*done); err != nil {
		t.Error(err)
	}
	if *ephemeral != [32]byte{} {
		t.Error("the ephemeral key of the answering side is still in memory")
	}
}

// A side that is still in the old epoch when the other one has forgotten it is
// told again.
func TestRekeyDoneAgain(t *testing.T) {
	w := newWall()
	d, p := pair(t, w)
	answer := must[*byo.Envelope](t)(p.Control(must[byo.Envelope](t)(d.Offer())))
	must[*byo.Envelope](t)(d.Control(*answer)) // lost
	w.now = w.now.Add(time.Hour)
	if err := talk(t, p, d, "old"); !errors.Is(err, ErrEpoch) {
		t.Errorf("old keys after an hour: %v, want ErrEpoch", err)
	}
	if _, err := p.Control(must[byo.Envelope](t)(d.Done())); err != nil {
		t.Error(err)
	}
	if err := talk(t, p, d, "new"); err != nil {
		t.Error(err)
	}
}

func TestRekeyDue(t *testing.T) {
	w := newWall()
	d, p := pair(t, w)
	if d.RekeyDue() {
		t.Error("RekeyDue() = true for new keys")
	}
	w.now = w.now.Add(RekeyAfter)
	if !d.RekeyDue() {
		t.Error("RekeyDue() = false after a day")
	}
	w.now = w.now.Add(-time.Hour)
	d.current.sent = RekeyCount - 1
	d.current.reserved = RekeyCount
	if err := talk(t, d, p, "x"); err != nil {
		t.Fatal(err)
	}
	if !d.RekeyDue() || !p.RekeyDue() {
		t.Errorf("RekeyDue() after %d messages = %v, %v, want true on both sides", RekeyCount, d.RekeyDue(), p.RekeyDue())
	}
	must[*byo.Envelope](t)(p.Control(must[byo.Envelope](t)(d.Offer())))
	if p.RekeyDue() {
		t.Error("RekeyDue() = true while a change is under way")
	}
}

// SW-04, SW-10: offers and answers that do not fit change nothing.
func TestRekeyRefusals(t *testing.T) {
	d, p := pair(t, newWall())
	offer := func(m rekeyMessage) byo.Envelope {
		t.Helper()
		d.mu.Lock()
		defer d.mu.Unlock()
		return must[byo.Envelope](t)(d.sealRekey(byo.ContentRekeyOffer, "", m))
	}
	key := must[SecretKey](t)(Generate(nil)).Public()
	for name, tt := range map[string]struct {
		m    rekeyMessage
		want error
	}{
		"same epoch":    {rekeyMessage{0, key[:]}, ErrRekey},
		"one too far":   {rekeyMessage{2, key[:]}, ErrRekey},
		"zero key":      {rekeyMessage{1, make([]byte, 32)}, ErrLowOrder},
		"key too short": {rekeyMessage{1, key[:31]}, ErrKey},
	} {
		if _, err := p.Control(offer(tt.m)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if p.next != nil {
		t.Error("an offer that was refused left keys behind")
	}
	if _, err := d.Apply(must[byo.Envelope](t)(p.Seal(Header{ContentType: byo.ContentRekeyAnswer}, []byte(`{"epoch":1}`)))); !errors.Is(err, ErrRekey) {
		t.Errorf("answer without an offer: %v, want ErrRekey", err)
	}
	if _, err := p.Control(must[byo.Envelope](t)(d.Seal(Header{ContentType: byo.ContentRekeyOffer}, []byte(`nonsense`)))); !errors.Is(err, ErrRekey) {
		t.Errorf("offer that is no JSON: %v, want ErrRekey", err)
	}
	if _, err := p.Control(must[byo.Envelope](t)(d.Seal(Header{ContentType: byo.ContentChatIn}, []byte(`{}`)))); !errors.Is(err, ErrContentType) {
		t.Errorf("chat as control: %v, want ErrContentType", err)
	}
	repeat := must[byo.Envelope](t)(d.Offer())
	must[*byo.Envelope](t)(p.Control(repeat)) // could not be sent
	done := must[*byo.Envelope](t)(d.Control(*must[*byo.Envelope](t)(p.Control(repeat))))
	must[*byo.Envelope](t)(p.Control(*done))
	if _, err := p.Control(repeat); !errors.Is(err, ErrReplay) {
		t.Errorf("an offer that was followed, again: %v, want ErrReplay", err)
	}
	if err := errors.Join(talk(t, d, p, "x"), talk(t, p, d, "y")); err != nil {
		t.Error(err)
	}
}

// A state that cannot be saved leaves the keys as they were.
func TestRekeySaveFails(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	droot, proot := k.roots(t, k.handshake())
	full := errors.New("disk full")
	var fail error
	save := func(State) error { return fail }
	d, p := NewDuplex(droot, Config{Save: save}), NewDuplex(proot, Config{Save: save})
	offer := must[byo.Envelope](t)(d.Offer())
	warm := must[byo.Envelope](t)(p.Seal(Header{ContentType: byo.ContentChatIn}, nil)) // reserves numbers
	fail = full
	if _, err := p.Control(offer); !errors.Is(err, full) || p.next != nil {
		t.Errorf("Answer = %v with the next keys %v, want the disk's error and none", err, p.next)
	}
	fail = nil
	answer := must[*byo.Envelope](t)(p.Control(must[byo.Envelope](t)(d.Offer())))
	fail = full
	if _, err := d.Control(*answer); !errors.Is(err, full) {
		t.Errorf("Apply = %v, want the disk's error", err)
	}
	if n, _ := d.Epoch(); n != 0 || d.offer == nil {
		t.Errorf("epoch %d after a failed save, offer %v; want 0 and the offer", n, d.offer)
	}
	if _, err := d.Open(warm, Binding{ContentType: byo.ContentChatIn}); err != nil {
		t.Error(err)
	}
	fail = nil
	answer = must[*byo.Envelope](t)(p.Control(must[byo.Envelope](t)(d.Offer())))
	must[*byo.Envelope](t)(d.Control(*answer))
	if err := talk(t, d, p, "new"); err != nil {
		t.Error(err)
	}
}

// rekeyFile is testdata/rekey.json: one change of keys as it goes over the wire.
type rekeyFile struct {
	About string      `json:"about"`
	Steps []rekeyStep `json:"steps"`
	KeyID string      `json:"epoch_1_key_id"`
}

type rekeyStep struct {
	From      string       `json:"from"`
	Plaintext string       `json:"plaintext_text"`
	Envelope  byo.Envelope `json:"envelope"`
}

// SW-10: sealed offer and answer, as vectors.
func TestRekeyFresh(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	droot, proot := k.roots(t, k.handshake())
	at := newWall()
	d := NewDuplex(droot, Config{Rand: counting(0x11), Now: at.Now})
	p := NewDuplex(proot, Config{Rand: counting(0x51), Now: at.Now})
	first := must[byo.Envelope](t)(d.Offer())
	answer := must[*byo.Envelope](t)(p.Control(first))
	done := must[*byo.Envelope](t)(d.Control(*answer))
	_ = must[*byo.Envelope](t)(p.Control(*done))
	chat := must[byo.Envelope](t)(p.Seal(Header{ContentType: byo.ContentChatOut}, []byte("under the new keys")))
	same(t, "rekey root", d.current.root.key[:], k.Rekey.Root)

	file := rekeyFile{About: "a change of keys between the desktop and the plugin of keys.json, with its ephemeral keys", KeyID: d.current.keyID}
	a, b := pair(t, at)
	b.cfg.Rand = counting(0x51) // to make the answer's key
	secret := secret(t, k.Inputs.RekeyDesktop)
	a.offer = &offer{epoch: 1, secret: secret}
	for _, step := range []struct {
		from *Duplex
		to   *Duplex
		e    byo.Envelope
	}{{d, b, first}, {p, a, *answer}, {d, b, *done}, {p, a, chat}} {
		file.Steps = append(file.Steps, rekeyStep{From: step.from.role.String(), Plaintext: peek(t, step.to, step.e), Envelope: step.e})
		if step.e.ContentType != byo.ContentChatOut {
			must[*byo.Envelope](t)(step.to.Control(step.e))
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", " ")
	if err := enc.Encode(file); err != nil {
		t.Fatal(err)
	}
	if testkit.Updating() {
		if err := os.WriteFile("testdata/rekey.json", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("testdata/rekey.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Error("testdata/rekey.json is stale; run go generate ./byo/seal")
	}
}

// peek opens e without noting it.
func peek(t *testing.T, d *Duplex, e byo.Envelope) string {
	t.Helper()
	in, err := d.route(&e)
	if err != nil {
		t.Fatal(err)
	}
	text, err := decrypt(&e, &in.receive, aadDuplex(&e))
	if err != nil {
		t.Fatal(err)
	}
	plain, ok := unpad(text)
	if !ok {
		t.Fatal("not padded")
	}
	return string(plain)
}

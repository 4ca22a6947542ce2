package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"openclaw/byo"
)

// SW-11: the sizes on the wire are exactly the buckets, and sizes say nothing
// more than the bucket.
func TestPadding(t *testing.T) {
	for _, tt := range []struct{ n, size int }{
		{0, 1024}, {1, 1024}, {1020, 1024}, {1021, 2048}, {2044, 2048}, {2045, 4096}, {4092, 4096}, {4093, 8192}, {16000, 16384},
		{65532, 65536}, {65533, 131072}, {131068, 131072}, {131069, 196608}, {262144, 327680},
	} {
		data := bytes.Repeat([]byte{0xa5}, tt.n)
		b := pad(nil, data)
		if len(b) != tt.size {
			t.Errorf("pad(%d bytes) has %d bytes, want %d", tt.n, len(b), tt.size)
		}
		if got, ok := unpad(b); !ok || !bytes.Equal(got, data) {
			t.Errorf("unpad(pad(%d bytes)) = %d bytes, %v", tt.n, len(got), ok)
		}
	}
}

// SW-11: the same as vectors for other languages.
func TestPaddingVectors(t *testing.T) {
	file := readJSON[struct {
		Cases []struct {
			Length    int
			Padded    int
			PaddedSum hexBytes `json:"padded_sha256"`
			Cipher    int      `json:"ciphertext_length"`
			CipherSum hexBytes `json:"ciphertext_sha256"`
		}
	}](t, "testdata/padding.json")
	k := readJSON[keys](t, "testdata/keys.json")
	if len(file.Cases) < 4 {
		t.Fatalf("%d cases, want at least 4", len(file.Cases))
	}
	for _, c := range file.Cases {
		data := make([]byte, c.Length)
		for i := range data {
			data[i] = byte(i % 251)
		}
		b := pad(nil, data)
		sum := sha256.Sum256(b)
		if len(b) != c.Padded || hex.EncodeToString(sum[:]) != hex.EncodeToString(c.PaddedSum) {
			t.Errorf("%d bytes: padded to %d bytes with sum %x, want %d with %x", c.Length, len(b), sum, c.Padded, c.PaddedSum)
		}
		root, _ := k.roots(t, k.handshake())
		d := NewDuplex(root, Config{Rand: counting(0)})
		e := must[byo.Envelope](t)(d.Seal(headerOf(k.Duplex.Envelope), data))
		text, err := decode("ciphertext", e.Ciphertext)
		if err != nil || len(text) != c.Cipher || e.Digest() != hex.EncodeToString(c.CipherSum) {
			t.Errorf("%d bytes: ciphertext of %d bytes with sum %s, error %v, want %d with %x", c.Length, len(text), e.Digest(), err, c.Cipher, c.CipherSum)
		}
	}
}

// SW-09: the window agrees with a set that forgets nothing.
func TestWindowModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 30 {
		var w window
		seen, high := map[uint64]bool{}, uint64(0)
		for range 4000 {
			seq := high + uint64(r.IntN(40))
			switch r.IntN(10) {
			case 0:
				seq = high + uint64(r.IntN(2*WindowSize))
			case 1, 2, 3, 4:
				seq -= min(seq, uint64(r.IntN(WindowSize+100)))
			}
			want := seq > 0 && !seen[seq] && (seq > high || high-seq < WindowSize)
			if got := w.fresh(seq); got != want {
				t.Fatalf("round %d: fresh(%d) with highest %d = %v, want %v", round, seq, high, got, want)
			}
			if want {
				w.mark(seq)
				seen[seq], high = true, max(high, seq)
			}
			if r.IntN(100) == 0 {
				again, ok := decodeWindow(w.high, w.encode())
				if !ok || again != w {
					t.Fatal("the window does not survive its text")
				}
			}
		}
	}
}

// Number reservation: a crash between two saves skips numbers and repeats none,
// and nothing is sealed that could not be reserved.
func TestSendNumbersSurviveCrash(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	droot, proot := k.roots(t, k.handshake())
	var saved State
	saves := 0
	cfg := Config{Save: func(s State) error { saved, saves = s, saves+1; return nil }}
	d, p := NewDuplex(droot, cfg), NewDuplex(proot, Config{})
	used := map[uint64]bool{}
	for crash := range 4 {
		for range 700 {
			e := must[byo.Envelope](t)(d.Seal(Header{ContentType: byo.ContentChatIn}, nil))
			if used[e.Seq] {
				t.Fatalf("crash %d: number %d is used twice", crash, e.Seq)
			}
			used[e.Seq] = true
			if _, err := p.Open(e, Binding{ContentType: byo.ContentChatIn}); err != nil {
				t.Fatalf("crash %d: number %d: %v", crash, e.Seq, err)
			}
		}
		d = must[*Duplex](t)(Restore(saved, cfg)) // without what happened since the last save
	}
	if saves != 4 {
		t.Errorf("%d saves for 2800 messages and 4 crashes, want one for each block", saves)
	}
	full := errors.New("disk full")
	d.cfg.Save = func(State) error { return full }
	if e, err := d.Seal(Header{ContentType: byo.ContentChatIn}, nil); !errors.Is(err, full) || e.Ciphertext != "" {
		t.Errorf("Seal without a reservation = %q, %v, want the disk's error", e.Ciphertext, err)
	}
}

// SW-09: what was opened before a restart stays opened.
func TestWindowSurvivesRestart(t *testing.T) {
	d, p := pair(t, newWall())
	e := must[byo.Envelope](t)(d.Seal(Header{ContentType: byo.ContentChatIn}, []byte("once")))
	b := Binding{ContentType: byo.ContentChatIn}
	if _, err := p.Open(e, b); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(p.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	if _, err := must[*Duplex](t)(Restore(s, Config{})).Open(e, b); !errors.Is(err, ErrReplay) {
		t.Errorf("Open after a restart = %v, want ErrReplay", err)
	}
}

// States are stored in the order in which they were made, whoever stores them.
func TestCheckpointsAreOrdered(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	root, _ := k.roots(t, k.handshake())
	reserved := uint64(0) // what is on disk; the Duplex's lock guards it
	store := func(s State) error {
		if s.Current.Reserved < reserved {
			t.Errorf("a state with %d reserved numbers overwrites one with %d", s.Current.Reserved, reserved)
		}
		reserved = s.Current.Reserved
		return nil
	}
	d := NewDuplex(root, Config{Save: store})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range ReserveBlock / 2 {
				if _, err := d.Seal(Header{ContentType: byo.ContentChatIn}, nil); err != nil {
					t.Error(err)
				}
				if err := d.Checkpoint(store); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if reserved != 2*ReserveBlock {
		t.Errorf("%d numbers are reserved, want %d", reserved, 2*ReserveBlock)
	}
	full := errors.New("disk full")
	if err := d.Checkpoint(func(State) error { return full }); !errors.Is(err, full) {
		t.Errorf("Checkpoint = %v, want the disk's error", err)
	}
	d.Erase()
	if err := d.Checkpoint(store); !errors.Is(err, ErrErased) {
		t.Errorf("Checkpoint after Erase = %v, want ErrErased", err)
	}
}

func TestRestoreRefusals(t *testing.T) {
	d, p := pair(t, newWall())
	must[*byo.Envelope](t)(p.Control(must[byo.Envelope](t)(d.Offer())))
	for name, tt := range map[string]struct {
		from   *Duplex
		change func(s *State)
	}{
		"nothing":               {d, func(s *State) { *s = State{} }},
		"unknown role":          {d, func(s *State) { s.Role = "relay" }},
		"short root":            {d, func(s *State) { s.Current.Root = s.Current.Root[:31] }},
		"no transcript":         {d, func(s *State) { s.Current.Transcript = nil }},
		"window of another":     {d, func(s *State) { s.Current.Window = "AAAA" }},
		"offer of an old epoch": {d, func(s *State) { s.Offer.Epoch = 0 }},
		"offer without key":     {d, func(s *State) { s.Offer.Secret = "" }},
		"next without key":      {p, func(s *State) { s.Next.OwnSecret = "" }},
		"next too far":          {p, func(s *State) { s.Next.Epoch = 7 }},
		"next without peer":     {p, func(s *State) { s.Next.PeerKey = nil }},
	} {
		s := tt.from.Snapshot()
		tt.change(&s)
		if _, err := Restore(s, Config{}); !errors.Is(err, ErrState) {
			t.Errorf("%s: Restore = %v, want ErrState", name, err)
		}
	}
}

// After a revoke nothing seals, opens or can be restored, and no key is left.
func TestErase(t *testing.T) {
	d, p := pair(t, newWall())
	e := must[byo.Envelope](t)(d.Seal(Header{ContentType: byo.ContentChatIn}, nil))
	must[*byo.Envelope](t)(p.Control(must[byo.Envelope](t)(d.Offer())))
	current, next := p.current, p.next
	p.Erase()
	if current.send != [keySize]byte{} || next.receive != [keySize]byte{} || next.root.key != [keySize]byte{} || *next.own.b != [32]byte{} {
		t.Error("Erase leaves keys behind")
	}
	_, sealErr := p.Seal(Header{ContentType: byo.ContentChatOut}, nil)
	_, openErr := p.Open(e, Binding{ContentType: byo.ContentChatIn})
	_, offerErr := p.Offer()
	_, doneErr := p.Done()
	for _, err := range []error{sealErr, openErr, offerErr, doneErr} {
		if !errors.Is(err, ErrErased) {
			t.Errorf("after Erase: %v, want ErrErased", err)
		}
	}
	if p.RekeyDue() {
		t.Error("RekeyDue() = true without keys")
	}
	if _, err := Restore(p.Snapshot(), Config{}); !errors.Is(err, ErrState) {
		t.Errorf("Restore of an erased state = %v, want ErrState", err)
	}
	p.Erase()
}

// SW-09: of the same envelope in many goroutines exactly one opens; senders in
// many goroutines use different numbers.
func TestConcurrentUse(t *testing.T) {
	d, p := pair(t, newWall())
	static := must[*Static](t)(NewStatic(must[SecretKey](t)(Generate(counting(1))), must[SecretKey](t)(Generate(counting(2))).Public(), Desktop))
	peer := must[*Static](t)(NewStatic(must[SecretKey](t)(Generate(counting(2))), must[SecretKey](t)(Generate(counting(1))).Public(), Plugin))
	b := Binding{ContentType: byo.ContentChatIn}
	var wg sync.WaitGroup
	var mu sync.Mutex
	opened := map[string]int{}
	open := func(name string, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			opened[name]++
		case !errors.Is(err, ErrReplay):
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				e, err := d.Seal(Header{ContentType: byo.ContentChatIn}, []byte("x"))
				s, serr := static.Seal(Header{ContentType: byo.ContentChatIn}, []byte("x"))
				if err != nil || serr != nil {
					t.Error(err, serr)
					return
				}
				var both sync.WaitGroup
				for range 2 {
					both.Go(func() {
						_, err := p.Open(e, b)
						open(fmt.Sprint("duplex ", i, j), err)
						_, err = peer.Open(s, byo.ContentChatIn)
						open(fmt.Sprint("static ", i, j), err)
					})
				}
				both.Wait()
			}
		})
	}
	wg.Wait()
	if len(opened) != 2*8*20 {
		t.Errorf("%d envelopes opened, want %d", len(opened), 2*8*20)
	}
	for name, n := range opened {
		if n != 1 {
			t.Errorf("%s opened %d times, want once", name, n)
		}
	}
}

func TestSeenForgetsTheOldest(t *testing.T) {
	s := NewSeen(3)
	for _, id := range []string{"a", "b", "c", "d"} {
		if !s.Add(id) {
			t.Errorf("Add(%s) = false the first time", id)
		}
	}
	if s.Add("d") || s.Add("b") {
		t.Error("Add takes an id twice")
	}
	if !s.Add("a") {
		t.Error("Add(a) = false, want the oldest forgotten")
	}
	if len(s.ids) != 3 || len(s.ring) != 3 {
		t.Errorf("%d ids are kept, want 3", len(s.ids))
	}
}

// Every message has a fresh nonce and id.
func TestSealIsFresh(t *testing.T) {
	d, _ := pair(t, newWall())
	nonces, ids := map[string]bool{}, map[string]bool{}
	for range 2000 {
		e := must[byo.Envelope](t)(d.Seal(Header{ContentType: byo.ContentChatIn}, []byte("same")))
		if nonces[e.Nonce] || ids[e.MessageID] {
			t.Fatal("a nonce or an id repeats")
		}
		nonces[e.Nonce], ids[e.MessageID] = true, true
		if err := byo.CheckUUID("message_id", e.MessageID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Seal(Header{ContentType: "has space"}, nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("Seal with bad metadata = %v, want ErrMalformed", err)
	}
	d.cfg.Rand = strings.NewReader("")
	if _, err := d.Seal(Header{ContentType: byo.ContentChatIn}, nil); err == nil {
		t.Error("Seal goes on without random bytes")
	}
}

// Our base64 is that of everybody.
func TestAppendBase64(t *testing.T) {
	src := make([]byte, 5000)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range src {
		src[i] = byte(r.Uint32())
	}
	for n := range 100 {
		n *= 1 + n%50
		want := base64.StdEncoding.AppendEncode([]byte("x"), src[:n])
		if got := appendBase64([]byte("x"), src[:n]); !bytes.Equal(got, want) {
			t.Fatalf("base64 of %d bytes = %s, want %s", n, got, want)
		}
	}
}

// FuzzOpen: nothing that a relay could send opens, panics, or gives text away
// with an error.
func FuzzOpen(f *testing.F) {
	k := readJSON[keys](f, "testdata/keys.json")
	file := readJSON[struct{ Cases []openCase }](f, "testdata/envelopes.json")
	authentic := map[string]bool{}
	for i, c := range file.Cases {
		// What was sealed with the keys, damaged later or not.
		authentic[c.Envelope.Ciphertext] = true
		if i%4 == 0 {
			data, err := json.Marshal(c.Envelope)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e byo.Envelope
		if json.Unmarshal(data, &e) != nil {
			return
		}
		for _, c := range []openCase{{Keys: "sas_style", Receiver: "plugin"}, {Keys: "sas_style", Receiver: "desktop"},
			{Keys: "static_v1", Receiver: "plugin"}, {Keys: "static_v1", Receiver: "desktop"}} {
			plain, err := k.opener(t, c)(e, bindingOf(e))
			if err == nil && !authentic[e.Ciphertext] {
				t.Fatalf("%s of %s opens %s", c.Receiver, c.Keys, data)
			}
			if err != nil && (plain != nil || !Refused(err)) {
				t.Fatalf("Open = %q, %v", plain, err)
			}
		}
	})
}

// The goal is 20 µs for sealing and opening 4 KiB.
func BenchmarkSealOpen4KiB(b *testing.B) {
	k := readJSON[keys](b, "testdata/keys.json")
	droot, proot := k.roots(b, k.handshake())
	d, p := NewDuplex(droot, Config{}), NewDuplex(proot, Config{})
	data := bytes.Repeat([]byte("x"), 4092) // with its length exactly 4 KiB
	h, bind := Header{ContentType: byo.ContentChatIn}, Binding{ContentType: byo.ContentChatIn}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		e, err := d.Seal(h, data)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Open(e, bind); err != nil {
			b.Fatal(err)
		}
	}
}

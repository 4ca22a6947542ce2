package conformance

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Target is a running gateway.
type Target struct {
	URL   string // ws://…
	Token string
	// Home is the folder that the recordings write as "~".
	Home string
	// Stop ends the gateway's process, for recordings that do so.
	Stop func()
}

const (
	// patience is how long a recorded frame may take to come.
	patience = 8 * time.Second
	// statePatience is the same for frames that newer ones may have replaced.
	statePatience = 1500 * time.Millisecond
	// maxPause bounds how long a play waits because its recording did.
	maxPause = 2 * time.Second
	// settle is how long to listen for frames that nobody expects at the end.
	settle = 300 * time.Millisecond
)

// player replays one recording.
type player struct {
	rec    *Recording
	target Target
	b      *binding
	keys   *keyring

	before int64     // time of the line before this one
	at     time.Time // when it was done

	socks map[string]*socket
	last  map[string]int // per connection: index of the ordered frame matched last
	diffs []Diff
}

// Play sends what the recording's clients sent and returns every difference
// between what the gateway answers and what was recorded.
func Play(ctx context.Context, rec *Recording, target Target) ([]Diff, error) {
	p := &player{
		rec: rec, target: target, b: newBinding(target.Home, target.Token), keys: &keyring{private: map[string]ed25519.PrivateKey{}},
		socks: map[string]*socket{}, last: map[string]int{},
	}
	defer p.closeAll()
	for i, l := range rec.Lines {
		if err := p.pause(ctx, l); err != nil {
			return nil, err
		}
		if err := p.step(ctx, l); err != nil {
			return nil, fmt.Errorf("play %s, line %d: %w", rec.Name, i+1, err)
		}
		p.before, p.at = max(l.T, p.before), time.Now()
	}
	p.rest()
	return p.diffs, nil
}

// pause waits before the client acts as long as the recorded one did since the
// last thing that happened: some of them wait for the gateway to get somewhere.
func (p *player) pause(ctx context.Context, l Line) error {
	wait := time.Duration(0)
	if l.Dir == dirSend {
		wait = min(maxPause, time.Duration(l.T-p.before)*time.Millisecond-time.Since(p.at))
	}
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *player) step(ctx context.Context, l Line) error {
	s := p.socks[l.Conn]
	if l.Dir != "" && l.Dir != dirOpen && s == nil {
		return fmt.Errorf("connection %s is not open", l.Conn)
	}
	switch l.Dir {
	case "":
		if strings.Contains(l.Note, "gets SIGTERM") && p.target.Stop != nil {
			p.target.Stop()
		}
	case dirOpen:
		header := http.Header{}
		if addr := forwarded[p.rec.Name+"/"+l.Conn]; addr != "" {
			header.Set("X-Forwarded-For", addr)
		}
		s, err := dialPatiently(ctx, p.target.URL, l.Conn, header)
		if err != nil {
			return err
		}
		p.socks[l.Conn] = s
	case dirSend:
		return p.send(s, l)
	case dirRecv:
		p.expect(s, l)
	case dirClose:
		p.expectClose(s, l)
	}
	return nil
}

// forwarded lists connections that came through a proxy; recordings do not hold
// HTTP headers.
var forwarded = map[string]string{
	"connect-pairing-remote/remote":                "203.0.113.9",
	"connect-pairing-remote/remote-after-approval": "203.0.113.9",
	"connect-pairing-remote/remote-no-nonce":       "203.0.113.9",
	"connect-pairing-remote/remote-2":              "203.0.113.10",
}

func (p *player) add(s *socket, frame string, ds ...Diff) {
	for _, d := range ds {
		d.Scenario, d.Conn, d.Frame = p.rec.Name, s.name, frame
		p.diffs = append(p.diffs, d)
	}
}

// send sends a recorded frame, with its placeholders filled and its signature
// made anew.
func (p *player) send(s *socket, l Line) error {
	if l.Text != nil {
		return s.send(*l.Text)
	}
	id, method := str(l.Frame, "id"), str(l.Frame, "method")
	s.methods[id] = method
	recorded, isConnect := l.Frame["params"].(map[string]any)
	isConnect = isConnect && method == "connect"
	if isConnect {
		p.keys.prepare(recorded, p.b)
	}
	frame, err := p.fill(l.Frame, l.T)
	if err != nil {
		return err
	}
	if isConnect {
		p.keys.sign(frame.(map[string]any)["params"].(map[string]any), forged[p.rec.Name+"/"+l.Conn])
	}
	data, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	return s.send(string(data))
}

// fill copies a recorded value for sending. T is when it was sent: times in it
// keep their distance to that.
func (p *player) fill(v any, t int64) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			e, err := p.fill(v[k], t)
			if err != nil {
				return nil, err
			}
			out[k] = e
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			e, err := p.fill(e, t)
			if err != nil {
				return nil, err
			}
			out[i] = e
		}
		return out, nil
	case string:
		s, ok := p.b.fill(v)
		if !ok {
			return nil, fmt.Errorf("nothing is known yet for the placeholders of %q", v)
		}
		return s, nil
	case json.Number:
		if n, err := v.Int64(); err == nil && isTime(n, epoch) {
			return json.Number(strconv.FormatInt(time.Now().UnixMilli()+n-epoch-t, 10)), nil
		}
	}
	return v, nil
}

// expect waits for a recorded frame and compares it.
func (p *player) expect(s *socket, l Line) {
	if l.Frame == nil {
		p.add(s, "text", Diff{Kind: Missing, Want: text(l.Text)})
		return
	}
	want := describe(l.Frame, s.methods)
	limit := patience
	switch want.class {
	case clocked:
		return // looked at by rest
	case state:
		limit = statePatience
	}
	var at int
	var got *Frame
	s.await(limit, func() bool {
		at, got = s.pick(p.expand(want.Key))
		return got != nil
	})
	if got == nil {
		p.add(s, want.Key, Diff{Kind: Missing, Want: text(l.Frame)})
		return
	}
	got.used = true
	if want.class == ordered {
		if at < p.last[s.name] {
			p.add(s, want.Key, Diff{Kind: Order})
		}
		p.last[s.name] = max(p.last[s.name], at)
	}
	c := &comparer{b: p.b}
	c.compare(nil, l.Frame, got.body)
	p.add(s, want.Key, c.diffs...)
	if want.Key == "event connect.challenge" {
		s.nonce = str(got.body, "payload", "nonce")
	}
}

// expand writes a key with what its placeholders are bound to.
func (p *player) expand(key string) string {
	if filled, ok := p.b.fill(key); ok {
		return filled
	}
	return key
}

// expectClose compares how a connection ends.
func (p *player) expectClose(s *socket, l Line) {
	if p.rec.closedByClient(l) {
		p.quiet(s)
		s.close()
		return
	}
	limit := min(patience, time.Second) + time.Duration(l.T-p.before)*time.Millisecond
	if !s.await(limit, func() bool { return s.ended }) {
		p.add(s, "close", Diff{Kind: Close, Want: fmt.Sprintf("%d %s", l.Code, l.Reason), Got: "still open"})
		s.close()
		return
	}
	code, reason := s.closing()
	if code != l.Code || !p.b.match(l.Reason, reason) {
		p.add(s, "close", Diff{Kind: Close, Want: fmt.Sprintf("%d %s", l.Code, l.Reason), Got: fmt.Sprintf("%d %s", code, reason)})
	}
}

// quiet gives frames that nobody expects the time to come.
func (p *player) quiet(s *socket) {
	s.await(settle, func() bool { return false })
}

// rest judges what was not expected, and what is compared by rules of its own.
func (p *player) rest() {
	for _, name := range slices.Sorted(maps.Keys(p.socks)) {
		s := p.socks[name]
		p.quiet(s)
		for _, f := range s.left() {
			if f.class != clocked {
				p.add(s, f.Key, Diff{Kind: Extra, Got: text(f.body)})
			}
		}
		p.add(s, "sequence", checkSequence(s.all())...)
	}
}

func (p *player) closeAll() {
	for _, s := range p.socks {
		s.close()
	}
}

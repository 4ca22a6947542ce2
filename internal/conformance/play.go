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
	// Patience is how long a recorded frame may take to come; default 8 s.
	Patience time.Duration
}

const (
	// patience is the default of Target.Patience.
	patience = 8 * time.Second
	// statePatience is how long frames may take that newer ones may have replaced.
	statePatience = 1500 * time.Millisecond
	// shortPatience is how long frames may take that need not come.
	shortPatience = 500 * time.Millisecond
	// maxPause bounds how long a play waits because its recording did.
	maxPause = 2 * time.Second
	// plainClose is how a client goes when its recording does not say it.
	plainClose = 1000
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
	acted  time.Time // when the recording's time was 0, by the client's last act

	clocked []Line          // the first of each clocked frame
	seen    map[string]bool // by connection and key

	socks map[string]*socket
	last  map[string]int // per connection: index of the ordered frame matched last
	diffs []Diff
}

// Play sends what the recording's clients sent and returns every difference
// between what the gateway answers and what was recorded.
func Play(ctx context.Context, rec *Recording, target Target) ([]Diff, error) {
	if target.Patience <= 0 {
		target.Patience = patience
	}
	p := &player{
		rec: rec, target: target, b: newBinding(target.Home, target.Token), keys: &keyring{private: map[string]ed25519.PrivateKey{}},
		seen: map[string]bool{}, socks: map[string]*socket{}, last: map[string]int{},
	}
	defer p.closeAll()
	for _, d := range rec.known {
		if err := p.introduce(ctx, d); err != nil {
			return nil, fmt.Errorf("introduce a device of %s: %w", rec.Name, err)
		}
	}
	for i, l := range rec.Lines {
		if err := p.pause(ctx, l); err != nil {
			return nil, err
		}
		if err := p.step(ctx, l); err != nil {
			return nil, fmt.Errorf("play %s, line %d: %w", rec.Name, i+1, err)
		}
		p.before, p.at = max(l.T, p.before), time.Now()
		if l.Dir == dirOpen || l.Dir == dirSend {
			p.acted = p.at.Add(-time.Duration(l.T) * time.Millisecond)
		}
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
	p.diffs = append(p.diffs, p.placed(s, frame, ds...)...)
}

// placed says where differences were found.
func (p *player) placed(s *socket, frame string, ds ...Diff) []Diff {
	for i := range ds {
		ds[i].Scenario, ds[i].Conn, ds[i].Frame = p.rec.Name, s.name, frame
	}
	return ds
}

// send sends a recorded frame, with its placeholders filled and its signature
// made anew.
func (p *player) send(s *socket, l Line) error {
	if l.Text != nil {
		return s.send(*l.Text)
	}
	id, method := str(l.Frame, "id"), str(l.Frame, "method")
	s.methods[id] = method
	p.invent(id, str(l.Frame, "params", "idempotencyKey"), str(l.Frame, "params", "client", "instanceId"))
	if real, ok := p.b.fill(id); ok {
		s.methods[real] = method
	}
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
	due := p.acted.Add(time.Duration(l.T) * time.Millisecond)
	limit := p.target.Patience + max(0, time.Until(due))
	switch want.class {
	case clocked:
		if key := s.name + "/" + want.Key; !p.seen[key] {
			p.seen[key] = true
			p.clocked = append(p.clocked, l)
		}
		return // looked at by rest
	case state:
		limit = min(limit, statePatience)
	}
	missing := p.placed(s, want.Key, Diff{Kind: Missing, Want: text(l.Frame)})
	if left, _ := Judge(missing, tolerated); len(left) == 0 && want.class != state {
		limit = min(limit, shortPatience)
	}
	pattern, _ := p.b.pattern(want.Key)
	// A newer state may have replaced the recorded one: any that is the same will
	// do, or else the oldest.
	var got *Frame
	var at int
	var diffs []Diff
	known, bound := p.b, p.b
	s.await(limit, func() bool {
		for i, n := range s.candidates(pattern.MatchString) {
			p.b = known.clone() // what a frame that will not do seems to say is forgotten
			ds := p.compare(s, want.Key, l.Frame, s.frames[n])
			left, _ := Judge(ds, tolerated)
			if i == 0 || len(left) == 0 {
				got, at, diffs, bound = s.frames[n], n, ds, p.b
			}
			if want.class != state || len(left) == 0 {
				return true
			}
		}
		return false
	})
	p.b = bound
	if got == nil {
		if want.class == state && s.told(pattern.MatchString) {
			missing[0].Kind = Merged
		}
		p.diffs = append(p.diffs, missing...)
		return
	}
	got.used = true
	if want.class == ordered {
		if at < p.last[s.name] {
			p.add(s, want.Key, Diff{Kind: Order})
		}
		p.last[s.name] = max(p.last[s.name], at)
	}
	p.diffs = append(p.diffs, diffs...)
	if want.Key == "event connect.challenge" {
		s.nonce = str(got.body, "payload", "nonce")
	}
}

// compare returns the differences of a received frame from the recorded one.
func (p *player) compare(s *socket, key string, want map[string]any, got *Frame) []Diff {
	unknown := "unknown method: " + s.methods[str(got.body, "id")]
	if got.class == answer && str(got.body, "error", "message") == unknown && str(want, "error", "message") != unknown {
		return p.placed(s, key, Diff{Kind: Unknown, Want: text(want), Got: unknown})
	}
	c := &comparer{b: p.b}
	c.compare(nil, want, got.body)
	return p.placed(s, key, c.diffs...)
}

// expectClose compares how a connection ends.
func (p *player) expectClose(s *socket, l Line) {
	if p.rec.closedByClient(l) {
		p.quiet(s)
		s.close(l.Code)
		return
	}
	limit := min(p.target.Patience, time.Second) + time.Duration(l.T-p.before)*time.Millisecond
	if !s.await(limit, func() bool { return s.ended }) {
		p.add(s, "close", Diff{Kind: Close, Want: fmt.Sprintf("%d %s", l.Code, l.Reason), Got: "still open"})
		s.close(plainClose)
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
		p.add(s, "sequence", checkChats(s.all())...)
	}
	for _, l := range p.clocked {
		p.compareClocked(p.socks[l.Conn], l)
	}
}

// compareClocked compares the first of the frames that come by the clock, but not
// how far things had got. A tick need not come while the play lasts.
func (p *player) compareClocked(s *socket, l Line) {
	want := describe(l.Frame, s.methods)
	pattern, _ := p.b.pattern(want.Key)
	i := slices.IndexFunc(s.all(), func(f *Frame) bool { return pattern.MatchString(f.Key) })
	if i < 0 {
		if want.Key != "event tick" {
			p.add(s, want.Key, Diff{Kind: Missing, Want: text(l.Frame)})
		}
		return
	}
	p.diffs = append(p.diffs, slices.DeleteFunc(p.compare(s, want.Key, l.Frame, s.all()[i]), func(d Diff) bool {
		return d.Path == "payload.seq" || d.Path == "payload.message.content.0.text"
	})...)
}

func (p *player) closeAll() {
	for _, s := range p.socks {
		s.close(plainClose)
	}
}

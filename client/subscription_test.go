package client

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/protocol"
)

func event(name, payload string, seq int) string {
	s := ""
	if seq > 0 {
		s = fmt.Sprintf(`,"seq":%d`, seq)
	}
	return fmt.Sprintf(`{"type":"event","event":%q,"payload":%s%s}`, name, payload, s)
}

func TestEvents(t *testing.T) {
	g := serve(t, func(p *peer) {
		id, _ := p.challenge()
		p.send(event("voicewake.changed", `{"triggers":["x"]}`, 0))
		p.hello(id, 0, nil)
		p.send(event("tick", `{"ts":1}`, 1))
		p.send(event("tick", `{"ts":2}`, 2))
		p.send(event("node.invoke.request", `{}`, 0))
		p.send(event("chat", `{"state":"final"}`, 5))
		p.drain()
	})
	o := g.options()
	o.EventQueue = 10
	c := dialTest(t, o)
	type seen struct {
		Name   string
		Missed int64
	}
	var got []seen
	for range 5 {
		e, err := c.Events().Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, seen{e.Name, e.Missed})
	}
	want := []seen{{"voicewake.changed", 0}, {"tick", 0}, {"tick", 0}, {"node.invoke.request", 0}, {"chat", 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Events().Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next = %v, want context.Canceled", err)
	}
}

func TestSubscribeByName(t *testing.T) {
	g := serve(t, func(p *peer) {
		p.welcome(0)
		p.receive()
		p.send(event("tick", `{"ts":1}`, 1))
		p.send(event("presence", `{"presence":[]}`, 2))
		p.drain()
	})
	c := dialTest(t, g.options())
	sub, closed := c.Subscribe(protocol.EventPresence), c.Subscribe()
	closed.Close()
	if c.Events() != nil {
		t.Error("Events without EventQueue is not nil")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = c.Call(ctx, "never sent", nil, nil)
	if err := c.write(t.Context(), []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	e, err := sub.Next(t.Context())
	if err != nil || e.Name != protocol.EventPresence {
		t.Errorf("Next = %+v, %v, want presence", e, err)
	}
	var payload protocol.PresenceEvent
	if err := e.Decode(&payload); err != nil || payload.Presence == nil {
		t.Errorf("Decode = %+v, %v, want an empty list", payload, err)
	}
	if _, err := closed.Next(t.Context()); !errors.Is(err, errUnsubscribed) {
		t.Errorf("Next of a closed subscription = %v", err)
	}
}

// The stated policy of a full queue.
func TestSubscriptionPolicy(t *testing.T) {
	c := &Client{subs: map[*Subscription]struct{}{}, calls: map[string]*call{}}
	delta, final := `{"state":"delta"}`, `{"state":"final"}`
	text, tool := `{"stream":"assistant","data":{}}`, `{"stream":"tool","data":{"phase":"result"}}`
	update, end := `{"stream":"tool","data":{"phase":"update"}}`, `{"stream":"lifecycle","data":{"phase":"end"}}`
	tests := []struct {
		name    string
		in      [][2]string
		want    []string
		dropped int64
		err     error
	}{
		{"fits", [][2]string{{"chat", delta}, {"agent", end}}, []string{delta, end}, 0, nil},
		{"new delta is dropped", [][2]string{{"chat", final}, {"agent", tool}, {"chat", delta}, {"agent", text}}, []string{final, tool}, 2, nil},
		{"an end pushes the oldest delta out", [][2]string{{"agent", text}, {"agent", update}, {"chat", final}, {"agent", end}}, []string{final, end}, 2, nil},
		{"ends are never lost silently", [][2]string{{"chat", final}, {"agent", end}, {"agent", tool}, {"chat", delta}}, []string{final, end}, 0, ErrOverflow},
		{"odd payloads are kept", [][2]string{{"chat", `1`}, {"agent", `[]`}, {"tick", `{}`}}, []string{`1`, `[]`}, 1, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := c.subscribe(2, nil)
			for _, e := range tt.in {
				s.push(Event{Name: e[0], Payload: []byte(e[1])})
			}
			if s.Dropped() != tt.dropped {
				t.Errorf("Dropped = %d, want %d", s.Dropped(), tt.dropped)
			}
			for _, want := range tt.want {
				if e, err := s.Next(t.Context()); err != nil || string(e.Payload) != want {
					t.Errorf("Next = %s, %v, want %s", e.Payload, err, want)
				}
			}
			if tt.err != nil {
				if _, err := s.Next(t.Context()); !errors.Is(err, tt.err) {
					t.Errorf("Next = %v, want %v", err, tt.err)
				}
			}
			s.Close()
		})
	}
}

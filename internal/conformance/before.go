package conformance

import (
	"context"
	"fmt"
	"maps"
	"strings"
)

// introduce lets a device in with the shared secret, so that it has the token it
// is going to show. That leaves no trace in presence.
func (p *player) introduce(ctx context.Context, d device) error {
	l := d.connect
	s, err := dial(ctx, p.target.URL, l.Conn, nil)
	if err != nil {
		return err
	}
	defer s.close(plainClose)
	answer := func(key string) (body map[string]any, err error) {
		found := s.await(p.target.Patience, func() bool {
			at := s.candidates(func(k string) bool { return k == key })
			if len(at) > 0 {
				body = s.frames[at[0]].body
			}
			return body != nil
		})
		if !found {
			return nil, fmt.Errorf("%s did not come", key)
		}
		return body, nil
	}
	challenge, err := answer("event connect.challenge")
	if err != nil {
		return err
	}
	recorded := l.Frame["params"].(map[string]any)
	params, signed := maps.Clone(recorded), maps.Clone(recorded["device"].(map[string]any))
	signed["nonce"] = str(challenge, "payload", "nonce")
	params["device"], params["scopes"], params["auth"] = signed, d.scopes, map[string]any{"token": p.target.Token}
	params["client"] = map[string]any{"id": "cli", "mode": "cli", "version": "1", "platform": "linux"}
	p.keys.prepare(params, p.b)
	if err := p.send(s, Line{T: l.T, Frame: map[string]any{"type": "req", "id": "introduce", "method": "connect", "params": params}}); err != nil {
		return err
	}
	hello, err := answer("res connect introduce")
	if err != nil {
		return err
	}
	p.b.bind(d.token, str(hello, "payload", "auth", "deviceToken"))
	return nil
}

// invent makes up ids that the recorded client had made up.
func (p *player) invent(ids ...string) {
	for _, id := range ids {
		if strings.HasPrefix(id, "<uuid-") && p.b.real[id] == "" {
			p.b.bind(id, newUUID())
		}
	}
}

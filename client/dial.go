package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"openclaw/protocol"
)

// Dial connects and shakes hands. ctx bounds only that, the connection lives
// until [Client.Close]. A refusal is a *[ConnectError].
func Dial(ctx context.Context, o Options) (*Client, error) {
	o = o.withDefaults()
	token, stored, err := o.chooseToken()
	if err != nil {
		return nil, err
	}
	c, err := dial(ctx, o, token)
	if err == nil || !stored || !tokenRefused(err) || (o.Token == "" && o.Password == "") {
		return c, err
	}
	if err := o.Tokens.Delete(o.Role); err != nil {
		return nil, fmt.Errorf("forget refused device token: %w", err)
	}
	return dial(ctx, o, o.Token)
}

// chooseToken prefers the device's own token for the role.
func (o Options) chooseToken() (token protocol.Secret, stored bool, err error) {
	if o.Signer == nil || o.Tokens == nil {
		return o.Token, false, nil
	}
	token, err = o.Tokens.Token(o.Role)
	if err != nil {
		return "", false, err
	}
	if token == "" {
		return o.Token, false, nil
	}
	return token, true, nil
}

func dial(ctx context.Context, o Options, token protocol.Secret) (*Client, error) {
	http, err := httpClient(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.HandshakeTimeout, errors.New("gateway did not complete the handshake in time"))
	defer cancel()
	ws, _, err := websocket.Dial(ctx, o.URL, &websocket.DialOptions{HTTPClient: http, HTTPHeader: o.Header})
	http.CloseIdleConnections()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("connect to gateway %s: %w", redactURL(o.URL), err)
	}
	ws.SetReadLimit(o.MaxMessage)
	h := handshake{ws: ws, opts: o, token: token}
	hello, err := h.run(ctx)
	if err != nil {
		_ = ws.CloseNow()
		if ctx.Err() != nil {
			err = fmt.Errorf("connect to gateway %s: %w", redactURL(o.URL), context.Cause(ctx))
		}
		return nil, err
	}
	if o.Signer != nil && o.Tokens != nil && hello.Auth != nil && hello.Auth.DeviceToken != "" {
		if err := o.Tokens.Save(hello.Auth.Role, hello.Auth.DeviceToken, hello.Auth.Scopes); err != nil {
			_ = ws.CloseNow()
			return nil, fmt.Errorf("keep device token: %w", err)
		}
	}
	return start(ws, o, hello, h.early), nil
}

// handshake is the talk before hello-ok.
type handshake struct {
	ws    *websocket.Conn
	opts  Options
	token protocol.Secret
	early []protocol.Frame // events that came before hello-ok
}

const connectID = "connect"

func (h *handshake) run(ctx context.Context) (*protocol.HelloOK, error) {
	var challenge protocol.ChallengeEvent
	for challenge.Nonce == "" {
		f, err := h.read(ctx)
		if err != nil {
			return nil, err
		}
		if f.Type == protocol.TypeEvent && f.Event == protocol.EventChallenge {
			if err := json.Unmarshal(f.Payload, &challenge); err != nil || challenge.Nonce == "" {
				return nil, errors.New("gateway sent a challenge without nonce")
			}
		}
	}
	params, err := json.Marshal(h.opts.connectParams(challenge, h.token))
	if err != nil {
		return nil, fmt.Errorf("encode connect: %w", err)
	}
	req, err := json.Marshal(protocol.Request{Type: protocol.TypeRequest, ID: connectID, Method: protocol.MethodConnect, Params: params})
	if err != nil {
		return nil, fmt.Errorf("encode connect: %w", err)
	}
	if err := h.ws.Write(ctx, websocket.MessageText, req); err != nil {
		return nil, &ConnectError{Close: closeError(err)}
	}
	for {
		f, err := h.read(ctx)
		if err != nil {
			return nil, err
		}
		switch {
		case f.Type == protocol.TypeResponse && f.ID == connectID:
			return h.answer(ctx, f)
		case f.Type == protocol.TypeEvent:
			h.early = append(h.early, f)
		}
	}
}

func (h *handshake) read(ctx context.Context) (protocol.Frame, error) {
	_, data, err := h.ws.Read(ctx)
	if err != nil {
		return protocol.Frame{}, &ConnectError{Close: closeError(err)}
	}
	var f protocol.Frame
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("gateway sent a frame that cannot be read: %w", err)
	}
	return f, nil
}

// answer reads hello-ok, or the refusal and the close that follows it.
func (h *handshake) answer(ctx context.Context, f protocol.Frame) (*protocol.HelloOK, error) {
	if !f.OK {
		refusal := f.Error
		if refusal == nil {
			refusal = &protocol.Error{Code: protocol.CodeUnavailable, Message: "connect refused"}
		}
		return nil, &ConnectError{Refusal: refusal, Close: h.awaitClose(ctx)}
	}
	var hello protocol.HelloOK
	if err := json.Unmarshal(f.Payload, &hello); err != nil {
		return nil, fmt.Errorf("read hello-ok: %w", err)
	}
	if hello.Type != protocol.HelloType || hello.Protocol < h.opts.MinProtocol || hello.Protocol > h.opts.MaxProtocol {
		return nil, fmt.Errorf("gateway answered %q with protocol %d, want hello-ok with protocol %d to %d",
			hello.Type, hello.Protocol, h.opts.MinProtocol, h.opts.MaxProtocol)
	}
	return &hello, nil
}

// awaitClose waits a moment for the close frame that follows a refusal.
func (h *handshake) awaitClose(ctx context.Context) *CloseError {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for {
		if _, _, err := h.ws.Read(ctx); err != nil {
			if ce := closeError(err); ce.Code != closeAbnormal {
				return ce
			}
			return nil
		}
	}
}

// connectParams builds the connect request and signs it.
func (o Options) connectParams(challenge protocol.ChallengeEvent, token protocol.Secret) *protocol.ConnectParams {
	p := &protocol.ConnectParams{MinProtocol: o.MinProtocol, MaxProtocol: o.MaxProtocol, Client: o.Client,
		Caps: o.Caps, Commands: o.Commands, Permissions: o.Permissions, PathEnv: o.PathEnv,
		Role: o.Role, Scopes: o.Scopes, Locale: o.Locale, UserAgent: o.UserAgent}
	if token != "" || o.Password != "" {
		p.Auth = &protocol.ConnectAuth{Token: token, Password: o.Password}
	}
	if o.Signer == nil {
		return p
	}
	// The gateway's clock is the one that judges the age of the signature.
	p.Device = &protocol.ConnectDevice{ID: o.Signer.DeviceID(), PublicKey: o.Signer.PublicKey(),
		SignedAt: challenge.Ts, Nonce: challenge.Nonce}
	version := protocol.SignatureV2 // what gateways of protocol 3 and 4 both know
	if o.MinProtocol >= protocol.Version4 {
		version = protocol.SignatureV3
	}
	p.Device.Signature = o.Signer.Sign(protocol.DeviceText(version, p))
	return p
}

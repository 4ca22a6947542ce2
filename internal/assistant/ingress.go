package assistant

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"openclaw/byo"
	"openclaw/internal/guard"
)

// bodyTimeout bounds how long a request may take to arrive.
const bodyTimeout = 5 * time.Second

// IngressConfig joins an [Ingress] to the rest.
type IngressConfig struct {
	Token     func() byo.Secret // of this moment; at least 16 characters
	Talk      *Talk
	Callbacks *Callbacks
	// Hosts are names beyond those of this machine that a request may be sent to.
	Hosts   []string
	Version string

	Log *slog.Logger // default: discarded
	Now func() time.Time
}

// Ingress answers the desktop of the direct topology: /v1/incoming, /v1/events,
// /v1/ping and /v1/health. Serve it on a loopback address. See docs/byo.md#incoming.
type Ingress struct {
	cfg       IngressConfig
	log       *slog.Logger
	known     guard.Window // requests with the token
	strangers guard.Window // requests without
	oddities  atomic.Uint64
}

// NewIngress returns the handler.
func NewIngress(cfg IngressConfig) *Ingress {
	return &Ingress{cfg: cfg, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), known: guard.Window{Now: cfg.Now}, strangers: guard.Window{Now: cfg.Now}}
}

// ServeHTTP implements http.Handler.
func (i *Ingress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !guard.Loopback(r.RemoteAddr) {
		i.refuse(w, r, http.StatusForbidden, byo.ListenerNonLoopback)
		return
	}
	if name, ok := guard.HostName(r.Host); !ok || !guard.LocalName(name) && !slices.Contains(i.cfg.Hosts, name) {
		i.refuse(w, r, http.StatusForbidden, byo.ListenerInvalidHost)
		return
	}
	if len(r.Header.Values("Origin")) > 0 {
		i.refuse(w, r, http.StatusForbidden, "browser_rejected")
		return
	}
	if r.Method == http.MethodGet && r.URL.Path == "/v1/health" {
		reply(w, http.StatusOK, byo.PingAnswer{OK: true, Version: i.cfg.Version})
		return
	}
	token := string(i.cfg.Token())
	welcome := len(token) >= byo.MinToken && guard.Bearer(r.Header.Get("Authorization"), token)
	window := &i.known
	if !welcome {
		window = &i.strangers // so that they cannot use up what the desktop may send
	}
	leave, retry, err := window.Enter(guard.Peer(r.RemoteAddr))
	if err != nil {
		w.Header().Set("Retry-After", strconv.Itoa(int(retry/time.Second)+1))
		code := byo.ListenerRateLimited
		if errors.Is(err, guard.ErrTooMany) {
			code = byo.ListenerTooManyRequests
		}
		i.refuse(w, r, http.StatusTooManyRequests, code)
		return
	}
	if !welcome {
		defer leave()
		i.refuse(w, r, http.StatusUnauthorized, byo.ListenerInvalidToken)
		return
	}
	if r.Method == http.MethodGet && r.URL.Path == "/v1/events" {
		leave() // streams have limits of their own
		i.cfg.Talk.Events.serve(r.Context(), w, r)
		return
	}
	defer leave()
	i.post(w, r)
}

func (i *Ingress) post(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/incoming" && r.URL.Path != "/v1/ping" {
		fail(w, http.StatusNotFound, byo.ListenerNotFound)
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		fail(w, http.StatusUnsupportedMediaType, "content type must be application/json")
		return
	}
	if r.URL.Path == "/v1/ping" {
		reply(w, http.StatusOK, byo.PingAnswer{OK: true, Version: i.cfg.Version})
		return
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(bodyTimeout)) // a recorder in tests has none
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, byo.MaxIncomingBody))
	_ = conn.SetReadDeadline(time.Time{})
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			fail(w, http.StatusRequestEntityTooLarge, "body must have at most 262144 bytes")
			return
		}
		fail(w, http.StatusRequestTimeout, "body did not arrive in time")
		return
	}
	i.incoming(w, data)
}

func (i *Ingress) incoming(w http.ResponseWriter, data []byte) {
	in, err := byo.ParseIncoming(data)
	if err == nil && in.Callback != nil {
		err = i.cfg.Callbacks.Check(in.Callback.URL)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	answer, replay, err := i.cfg.Talk.Accept(in, RouteOf(&in))
	switch {
	case errors.Is(err, ErrInFlight):
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusServiceUnavailable, byo.ListenerInFlight)
		return
	case errors.Is(err, ErrBusy):
		w.Header().Set("Retry-After", "5")
		fail(w, http.StatusTooManyRequests, byo.ListenerTooManyRequests)
		return
	case err != nil:
		i.log.Error("a message could not be written down", "task", in.TaskID, "err", err)
		fail(w, http.StatusServiceUnavailable, "storage_unavailable")
		return
	}
	if replay {
		w.Header().Set(byo.HeaderReplay, "true")
	}
	reply(w, http.StatusAccepted, answer)
}

// refuse turns away somebody who should not be here; every 25th is worth a line.
func (i *Ingress) refuse(w http.ResponseWriter, r *http.Request, status int, code string) {
	if n := i.oddities.Add(1); n%25 == 1 {
		i.log.Warn("a request was turned away", "reason", code, "path", strings.ToValidUTF8(r.URL.Path, "?"), "so_far", n)
	}
	fail(w, status, code)
}

func fail(w http.ResponseWriter, status int, text string) {
	reply(w, status, byo.ListenerError{Error: text})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the other end has gone
}

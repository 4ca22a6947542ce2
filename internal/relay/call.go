package relay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"openclaw/byo"
)

// call is one request.
type call struct {
	*Relay
	w    http.ResponseWriter
	req  *http.Request
	who  token
	hash string // of the token
	max  int64  // bytes of the body
	sent bool   // the handler answered by itself
	code string // of the error, for the log
}

// answer is what a handler returns; a nil body has no content.
type answer struct {
	status int
	body   any
}

var noContent = answer{status: http.StatusNoContent}

func ok(body any) (answer, error) { return answer{http.StatusOK, body}, nil }

// auth says whose token a route wants.
type auth int

const (
	nobody auth = iota
	byDesktop
	byAssistant
	byEither
)

// route is one row of the API.
type route struct {
	pattern string
	auth    auth
	max     int64
	handle  func(*call) (answer, error)
}

// routes makes the handler of everything.
func (r *Relay) routes() http.Handler {
	mux := http.NewServeMux()
	for _, row := range api {
		method, path, _ := strings.Cut(row.pattern, " ")
		for _, base := range []string{byo.BasePath, byo.OldBasePath} {
			mux.Handle(method+" "+base+path, r.serve(row))
		}
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
	})
	mux.HandleFunc("GET /readyz", r.readyz)
	mux.Handle("/", r.serve(route{"", nobody, byo.MaxSmallBody, func(*call) (answer, error) { return answer{}, errNotFound }}))
	return mux
}

// readyz says whether a load balancer shall send streams here.
func (r *Relay) readyz(w http.ResponseWriter, req *http.Request) {
	if !r.ready.Load() || r.draining.Load() {
		writeError(w, errDraining)
		return
	}
	if _, err := r.store.Get(req.Context(), Locks, sweeperLock); err != nil && !isAbsent(err) {
		writeError(w, errStorage)
		return
	}
	writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
}

// serve answers a route: token first, then ids and body.
func (r *Relay) serve(row route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		begun := time.Now()
		c := &call{Relay: r, w: w, req: req, max: row.max}
		if id := req.Header.Get("X-Correlation-ID"); id != "" && byo.CheckMeta("", id) == nil {
			w.Header().Set("X-Correlation-ID", id)
		}
		status := c.answer(row)
		r.metrics.request(row.pattern, status, time.Since(begun))
		c.logCall(row, status, time.Since(begun))
	})
}

func (c *call) answer(row route) int {
	a, err := answer{}, c.authorize(row.auth)
	if err == nil {
		a, err = row.handle(c)
	}
	switch {
	case err != nil:
		e, known := wire(err)
		if !known {
			c.log.Error("request did not succeed", "route", row.pattern, "err", err)
		}
		c.code = e.Code
		if !c.sent {
			writeError(c.w, e)
		}
		return byo.Status(e.Code)
	case c.sent:
		return http.StatusOK
	case a.body == nil:
		c.w.WriteHeader(a.status)
	default:
		writeJSON(c.w, a.status, a.body)
	}
	return a.status
}

// logCall writes what may be known of a request: never a body, a token or a label.
func (c *call) logCall(row route, status int, took time.Duration) {
	level := slog.LevelDebug
	if status >= 500 {
		level = slog.LevelWarn
	}
	if !c.log.Enabled(c.req.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("route", row.pattern), slog.Int("status", status), slog.Duration("took", took),
		slog.String("peer", network(c.addr())), slog.Int64("bytes", c.req.ContentLength),
	}
	if c.code != "" {
		attrs = append(attrs, slog.String("code", c.code))
	}
	if c.who.ID != "" {
		attrs = append(attrs, slog.String(c.who.Kind, c.who.ID), slog.String("token", c.hash[:8]))
	}
	c.log.LogAttrs(c.req.Context(), level, "request", attrs...)
}

// decode reads the body into v, an object; an empty body is one too when the
// route allows it by v being all optional.
func (c *call) decode(v any, empty bool) error {
	data, err := c.body()
	if err != nil {
		return err
	}
	if empty && len(data) == 0 {
		return nil
	}
	return decode(data, v)
}

func decode(data []byte, v any) error {
	if len(data) == 0 || data[0] != '{' || json.Unmarshal(data, v) != nil {
		return errBody
	}
	return nil
}

// body reads the body within its limit, without white space around it.
func (c *call) body() ([]byte, error) {
	if c.req.ContentLength > c.max {
		return nil, errTooLarge
	}
	control := http.NewResponseController(c.w)
	if control.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil {
		defer func() { _ = control.SetReadDeadline(time.Time{}) }() // the connection may be gone
	}
	body := http.MaxBytesReader(c.w, c.req.Body, c.max)
	var buf bytes.Buffer
	if c.req.ContentLength > 0 {
		buf.Grow(int(c.req.ContentLength) + bytes.MinRead)
	}
	if _, err := io.Copy(&buf, body); err != nil {
		if e, known := wire(err); known {
			return nil, e
		}
		return nil, byo.Errorf(byo.CodeInvalidRequest, "the body could not be read")
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// bodyTimeout is how long a caller may take to send a body.
const bodyTimeout = 30 * time.Second

// digest tells bodies apart. A repeat has the same bytes.
func digest(data []byte) string { return secretHash(string(data)) }

func (c *call) path(name string) string { return c.req.PathValue(name) }

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode answer: %v", err)) // our own types only
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a peer that left wants no answer
}

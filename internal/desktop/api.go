package desktop

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"openclaw/byo"
	"openclaw/internal/guard"
	"openclaw/internal/sse"
)

const (
	maxAPIBody = 1 << 20
	apiTimeout = 10 * time.Second // for a body to arrive
)

// API is the HTTP face of a desk, for the command line and for a page. Serve it on
// loopback. Every request needs the token. See docs/stagewhisper.md#the-desktops-api.
type API struct {
	desk  *Desk
	token byo.Secret
	mux   *http.ServeMux
	log   *slog.Logger
}

// NewAPI returns the handler; token is what a request has to show.
func NewAPI(d *Desk, token byo.Secret) *API {
	a := &API{desk: d, token: token, mux: http.NewServeMux(), log: d.log}
	for pattern, f := range map[string]func(*http.Request) (any, error){
		"GET /v1/status":                        a.status,
		"GET /v1/assistants":                    a.assistants,
		"POST /v1/assistants/direct":            a.pairDirect,
		"DELETE /v1/assistants/{id}":            a.unpair,
		"POST /v1/assistants/{id}/probe":        a.probe,
		"POST /v1/assistants/{id}/test":         a.test,
		"POST /v1/pairings":                     a.startPairing,
		"GET /v1/pairings/{id}":                 a.pairing,
		"POST /v1/pairings/{id}/decide":         a.decide,
		"GET /v1/sessions":                      a.sessions,
		"DELETE /v1/sessions/{session}":         a.deleteSession,
		"GET /v1/sessions/{session}/messages":   a.messages,
		"POST /v1/sessions/{session}/messages":  a.say,
		"GET /v1/sessions/{session}/transcript": a.transcript,
		"POST /v1/sessions/{session}/summary":   a.summary,
		"POST /v1/calls":                        a.startCall,
		"POST /v1/calls/{session}/segments":     a.feed,
		"POST /v1/calls/{session}/end":          a.endCall,
		"POST /v1/callback-token/rotate":        a.rotate,
	} {
		a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { a.call(w, r, f) })
	}
	a.mux.HandleFunc("GET /v1/events", a.events)
	return a
}

// apiError is the body of a refusal.
type apiError struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func apiFail(w http.ResponseWriter, status int, code, text string) {
	var e apiError
	e.Error.Code, e.Error.Message = code, text
	answer(w, status, e)
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, ok := guard.HostName(r.Host)
	if !guard.Loopback(r.RemoteAddr) || !ok || !guard.LocalName(name) {
		apiFail(w, http.StatusForbidden, "forbidden", "this API is for this machine only")
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		apiFail(w, http.StatusForbidden, "forbidden", "requests from other pages are refused")
		return
	}
	if !guard.Bearer(r.Header.Get("Authorization"), string(a.token)) {
		apiFail(w, http.StatusUnauthorized, "unauthorized", "the token is missing or wrong")
		return
	}
	a.mux.ServeHTTP(w, r)
}

func (a *API) call(w http.ResponseWriter, r *http.Request, f func(*http.Request) (any, error)) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(apiTimeout)) // a recorder in tests has none
	r.Body = http.MaxBytesReader(w, r.Body, maxAPIBody)
	v, err := f(r)
	var job *JobError
	switch {
	case err == nil && v == nil:
		w.WriteHeader(http.StatusNoContent)
	case err == nil:
		answer(w, http.StatusOK, v)
	case errors.Is(err, errGone):
		apiFail(w, http.StatusNotFound, "not_found", err.Error())
	case errors.As(err, &job):
		apiFail(w, http.StatusBadGateway, "job_"+job.Status, err.Error())
	default:
		apiFail(w, http.StatusBadRequest, "failed", err.Error())
	}
}

// body reads the JSON of a request.
func body[T any](r *http.Request) (v T, err error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return v, errors.New("the body is too large or did not arrive")
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, errors.New("the body must be a JSON object: " + err.Error())
	}
	return v, nil
}

// Status is what GET /v1/status tells.
type Status struct {
	CallbackURL string      `json:"callback_url,omitempty"`
	Relays      []string    `json:"relays"`
	Assistants  []Assistant `json:"assistants"`
	Calls       []string    `json:"calls"`
	Waiting     int         `json:"waiting"` // messages that no assistant has taken yet
}

// Status tells how the desk is.
func (d *Desk) Status() Status {
	s := Status{CallbackURL: d.CallbackURL(), Relays: []string{}, Assistants: d.Assistants(), Calls: []string{}, Waiting: d.outbox.table.Len()}
	for _, a := range d.config.get().Relays {
		s.Relays = append(s.Relays, a.API)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range d.calls {
		s.Calls = append(s.Calls, id)
	}
	return s
}

func (a *API) status(*http.Request) (any, error) { return a.desk.Status(), nil }

func (a *API) assistants(*http.Request) (any, error) {
	return map[string]any{"assistants": a.desk.Assistants()}, nil
}

// DirectRequest is the body of POST /v1/assistants/direct.
type DirectRequest struct {
	Code   string  `json:"code"`
	Tunnel *Tunnel `json:"tunnel,omitempty"`
}

func (a *API) pairDirect(r *http.Request) (any, error) {
	req, err := body[DirectRequest](r)
	if err != nil {
		return nil, err
	}
	return a.desk.PairDirect(r.Context(), req.Code, req.Tunnel)
}

func (a *API) unpair(r *http.Request) (any, error) {
	return nil, a.desk.Unpair(r.Context(), r.PathValue("id"))
}

func (a *API) probe(r *http.Request) (any, error) {
	if err := a.desk.Probe(r.Context(), r.PathValue("id")); err != nil {
		return nil, err
	}
	rec, _ := a.desk.config.assistant(r.PathValue("id"))
	return rec.Assistant, nil
}

func (a *API) test(r *http.Request) (any, error) {
	took, err := a.desk.Test(r.Context(), r.PathValue("id"))
	return map[string]any{"round_trip_ms": took.Milliseconds()}, err
}

func (a *API) startPairing(r *http.Request) (any, error) {
	req, err := body[PairRequest](r)
	if err != nil {
		return nil, err
	}
	return a.desk.StartPairing(r.Context(), req)
}

func (a *API) pairing(r *http.Request) (any, error) {
	step, ok := a.desk.Pairing(r.PathValue("id"))
	if !ok {
		return nil, errGone
	}
	return step, nil
}

func (a *API) decide(r *http.Request) (any, error) {
	v, err := body[struct {
		Yes bool `json:"yes"`
	}](r)
	if err != nil {
		return nil, err
	}
	return nil, a.desk.Decide(r.PathValue("id"), v.Yes)
}

func (a *API) sessions(*http.Request) (any, error) {
	return map[string]any{"sessions": a.desk.store.Sessions()}, nil
}

func (a *API) deleteSession(r *http.Request) (any, error) {
	return nil, a.desk.store.Delete(r.PathValue("session"))
}

func (a *API) messages(r *http.Request) (any, error) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if q.Get("limit") != "" && (err != nil || limit < 0) {
		return nil, errors.New("limit must be a number")
	}
	list, err := a.desk.store.Messages(r.PathValue("session"), q.Get("tab"), q.Get("after"), limit)
	if list == nil {
		list = []Message{}
	}
	return map[string]any{"messages": list}, err
}

func (a *API) say(r *http.Request) (any, error) {
	v, err := body[struct {
		AssistantID string `json:"assistant_id"`
		Text        string `json:"text"`
	}](r)
	if err != nil {
		return nil, err
	}
	return a.desk.Say(v.AssistantID, r.PathValue("session"), v.Text)
}

func (a *API) transcript(r *http.Request) (any, error) {
	list, err := a.desk.store.Transcript(r.PathValue("session"))
	if list == nil {
		list = []Segment{}
	}
	return map[string]any{"segments": list}, err
}

func (a *API) summary(r *http.Request) (any, error) {
	s, err := a.desk.Summarise(r.Context(), r.PathValue("session"))
	if s == nil {
		return nil, err // directly the summary is a message to come
	}
	return s, err
}

func (a *API) startCall(r *http.Request) (any, error) {
	req, err := body[CallRequest](r)
	if err != nil {
		return nil, err
	}
	return a.desk.StartCall(req)
}

func (a *API) feed(r *http.Request) (any, error) {
	v, err := body[struct {
		Segments []Segment `json:"segments"`
	}](r)
	if err != nil {
		return nil, err
	}
	for _, s := range v.Segments {
		if err := a.desk.Feed(r.PathValue("session"), s); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (a *API) endCall(r *http.Request) (any, error) {
	return nil, a.desk.EndCall(r.PathValue("session"))
}

func (a *API) rotate(*http.Request) (any, error) { return nil, a.desk.RotateCallbackToken() }

// events streams what happens.
func (a *API) events(w http.ResponseWriter, r *http.Request) {
	next, leave := a.desk.Watch()
	defer leave()
	out := sse.NewWriter(w, 10*time.Second)
	if err := out.Open(); err != nil {
		return
	}
	for r.Context().Err() == nil {
		var frames []sse.Event
		for _, ev := range next(r.Context().Done()) {
			data, err := json.Marshal(ev)
			if err != nil {
				a.log.Error("an event cannot be told", "kind", ev.Kind, "err", err)
				continue
			}
			frames = append(frames, sse.Event{Type: ev.Kind, Data: data})
		}
		if len(frames) > 0 && out.Event(frames...) != nil {
			return
		}
	}
}

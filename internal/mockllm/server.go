package mockllm

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxBody bounds a request body.
const maxBody = 64 << 20

// Config are the knobs of a [Server]. The zero value answers at once.
type Config struct {
	Latency    time.Duration // wait before the first byte of each reply
	ChunkDelay time.Duration // wait between streamed pieces
	ChunkSize  int           // characters in a streamed piece; default 16
	Default    string        // reply to a message without a cue; default "mock: ok"
	APIKey     string        // when set, requests must carry it, else 401
	Models     []string      // ids that /models lists; default mock-1, mock-2, mock-think

	// Script turns are taken in order before cues are looked at; ScriptLoop
	// starts them again at the end. See [ReadScript].
	Script     []ScriptTurn
	ScriptLoop bool

	// Record, when set, gets one JSON line for each model request: its body,
	// headers without keys, status and a summary of the reply.
	Record io.Writer
}

// Stats counts what a [Server] did since it was made or reset.
type Stats struct {
	Calls       int64 `json:"calls"`         // model calls with a readable body
	InFlight    int64 `json:"in_flight"`     // right now
	MaxInFlight int64 `json:"max_in_flight"` // at once
	Aborted     int64 `json:"aborted"`       // callers that left early, and connections cut on purpose
}

// Server answers the model APIs. Make one with [New].
type Server struct {
	cfg   Config
	mux   *http.ServeMux
	start time.Time

	seq, calls, inFlight, maxInFlight, aborted atomic.Int64

	mu       sync.Mutex
	scriptAt int
	seen     map[string]int // requests per last user message, for "flaky"

	recordMu sync.Mutex // serialises writes to cfg.Record
}

// New makes a server.
func New(cfg Config) *Server {
	cfg.ChunkSize = cmp.Or(max(cfg.ChunkSize, 0), 16)
	cfg.Default = cmp.Or(cfg.Default, "mock: ok")
	if cfg.Models == nil {
		cfg.Models = []string{"mock-1", "mock-2", "mock-think"}
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux(), start: time.Now(), seen: map[string]int{}}
	for _, p := range []string{"", "/v1"} {
		s.mux.HandleFunc("POST "+p+"/chat/completions", s.model(parseChat, s.serveChat))
		s.mux.HandleFunc("POST "+p+"/responses", s.model(parseResponses, s.serveResponses))
		s.mux.HandleFunc("POST "+p+"/messages", s.model(parseMessages, s.serveMessages))
		s.mux.HandleFunc("POST "+p+"/embeddings", s.serveEmbeddings)
		s.mux.HandleFunc("GET "+p+"/models", s.serveModels)
	}
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, obj{"ok": true, "mock": true})
	})
	s.mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, s.Stats())
	})
	s.mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		writeJSON(w, http.StatusOK, obj{"ok": true})
	})
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Mock-LLM", "1")
	s.mux.ServeHTTP(w, r)
}

// Stats returns the counters.
func (s *Server) Stats() Stats {
	return Stats{Calls: s.calls.Load(), InFlight: s.inFlight.Load(), MaxInFlight: s.maxInFlight.Load(), Aborted: s.aborted.Load()}
}

// Reset sets the counters, the script and the memory of "flaky" back to the start.
func (s *Server) Reset() {
	s.mu.Lock()
	s.seen, s.scriptAt = map[string]int{}, 0
	s.mu.Unlock()
	s.calls.Store(0)
	s.maxInFlight.Store(0)
	s.aborted.Store(0)
}

// exchange is one model request and what became of it.
type exchange struct {
	seq     int64
	began   time.Time
	req     *http.Request
	body    []byte
	conv    *conversation
	reply   reply
	status  int
	outcome string
}

type (
	parseFunc func(body []byte) (*conversation, error)
	serveFunc func(w http.ResponseWriter, x *exchange) error
)

// model wraps what every model endpoint shares: counting, the record and the
// end of a reply that was cut on purpose.
func (s *Server) model(parse parseFunc, serve serveFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{seq: s.seq.Add(1), began: time.Now(), req: r, status: http.StatusOK, outcome: "ok"}
		s.enter()
		defer s.inFlight.Add(-1)
		defer s.record(x)

		err := s.answer(w, x, parse, serve)
		if err == nil {
			return
		}
		s.aborted.Add(1)
		x.outcome = err.Error()
		if x.reply.Cut > 0 {
			// Drop the connection rather than end the body cleanly.
			panic(http.ErrAbortHandler)
		}
	}
}

func (s *Server) enter() {
	n := s.inFlight.Add(1)
	for {
		m := s.maxInFlight.Load()
		if n <= m || s.maxInFlight.CompareAndSwap(m, n) {
			return
		}
	}
}

// answer checks, decides, waits and serves. Its error says that the caller left
// or that the reply was cut.
func (s *Server) answer(w http.ResponseWriter, x *exchange, parse parseFunc, serve serveFunc) error {
	var err error
	if x.body, err = io.ReadAll(io.LimitReader(x.req.Body, maxBody)); err != nil {
		return errGone
	}
	messages := strings.HasSuffix(x.req.URL.Path, "/messages")
	if !s.authorised(x.req) {
		x.status, x.outcome = writeFailure(w, messages, "401", 0), "bad key"
		return nil
	}
	if x.conv, err = parse(x.body); err != nil {
		x.status, x.outcome = writeError(w, messages, http.StatusBadRequest, "invalid_request_error", "", err.Error()), "bad request"
		return nil
	}
	s.calls.Add(1)
	x.reply = s.decide(x.conv)
	if err := wait(x.req.Context(), s.cfg.Latency+x.reply.Delay); err != nil {
		x.status = 0
		return err
	}
	switch {
	case x.reply.Failure != "":
		x.status, x.outcome = writeFailure(w, messages, x.reply.Failure, x.reply.RetryAfter), "failure on purpose"
		return nil
	case x.reply.hang:
		startStream(w)
		<-x.req.Context().Done()
		return errGone
	}
	return serve(w, x)
}

func (s *Server) authorised(r *http.Request) bool {
	key := s.cfg.APIKey
	return key == "" || r.Header.Get("Authorization") == "Bearer "+key || r.Header.Get("X-Api-Key") == key
}

// wait pauses for d, or less when the caller leaves.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		if ctx.Err() != nil {
			return errGone
		}
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return errGone
	}
}

func (s *Server) serveModels(w http.ResponseWriter, r *http.Request) {
	data := []any{}
	for _, id := range s.cfg.Models {
		if r.Header.Get("Anthropic-Version") != "" {
			data = append(data, obj{"type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z"})
			continue
		}
		data = append(data, obj{"id": id, "object": "model", "created": fixedTime, "owned_by": "mockllm"})
	}
	writeJSON(w, http.StatusOK, obj{"object": "list", "data": data, "has_more": false})
}

// requestID numbers replies: "<prefix>_mock_<n>" or with a dash, as the API has it.
func (s *Server) requestID(format string) string { return fmt.Sprintf(format, s.calls.Load()) }

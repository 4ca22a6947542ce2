package desktop

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"openclaw/byo"
	"openclaw/internal/guard"
)

// bodyTimeout bounds how long a callback may take to arrive.
const bodyTimeout = 5 * time.Second

// listener answers POST /tasks/{task_id}: what assistants say. Serve it on loopback.
// See docs/byo.md#callbacks.
type listener struct {
	token    func() byo.Secret
	host     func() string // of the advertised address, "" for loopback only
	receiver *receiver
	log      *slog.Logger
}

// ServeHTTP implements http.Handler. The checks have the order of the table.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !guard.Bearer(r.Header.Get("Authorization"), string(l.token())) {
		answer(w, http.StatusUnauthorized, byo.CallbackAnswer{})
		return
	}
	name, ok := guard.HostName(r.Host)
	if len(r.Header.Values("Origin")) > 0 || !ok || !guard.LocalName(name) && (name == "" || name != l.host()) {
		refuse(w, http.StatusForbidden, byo.ErrorForbidden)
		return
	}
	task, ok := strings.CutPrefix(r.URL.Path, "/tasks/")
	if !ok || r.Method != http.MethodPost {
		refuse(w, http.StatusNotFound, "not_found")
		return
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(bodyTimeout)) // a recorder in tests has none
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, byo.MaxCallbackBody))
	_ = conn.SetReadDeadline(time.Time{})
	var c byo.Callback
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, byo.ErrorTooLarge)
		return
	case err != nil || json.Unmarshal(data, &c) != nil:
		refuse(w, http.StatusBadRequest, byo.ErrorInvalidJSON)
		return
	}
	if err := c.Validate(task); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	result, err := l.receiver.receive("", task, &c)
	if err != nil {
		l.log.Error("a message could not be stored", "session", c.SessionID, "err", err)
		refuse(w, http.StatusInternalServerError, byo.ErrorReplyPersist)
		return
	}
	answer(w, http.StatusOK, result)
}

func refuse(w http.ResponseWriter, status int, code string) {
	answer(w, status, byo.CallbackAnswer{Error: code})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the other end has gone
}

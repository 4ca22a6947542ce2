package backend

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"openclaw/internal/assistant"
	"openclaw/internal/logs"
	"openclaw/internal/sse"
)

const (
	maxErrorBody = 64 << 10
	maxEvent     = 4 << 20
)

// Endpoint is a server with an OpenAI-compatible API.
type Endpoint struct {
	URL string      // base, such as http://127.0.0.1:11434/v1
	Key logs.Secret // none for most local servers
	// HTTP sends the requests; default [http.DefaultClient]. Its timeout must leave
	// time for an answer.
	HTTP *http.Client
}

// statusError is an answer that is no answer.
type statusError struct {
	status int
	text   string
	after  time.Duration
}

// Error implements error.
func (e *statusError) Error() string {
	return fmt.Sprintf("the model's server answers %d: %s", e.status, cmp.Or(e.text, http.StatusText(e.status)))
}

// temporary reports whether asking again may help.
func (e *statusError) temporary() bool {
	return e.status == http.StatusRequestTimeout || e.status == http.StatusTooEarly || e.status == http.StatusTooManyRequests || e.status >= 500
}

// post sends a question and hands the events of the answer to take, until it is done.
func (e *Endpoint) post(ctx context.Context, path string, body any, take func(sse.Event) (done bool, err error)) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(e.URL, "/")+path, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("ask the model's server: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if e.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.Key.Reveal())
	}
	resp, err := cmp.Or(e.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		return fmt.Errorf("ask the model's server: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return refusal(resp)
	}
	r := sse.NewReader(resp.Body, sse.Config{MaxLine: maxEvent, MaxEvent: maxEvent})
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			return errors.New("the model's server ended its answer too early")
		}
		if err != nil {
			return fmt.Errorf("read the model's answer: %w", err)
		}
		if done, err := take(ev); done || err != nil {
			return err
		}
	}
}

// refusal reads what stands in an answer that is none.
func refusal(resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what there is of the reason
	e := &statusError{status: resp.StatusCode, text: problem(data)}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		e.after = min(time.Duration(n)*time.Second, time.Minute)
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return fmt.Errorf("%w: %w", assistant.ErrAuth, e)
	}
	return e
}

// problem is the message of an error body, which is one of a few shapes.
func problem(data []byte) string {
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(data, &body) != nil {
		return ""
	}
	var inner struct {
		Message string `json:"message"`
	}
	var text string
	if json.Unmarshal(body.Error, &inner) != nil {
		_ = json.Unmarshal(body.Error, &text) // or it is something else
	}
	return logs.Redact(fmt.Sprintf("%.300s", cmp.Or(inner.Message, text, body.Message)))
}

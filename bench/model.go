package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"openclaw/internal/mockllm"
)

// model stands in for a vendor whose model needs no time: it gives one answer of
// the mock server, recorded beforehand, to every request.
type model struct {
	header http.Header
	answer []byte
	pieces int // of the answer
}

// newModel records the answer to cue, in pieces of a word.
func newModel(cue string) (*model, error) {
	body := `{"model":"mock-1","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"` + cue + `"}]}`
	req := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	rec := httptest.NewRecorder()
	mockllm.New(mockllm.Config{ChunkSize: 5}).ServeHTTP(rec, req)
	if rec.Code != http.StatusOK || !bytes.Contains(rec.Body.Bytes(), []byte("[DONE]")) {
		return nil, fmt.Errorf("record the model's answer to %q: %d %.200s", cue, rec.Code, rec.Body)
	}
	answer := rec.Body.Bytes()
	return &model{header: rec.Header(), answer: answer, pieces: bytes.Count(answer, []byte(`"content":"`)) - 1}, nil // the first is empty
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	for name, values := range m.header {
		w.Header()[name] = values
	}
	_, _ = w.Write(m.answer) // a caller that left does not care
}

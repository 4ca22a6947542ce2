package mockllm

import (
	"encoding/json"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"strings"
)

// serveEmbeddings hashes words into unit vectors: texts that share words come
// out near each other, and the same text always gives the same vector.
func (s *Server) serveEmbeddings(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model      string          `json:"model"`
		Input      json.RawMessage `json:"input"`
		Dimensions int             `json:"dimensions"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&in); err != nil {
		writeError(w, false, http.StatusBadRequest, "invalid_request_error", "", err.Error())
		return
	}
	texts, ok := stringOrList(in.Input)
	if !ok {
		writeError(w, false, http.StatusBadRequest, "invalid_request_error", "", "input must be a string or a list of strings")
		return
	}
	if in.Dimensions <= 0 || in.Dimensions > 4096 {
		in.Dimensions = 64
	}
	data, tokens := []any{}, 0
	for i, t := range texts {
		tokens += tokensOf(t)
		data = append(data, obj{"object": "embedding", "index": i, "embedding": embed(t, in.Dimensions)})
	}
	writeJSON(w, http.StatusOK, obj{"object": "list", "model": in.Model, "data": data,
		"usage": obj{"prompt_tokens": tokens, "total_tokens": tokens}})
}

func stringOrList(raw json.RawMessage) ([]string, bool) {
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return list, true
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, true
	}
	return nil, false
}

func embed(text string, dimensions int) []float64 {
	v := make([]float64, dimensions)
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(word)) // a hash never fails
		v[h.Sum64()%uint64(dimensions)]++
	}
	norm := 0.0
	for _, x := range v {
		norm += x * x
	}
	if norm == 0 {
		v[0], norm = 1, 1
	}
	for i := range v {
		v[i] /= math.Sqrt(norm)
	}
	return v
}

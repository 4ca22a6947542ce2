package mockllm

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// writeFailure sends the status and error body that the vendor's clients look for.
func writeFailure(w http.ResponseWriter, messages bool, kind string, retryAfter int) int {
	if retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	switch kind {
	case "overloaded":
		if messages {
			return writeError(w, true, 529, "overloaded_error", "", "Overloaded")
		}
		return writeError(w, false, 503, "server_error", "overloaded", "The mock server is overloaded, try again later")
	case "context_overflow":
		if messages {
			return writeError(w, true, 400, "invalid_request_error", "", "prompt is too long: 250000 tokens > 200000 maximum")
		}
		return writeError(w, false, 400, "invalid_request_error", "context_length_exceeded",
			"This model's maximum context length is 128000 tokens. However, your messages resulted in 250000 tokens.")
	}
	code, err := strconv.Atoi(kind)
	if err != nil || code < 400 || code > 599 {
		code = 500
	}
	typ, msg := describe(code, messages)
	return writeError(w, messages, code, typ, "", msg)
}

func describe(code int, messages bool) (typ, msg string) {
	switch code {
	case 401:
		return "authentication_error", "invalid api key"
	case 402:
		return "billing_error", "insufficient credits"
	case 403:
		return "permission_error", "forbidden"
	case 404:
		return "not_found_error", "no such model"
	case 429:
		return "rate_limit_error", "rate limit reached, slow down"
	case 529:
		return "overloaded_error", "Overloaded"
	}
	switch {
	case code < 500:
		return "invalid_request_error", "mock client error"
	case messages:
		return "api_error", "mock server error"
	}
	return "server_error", "mock server error"
}

func writeError(w http.ResponseWriter, messages bool, status int, typ, code, msg string) int {
	e := obj{"type": typ, "message": msg}
	if messages {
		writeJSON(w, status, obj{"type": "error", "error": e})
		return status
	}
	e["param"] = nil
	e["code"] = nil
	if code != "" {
		e["code"] = code
	}
	writeJSON(w, status, obj{"error": e})
	return status
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller that left needs no answer
}

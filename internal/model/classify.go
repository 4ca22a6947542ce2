package model

import "strings"

// Kind classifies the failure. What the server calls it wins over the status,
// because relays and streams often carry no useful one. See agent-runtime 18.5.
func (f Failure) Kind() Kind {
	said := strings.ToLower(f.Type + " " + f.Code + " " + f.Message)
	switch {
	case f.Status != 429 && f.overflows(said):
		return KindOverflow
	case containsAny(said, "insufficient_quota", "billing_error", "insufficient credit", "credit balance", "insufficient balance",
		"insufficient_balance", "payment required", "billing hard limit", "used all available credits", "requires more credits", "out of credits"):
		return KindBilling
	case containsAny(said, "overloaded"):
		return KindOverloaded
	case containsAny(said, "rate_limit", "rate limit", "ratelimit", "too many requests", "resource_exhausted", "resource has been exhausted",
		"quota exceeded", "exceeded your current quota", "usage limit"):
		return KindRateLimit
	case containsAny(said, "authentication_error", "invalid_api_key", "invalid api key", "incorrect api key", "api key not valid",
		"no api key", "unauthenticated", "permission_error", "permission_denied", "expired token", "token has expired", "invalid x-api-key"):
		return KindAuth
	}
	if k, ok := kindOfStatus(f.Status, said); ok {
		return k
	}
	switch {
	case containsAny(said, "not_found_error", "model_not_found"):
		return KindNotFound
	case containsAny(said, "invalid_request_error", "invalid_argument"):
		return KindFormat
	case containsAny(said, "timed out", "timeout", "deadline exceeded", "deadline_exceeded"):
		return KindTimeout
	case containsAny(said, "unavailable"):
		return KindOverloaded
	case containsAny(said, "api_error", "server_error", "internal"):
		return KindServer
	}
	return KindUnknown
}

func kindOfStatus(status int, said string) (Kind, bool) {
	switch status {
	case 0:
		return "", false
	case 401, 403:
		return KindAuth, true
	case 402:
		return KindBilling, true
	case 404, 405:
		return KindNotFound, true
	case 408, 504, 524:
		return KindTimeout, true
	case 413:
		return KindOverflow, true
	case 429:
		return KindRateLimit, true
	case 503, 529:
		return KindOverloaded, true
	}
	switch {
	case status >= 500:
		return KindServer, true
	case status >= 300 && status < 400:
		return KindNotFound, true
	case status >= 400 && containsAny(said, "model_not_found", "model not found", "no such model", "unknown model", "does not exist"):
		return KindNotFound, true
	case status >= 400:
		return KindFormat, true
	}
	return "", false
}

// overflows recognises a prompt that does not fit the model's window. Limits
// per minute or day are rate limits that happen to speak of tokens.
func (f Failure) overflows(said string) bool {
	if containsAny(said, "per minute", "per day", "per-minute", "(tpm)") {
		return false
	}
	return containsAny(said,
		"context_length_exceeded", "context length", "context window", "context size", "context overflow", "maximum context",
		"prompt is too long", "prompt too long", "input is too long", "input length and `max_tokens` exceed", "too many tokens",
		"exceeds the maximum number of tokens", "input token count", "maximum prompt length", "request_too_large",
		"reduce the length of the messages", "prompt token count", "token limit exceeded", "model_context_window_exceeded")
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

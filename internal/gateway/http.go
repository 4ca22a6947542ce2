package gateway

import (
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// canonicalPath decodes the escaped path of a request once and brings it into
// the one form that guards and handlers compare. It refuses what could mean
// different things to the two of them. See docs/protocol.md#http.
func canonicalPath(escaped string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		c := escaped[i]
		if c == '%' {
			if i+2 >= len(escaped) {
				return "", false
			}
			hi, ok1 := unhex(escaped[i+1])
			lo, ok2 := unhex(escaped[i+2])
			if !ok1 || !ok2 {
				return "", false
			}
			c = hi<<4 | lo
			i += 2
			if c == '/' || c == '\\' || c == 0 {
				return "", false // an encoded separator
			}
		}
		if c == 0 || c == '\\' {
			return "", false
		}
		b.WriteByte(c)
	}
	path := b.String()
	if !utf8.ValidString(path) || !strings.HasPrefix(path, "/") {
		return "", false
	}
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return "", false
		}
	}
	return path, true
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// ServeHTTP takes every request of the port: an upgrade on any path becomes a
// connection, the rest is routed by its canonical path.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isUpgrade(r) {
		g.accept(w, r)
		return
	}
	path, ok := canonicalPath(r.URL.EscapedPath())
	if !ok {
		plain(w, http.StatusBadRequest, "Bad Request")
		return
	}
	if mutates(r.Method) && !g.settings().origin.check(r) {
		plain(w, http.StatusForbidden, "Forbidden")
		return
	}
	switch path {
	case "/healthz", "/health":
		probe(w, r, true)
	case "/readyz", "/ready":
		probe(w, r, g.ready.Load())
	default:
		plain(w, http.StatusNotFound, "Not Found")
	}
}

// isUpgrade reports whether r asks for a WebSocket.
func isUpgrade(r *http.Request) bool {
	for _, v := range r.Header.Values("Upgrade") {
		for token := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "websocket") {
				return true
			}
		}
	}
	return false
}

func mutates(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}

// probe answers a liveness or readiness check. It needs no credentials and tells
// nothing but the one bit.
func probe(w http.ResponseWriter, r *http.Request, ok bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		plain(w, http.StatusMethodNotAllowed, "Method Not Allowed")
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	status, body := http.StatusOK, `{"ok":true,"status":"live"}`
	if strings.HasPrefix(r.URL.Path, "/ready") {
		body = `{"ok":true,"status":"ready"}`
	}
	if !ok {
		status, body = http.StatusServiceUnavailable, `{"ok":false,"status":"starting"}`
	}
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(w, body) // the client may be gone
	}
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
)

// GW-149, GW-053, GW-140 as far as there are routes.
func TestRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		synctest.Wait()
		tests := []struct {
			method, target, origin string
			status                 int
			body                   string
		}{
			{"GET", "/healthz", "", 200, `{"ok":true,"status":"live"}`},
			{"GET", "/health", "", 200, `{"ok":true,"status":"live"}`},
			{"GET", "/healthz?verbose=1", "", 200, `{"ok":true,"status":"live"}`},
			{"GET", "//healthz", "", 200, `{"ok":true,"status":"live"}`},
			{"HEAD", "/healthz", "", 200, ""},
			{"GET", "/readyz", "", 200, `{"ok":true,"status":"ready"}`},
			{"GET", "/ready", "", 200, `{"ok":true,"status":"ready"}`},
			{"GET", "/healthz", "https://evil.example", 200, `{"ok":true,"status":"live"}`},
			{"POST", "/healthz", "", 405, "Method Not Allowed"},
			{"POST", "/healthz", "https://evil.example", 403, "Forbidden"},
			{"POST", "/anything", "null", 403, "Forbidden"},
			{"DELETE", "/anything", "http://127.0.0.1:5173", 403, "Forbidden"},
			{"POST", "/anything", "http://127.0.0.1:18789", 404, "Not Found"},
			{"GET", "/Healthz", "", 404, "Not Found"},
			{"GET", "/healthz/", "", 404, "Not Found"},
			{"GET", "/", "", 404, "Not Found"},
			{"GET", "/a/%2e%2e/healthz", "", 400, "Bad Request"},
			{"GET", "/a%2fhealthz", "", 400, "Bad Request"},
		}
		for _, tt := range tests {
			r := httptest.NewRequest(tt.method, tt.target, nil)
			r.Host = "127.0.0.1:18789"
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			w := httptest.NewRecorder()
			h.g.ServeHTTP(w, r)
			if w.Code != tt.status || w.Body.String() != tt.body {
				t.Errorf("%s %s (Origin %q) = %d %q, want %d %q", tt.method, tt.target, tt.origin, w.Code, w.Body, tt.status, tt.body)
			}
			for name := range w.Header() {
				if len(name) > 14 && name[:14] == "Access-Control" {
					t.Errorf("%s %s sends %s", tt.method, tt.target, name)
				}
			}
		}
		h.stop()
		synctest.Wait()
		w := httptest.NewRecorder()
		h.g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("GET /readyz after the shutdown = %d, want 503", w.Code)
		}
		h.close()
	})
}

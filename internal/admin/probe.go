package admin

import (
	"net/http"
	"strings"
)

// Probes answers /livez, /readyz and /metrics, and 404 to everything else.
func (a *Admin) Probes() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.probe(w, r) {
			unknownPath().write(w)
		}
	})
}

// probe answers what both listeners have; false where the path is none of it.
func (a *Admin) probe(w http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case "/livez", "/readyz", "/metrics":
	default:
		return false
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		methodNotAllowed(http.MethodGet).write(w)
		return true
	}
	switch r.URL.Path {
	case "/livez":
		plain(w, http.StatusOK, "alive")
	case "/readyz":
		a.ready(w)
	default:
		a.config.Metrics.ServeHTTP(w, r)
	}
	return true
}

func (a *Admin) ready(w http.ResponseWriter) {
	if reasons := a.config.Unready(); len(reasons) > 0 {
		plain(w, http.StatusServiceUnavailable, "not ready: "+strings.Join(reasons, "; "))
		return
	}
	plain(w, http.StatusOK, "ready")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // whoever asked has gone
}

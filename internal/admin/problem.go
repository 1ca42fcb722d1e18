package admin

import (
	"encoding/json"
	"net/http"
)

// problem is an RFC 9457 answer with a stable code.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	allow  string
}

func newProblem(status int, code, title string) problem {
	return problem{Type: "about:blank", Title: title, Status: status, Code: code}
}

func unknownPath() problem {
	return newProblem(http.StatusNotFound, "path_unknown", "There is nothing here.")
}

func methodNotAllowed(allowed string) problem {
	p := newProblem(http.StatusMethodNotAllowed, "method_not_allowed", "This path wants "+allowed+".")
	p.allow = allowed
	return p
}

func (p problem) write(w http.ResponseWriter) {
	if p.allow != "" {
		w.Header().Set("Allow", p.allow)
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="webhook-sidecar"`)
	}
	writeJSON(w, p.Status, "application/problem+json", p)
}

func writeJSON(w http.ResponseWriter, status int, kind string, value any) {
	body, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"code":"internal"}`)
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // whoever asked has gone
}

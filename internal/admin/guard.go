package admin

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"
)

// forbids tells whether a request may not use the API: with a token whoever has it may do everything; without one only
// this machine may read, and nobody may write. Nil: it may.
func (a *Admin) forbids(r *http.Request) *problem {
	if a.config.Token == nil {
		return withoutToken(r)
	}
	token, err := a.config.Token()
	if err != nil {
		a.config.Log.ErrorContext(r.Context(), "the admin token cannot be read", "error", err)
		p := newProblem(http.StatusServiceUnavailable, "token_unavailable", "The token cannot be read.")
		return &p
	}
	if !presents(r, token) {
		p := newProblem(http.StatusUnauthorized, "token_required", "A bearer token is required.")
		return &p
	}
	return nil
}

func withoutToken(r *http.Request) *problem {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		p := newProblem(http.StatusForbidden, "writes_off", "Changes need SIDECAR_ADMIN_TOKEN_FILE.")
		return &p
	}
	if !fromLoopback(r) {
		p := newProblem(http.StatusForbidden, "loopback_only", "Without SIDECAR_ADMIN_TOKEN_FILE only this machine may read.")
		return &p
	}
	return nil
}

// presents compares digests, so that the time tells nothing about the token, nor about its length.
func presents(r *http.Request, token []byte) bool {
	given := r.Header.Values("Authorization")
	if len(given) != 1 || len(bytes.TrimSpace(token)) == 0 {
		return false
	}
	scheme, credentials, found := strings.Cut(given[0], " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	want, got := sha256.Sum256(token), sha256.Sum256([]byte(strings.TrimSpace(credentials)))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// fromLoopback looks at the connection alone: a header about the peer is anybody's.
func fromLoopback(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

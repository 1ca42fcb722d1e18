package admin

import (
	"net/http"
	"net/netip"
	"strings"
)

// admit tells whose token a request presents, or why it may not use the API: with tokens whoever has one may do what its
// role may; without, only this machine may read, and nobody may write.
func (a *Admin) admit(r *http.Request) (Token, *problem) {
	if a.config.Tokens == nil {
		return Token{}, withoutToken(r)
	}
	tokens, err := a.config.Tokens()
	if err != nil {
		a.config.Log.ErrorContext(r.Context(), "the admin tokens cannot be read", "error", err)
		p := newProblem(http.StatusServiceUnavailable, "token_unavailable", "The tokens cannot be read.")
		return Token{}, &p
	}
	held, found := holder(tokens, presented(r))
	switch {
	case !found:
		p := newProblem(http.StatusUnauthorized, "token_required", "A bearer token is required.")
		return held, &p
	case held.Role != Operate && r.Method != http.MethodGet && r.Method != http.MethodHead:
		p := newProblem(http.StatusForbidden, "role_insufficient", "This token may only read.")
		return held, &p
	}
	return held, nil
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

// presented is the bearer token that a request carries; empty: none.
func presented(r *http.Request) string {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return ""
	}
	scheme, credentials, found := strings.Cut(given[0], " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(credentials)
}

// fromLoopback looks at the connection alone: a header about the peer is anybody's.
func fromLoopback(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

package admin_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/internal/admin"
)

const (
	watcherToken = "watcher-0123456789abcdef"
	opsToken     = "operator-0123456789abcdef"
)

func TestParseTokens(t *testing.T) {
	for text, want := range map[string]string{
		"0123456789abcdef":                                    "/operate",
		" 0123456789abcdef \r\n\n":                            "/operate",
		"# ours\nana:operate:0123456789abcdef\n":              "ana/operate",
		"a:read:0123456789abcdef\nb:operate:0123456789abcdeX": "a/read b/operate",
		"a:read:with:colons:0123456789":                       "a/read",
		"":                                                    "there is no token",
		"# only\n":                                            "there is no token",
		"short":                                               "line 1: the token has fewer than 16 bytes",
		"a:read:short":                                        "line 1: the token has fewer than 16 bytes",
		"a:0123456789abcdef":                                  "line 1: want name:role:token",
		"a:admin:0123456789abcdef":                            "line 1: want name:role:token",
		":read:0123456789abcdef":                              "line 1: want name:role:token",
		"a b:read:0123456789abcdef":                           "line 1: want name:role:token",
		"a:read:0123456789abcdef\na:read:1123456789abcdef": "line 2: the name is used twice",
		"a:read:0123456789abcdef\nb:read:0123456789abcdef": "line 2: the token is used twice",
	} {
		tokens, err := admin.ParseTokens([]byte(text))
		var got []string
		for _, token := range tokens {
			got = append(got, token.Name+"/"+string(token.Role))
		}
		shown := strings.Join(got, " ")
		if err != nil {
			shown = err.Error()
		}
		if shown != want && (err == nil || !strings.HasPrefix(shown, want)) {
			t.Errorf("%q: %s, want %s", text, shown, want)
		}
	}
}

func FuzzParseTokens(f *testing.F) {
	for _, seed := range []string{"0123456789abcdef", "a:read:0123456789abcdef\n#\n", ":::", "a:operate:\x00\xff0123456789abcdef"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tokens, err := admin.ParseTokens(text)
		if (err == nil) != (len(tokens) > 0) {
			t.Fatalf("%d tokens, %v", len(tokens), err)
		}
		for _, token := range tokens {
			if len(token.Secret) < 16 || token.Role != admin.Read && token.Role != admin.Operate || !bytes.Contains(text, token.Secret) {
				t.Errorf("%+v", token)
			}
		}
		if err != nil && len(text) >= 16 && strings.Contains(err.Error(), string(text)) {
			t.Error("the error shows the file")
		}
	})
}

// newTeam is a desk with a token that may only read and one that may operate.
func newTeam(t *testing.T) *desk {
	t.Helper()
	return newDeskWith(t, []admin.Token{
		{Name: "watcher", Role: admin.Read, Secret: []byte(watcherToken)},
		{Name: "ops", Role: admin.Operate, Secret: []byte(opsToken)},
	})
}

func TestARoleMayDoWhatItMay(t *testing.T) {
	d := newTeam(t)
	settle(t, d.keeper, "evt-1", dedupe.Dead)
	body := `{"scope":"acme/orders","event_id":"evt-1","actor":"ana","reason":"fixed"}`
	if w := d.ask(http.MethodGet, "/api/v1/dead-letters", "", bearer("Bearer "+watcherToken)); w.Code != http.StatusOK {
		t.Errorf("the reader reads: %d", w.Code)
	}
	w := d.ask(http.MethodPost, "/api/v1/dead-letters/replay", body, bearer("Bearer "+watcherToken))
	wantProblem(t, w, http.StatusForbidden, "role_insufficient")
	for _, wrong := range []string{"Bearer " + watcherToken + "x", "Bearer ops", "Bearer ", "Basic " + opsToken} {
		w := d.ask(http.MethodPost, "/api/v1/dead-letters/replay", body, bearer(wrong))
		wantProblem(t, w, http.StatusUnauthorized, "token_required")
	}
	if w := d.ask(http.MethodPost, "/api/v1/dead-letters/replay", body, bearer("Bearer "+opsToken)); w.Code != http.StatusOK {
		t.Errorf("the operator operates: %d %s", w.Code, w.Body)
	}
}

// A change is attributed to the token, whatever its holder says about themself.
func TestAChangeIsAttributedToItsToken(t *testing.T) {
	for said, want := range map[string]string{
		`,"actor":"ana"`: "ana (token ops)",
		`,"actor":"ops"`: "ops",
		`,"actor":""`:    "ops",
		``:               "ops",
	} {
		d := newTeam(t)
		settle(t, d.keeper, "evt-1", dedupe.Dead)
		body := `{"scope":"acme/orders","event_id":"evt-1","reason":"fixed"` + said + `}`
		if w := d.ask(http.MethodPost, "/api/v1/dead-letters/close", body, bearer("Bearer "+opsToken)); w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", said, w.Code, w.Body)
		}
		receipt, err := d.keeper.Receipt(t.Context(), "acme/orders", "evt-1")
		if err != nil {
			t.Fatal(err)
		}
		last := receipt.Evidence[len(receipt.Evidence)-1]
		if receipt.State != dedupe.Closed || last.Actor != want {
			t.Errorf("%s: by %q, want %q", said, last.Actor, want)
		}
	}
}

func TestABareTokenStillNeedsAnActor(t *testing.T) {
	d := newDesk(t, token)
	settle(t, d.keeper, "evt-1", dedupe.Dead)
	body := `{"scope":"acme/orders","event_id":"evt-1","reason":"fixed"}`
	w := d.ask(http.MethodPost, "/api/v1/dead-letters/close", body, bearer("Bearer "+token))
	wantProblem(t, w, http.StatusBadRequest, "request_invalid")
}

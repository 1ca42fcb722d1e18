package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func replayBody(id string) string {
	return fmt.Sprintf(`{"scope":"acme/orders","event_id":%q,"actor":"ana","reason":"because"}`, id)
}

func TestReceiptsByAnyEventID(t *testing.T) {
	d := newDesk(t, "")
	for _, id := range []delivery.EventID{"evt_1", "a/b", "..", ".", "//", "a?b#c", "%2F", `a\b`, "a;b", "+"} {
		settle(t, d.keeper, id, dedupe.Applied)
		w := d.ask(http.MethodGet, "/api/v1/receipts/acme/orders/"+url.PathEscape(string(id)), "", nil)
		if id == "." || id == ".." { // a path segment that clients resolve away is percent-encoded whole
			w = d.ask(http.MethodGet, "/api/v1/receipts/acme/orders/"+strings.ReplaceAll(string(id), ".", "%2E"), "", nil)
		}
		var receipt struct {
			EventID   string `json:"event_id"`
			Reference string `json:"reference"`
			State     string `json:"state"`
			Result    struct{ Body string }
		}
		err := json.Unmarshal(w.Body.Bytes(), &receipt)
		if w.Code != 200 || err != nil || receipt.EventID != string(id) || receipt.State != "applied" ||
			receipt.Reference != delivery.Reference("acme/orders", id) || receipt.Result.Body != "made" {
			t.Errorf("%s: %d %s", id, w.Code, w.Body)
		}
	}
	wantProblem(t, d.ask(http.MethodGet, "/api/v1/receipts/acme/orders/unknown", "", nil), 404, "receipt_unknown")
}

func TestWhatNamesNoReceipt(t *testing.T) {
	d := newDesk(t, "")
	for target, code := range map[string]string{
		"/api/v1/receipts/acme/orders":       "path_unknown",
		"/api/v1/receipts/acme/orders/a/b":   "path_unknown",
		"/api/v1/receipts/acme//x":           "request_invalid",
		"/api/v1/receipts/acme/a%2Fb/x":      "request_invalid",
		"/api/v1/receipts/acme/orders/":      "request_invalid",
		"/api/v1/receipts/acme/orders/a%20b": "request_invalid",
		"/api/v1/receipts/acme/orders/%00":   "request_invalid",
		"/api/v1/nothing":                    "path_unknown",
		"/api/v2/status":                     "path_unknown",
		"/":                                  "path_unknown",
	} {
		status := 404
		if code == "request_invalid" {
			status = 400
		}
		wantProblem(t, d.ask(http.MethodGet, target, "", nil), status, code)
	}
	wantProblem(t, d.ask(http.MethodDelete, "/api/v1/receipts/acme/orders/x", "", bearer("")), 403, "writes_off")
}

func TestDeadLetters(t *testing.T) {
	d := newDesk(t, "")
	settle(t, d.keeper, "fine", dedupe.Applied)
	list := func(query string) []string {
		w := d.ask(http.MethodGet, "/api/v1/dead-letters"+query, "", nil)
		var got struct {
			DeadLetters []struct {
				EventID string `json:"event_id"`
				Request string `json:"request"`
			} `json:"dead_letters"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.DeadLetters == nil {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		ids := []string{}
		for _, dead := range got.DeadLetters {
			ids = append(ids, dead.EventID)
		}
		return ids
	}
	if got := list(""); len(got) != 0 {
		t.Errorf("nothing is dead: %v", got)
	}
	settle(t, d.keeper, "dead-1", dedupe.Dead)
	settle(t, d.keeper, "dead-2", dedupe.Dead)
	if got := list("?scope=acme/orders"); len(got) != 2 {
		t.Errorf("got %v", got)
	}
	if got := list("?limit=1&offset=1"); len(got) != 1 || got[0] != "dead-2" {
		t.Errorf("got %v", got)
	}
	if got := list("?scope=globex/orders"); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	for _, query := range []string{"?scope=x", "?limit=-1", "?limit=1e3", "?limit=100000", "?offset=x"} {
		wantProblem(t, d.ask(http.MethodGet, "/api/v1/dead-letters"+query, "", nil), 400, "request_invalid")
	}
}

func TestReplayAndClose(t *testing.T) {
	d := newDesk(t, token)
	settle(t, d.keeper, "replayed", dedupe.Dead)
	settle(t, d.keeper, "closed", dedupe.Dead)
	settle(t, d.keeper, "applied", dedupe.Applied)
	post := func(word, body string) (int, string) {
		w := d.ask(http.MethodPost, "/api/v1/dead-letters/"+word, body, bearer("Bearer "+token))
		return w.Code, w.Body.String()
	}
	if status, body := post("replay", replayBody("replayed")); status != 200 || !strings.Contains(body, `"state": "retryable"`) {
		t.Errorf("replay: %d %s", status, body)
	}
	if status, body := post("replay", replayBody("replayed")); status != 409 {
		t.Errorf("two operators, one event: %d %s", status, body)
	}
	closing := strings.TrimSuffix(replayBody("closed"), "}") + `,"status":410}`
	if status, body := post("close", closing); status != 200 || !strings.Contains(body, `"state": "closed"`) {
		t.Errorf("close: %d %s", status, body)
	}
	receipt, err := d.keeper.Receipt(t.Context(), "acme/orders", "closed")
	if err != nil || receipt.State != dedupe.Closed || receipt.Status != 410 {
		t.Fatalf("got %+v, %v", receipt, err)
	}
	last := receipt.Evidence[len(receipt.Evidence)-1]
	if last.Actor != "ana" || last.Note != "because" {
		t.Errorf("who and why are not recorded: %+v", last)
	}
	for word, id := range map[string]string{"replay": "applied", "close": "applied"} {
		if status, _ := post(word, replayBody(id)); status != 409 {
			t.Errorf("%s an applied event: %d", word, status)
		}
	}
	if status, _ := post("replay", replayBody("unknown")); status != 404 {
		t.Errorf("replay an unknown event: %d", status)
	}
}

// What a change's body is called does not matter: clients say many things, and none says it with the token by accident.
func TestAnyContentTypeWillDo(t *testing.T) {
	d := newDesk(t, token)
	for n, kind := range []string{"", "application/json", "application/json; charset=utf-8", "application/x-www-form-urlencoded", "text/plain"} {
		id := fmt.Sprint("dead-", n)
		settle(t, d.keeper, delivery.EventID(id), dedupe.Dead)
		answer := d.ask(http.MethodPost, "/api/v1/dead-letters/replay", replayBody(id), func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Del("Content-Type")
			if kind != "" {
				r.Header.Set("Content-Type", kind)
			}
		})
		if answer.Code != 200 {
			t.Errorf("%q: %d %s", kind, answer.Code, answer.Body)
		}
	}
}

func TestChangesAreStrict(t *testing.T) {
	d := newDesk(t, token)
	settle(t, d.keeper, "dead", dedupe.Dead)
	good := replayBody("dead")
	for name, body := range map[string]string{
		"nothing": "", "no object": `[]`, "text": `"x"`, "cut off": good[:len(good)-1], "something behind": good + "{}",
		"unknown key": strings.Replace(good, `"actor"`, `"actors"`, 1), "no actor": strings.Replace(good, `"ana"`, `" "`, 1),
		"no reason": strings.Replace(good, `"because"`, `""`, 1), "bad scope": strings.Replace(good, "acme/orders", "acme", 1),
		"bad ID":            strings.Replace(good, `"dead"`, `"a b"`, 1),
		"NUL":               strings.Replace(good, `"because"`, `"a\u0000b"`, 1),
		"half a character":  strings.Replace(good, `"because"`, `"a\ud800b"`, 1),
		"no UTF-8":          strings.Replace(good, `"because"`, "\"a\xffb\"", 1),
		"a key twice":       strings.TrimSuffix(good, "}") + `,"event_id":"dead"}`,
		"a key in capitals": strings.Replace(good, `"event_id"`, `"EVENT_ID"`, 1),
		"a value missing":   strings.TrimSuffix(good, "}") + `,"reason"}`,
		"not closed":        strings.TrimSuffix(good, "}") + `,`,
		"a list in it":      strings.Replace(good, `"because"`, `["because"]`, 1),
		"long":              strings.Replace(good, `"because"`, `"`+strings.Repeat("x", 2000)+`"`, 1),
		"status for replay": strings.TrimSuffix(good, "}") + `,"status":200}`,
	} {
		w := d.ask(http.MethodPost, "/api/v1/dead-letters/replay", body, bearer("Bearer "+token))
		if w.Code != 400 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	for _, status := range []string{"0", "99", "100", "600", `"200"`, "1e3"} {
		body := strings.TrimSuffix(good, "}") + `,"status":` + status + `}`
		if w := d.ask(http.MethodPost, "/api/v1/dead-letters/close", body, bearer("Bearer "+token)); w.Code != 400 {
			t.Errorf("close with %s: %d", status, w.Code)
		}
	}
	huge := d.ask(http.MethodPost, "/api/v1/dead-letters/replay", strings.Repeat(" ", 20<<10)+good, bearer("Bearer "+token))
	wantProblem(t, huge, 413, "body_too_large")
	if receipt, err := d.keeper.Receipt(t.Context(), "acme/orders", "dead"); err != nil || receipt.State != dedupe.Dead {
		t.Errorf("something was changed: %+v, %v", receipt, err)
	}
}

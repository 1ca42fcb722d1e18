package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Bounds of what a person sends.
const (
	maxActBytes    = 16 << 10
	maxActorBytes  = 128
	maxReasonBytes = 1024
)

// act is the body of a change.
type act struct {
	Scope   string `json:"scope"`
	EventID string `json:"event_id"`
	Actor   string `json:"actor"`
	Reason  string `json:"reason"`
	Status  *int   `json:"status"` // close only

	scope delivery.Scope
	id    delivery.EventID
}

// writing answers POST with what became of the event. What is done is attributed to the token that it is done with.
func (a *Admin) writing(held Token, change func(ctx context.Context, what act) (dedupe.State, *problem)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			methodNotAllowed(http.MethodPost).write(w)
			return
		}
		what, refusal := readAct(r, held)
		if refusal != nil {
			refusal.write(w)
			return
		}
		state, refusal := change(r.Context(), what)
		if refusal != nil {
			refusal.write(w)
			return
		}
		a.config.Log.InfoContext(r.Context(), "changed by hand", "path", r.URL.Path, "scope", what.Scope,
			"event", delivery.Reference(what.scope, what.id), "state", state.String(), "actor", what.Actor)
		writeJSON(w, http.StatusOK, "application/json", map[string]string{
			"scope": what.Scope, "event_id": what.EventID, "state": state.String(),
		})
	}
}

func (a *Admin) replay(ctx context.Context, what act) (dedupe.State, *problem) {
	if what.Status != nil {
		return 0, badRequest("status belongs to close")
	}
	state, err := a.config.Dead.Replay(ctx, what.scope, what.id, dedupe.Act{Actor: what.Actor, Reason: what.Reason})
	if err != nil {
		return 0, ledgerProblem(err)
	}
	return state, nil
}

func (a *Admin) close(ctx context.Context, what act) (dedupe.State, *problem) {
	status := http.StatusOK
	if what.Status != nil {
		status = *what.Status
	}
	if status < 200 || status > 599 {
		return 0, badRequest("status is not from 200 to 599")
	}
	err := a.config.Dead.Close(ctx, what.scope, what.id, status, dedupe.Act{Actor: what.Actor, Reason: what.Reason})
	if err != nil {
		return 0, ledgerProblem(err)
	}
	return dedupe.Closed, nil
}

// readAct reads exactly one JSON object with known keys, whatever its sender calls it: no browser sends the bearer token by
// itself.
func readAct(r *http.Request, held Token) (act, *problem) {
	var what act
	body, err := io.ReadAll(io.LimitReader(r.Body, maxActBytes+1))
	if err != nil || len(body) > maxActBytes {
		p := newProblem(http.StatusRequestEntityTooLarge, "body_too_large", "The body is too large or incomplete.")
		return what, &p
	}
	if refusal := unclear(body); refusal != nil {
		return what, refusal
	}
	if err := json.Unmarshal(body, &what); err != nil {
		return what, badRequest("want one JSON object with scope, event_id, actor and reason")
	}
	what.Actor = held.attribute(what.Actor)
	return what, what.check()
}

// unclear refuses what the decoder would settle by itself: keys twice, in another case or unknown, and what is no text.
func unclear(body []byte) *problem {
	if !utf8.Valid(body) {
		return badRequest("the body is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return badRequest("want one JSON object with scope, event_id, actor and reason")
	}
	seen := map[string]bool{"scope": false, "event_id": false, "actor": false, "reason": false, "status": false}
	for decoder.More() {
		key, err := decoder.Token()
		name, _ := key.(string)
		twice, known := seen[name]
		var value json.RawMessage
		switch {
		case err != nil, decoder.Decode(&value) != nil:
			return badRequest("want one JSON object with scope, event_id, actor and reason")
		case !known:
			return badRequest("unknown key: want scope, event_id, actor, reason, and for close perhaps status")
		case twice:
			return badRequest(name + " is written twice")
		}
		seen[name] = true
	}
	if _, err := decoder.Token(); err != nil {
		return badRequest("want one JSON object with scope, event_id, actor and reason")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return badRequest("something follows the JSON object")
	}
	return nil
}

func (a *act) check() *problem {
	var err error
	if a.scope, err = delivery.ParseScope(a.Scope); err != nil {
		return badRequest("scope is not account/integration")
	}
	if a.id, err = delivery.ParseEventID(a.EventID); err != nil {
		return badRequest("event_id: " + err.Error())
	}
	if err := CheckAct(dedupe.Act{Actor: a.Actor, Reason: a.Reason}); err != nil {
		return badRequest(err.Error())
	}
	return nil
}

// attribute names who acts: the token, and whom its holder says to be where that is somebody else.
func (t Token) attribute(actor string) string {
	switch {
	case t.Name == "":
		return actor
	case strings.TrimSpace(actor) == "" || actor == t.Name:
		return t.Name
	}
	return actor + " (token " + t.Name + ")"
}

// CheckAct tells what is wrong with the words of a person who changes something: both are recorded for ever.
func CheckAct(by dedupe.Act) error {
	switch {
	case strings.TrimSpace(by.Actor) == "":
		return errors.New("actor is missing: who does this?")
	case strings.TrimSpace(by.Reason) == "":
		return errors.New("reason is missing: why?")
	case len(by.Actor) > maxActorBytes:
		return errors.New("actor is too long")
	case len(by.Reason) > maxReasonBytes:
		return errors.New("reason is too long")
	case !utf8.ValidString(by.Actor + by.Reason), strings.ContainsAny(by.Actor+by.Reason, "\x00\ufffd"):
		return errors.New("actor or reason is not text")
	}
	return nil
}

package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
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

// readAct reads exactly one JSON object with known keys.
func readAct(r *http.Request, held Token) (act, *problem) {
	var what act
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		p := newProblem(http.StatusUnsupportedMediaType, "media_type", "Content-Type must be application/json.")
		return what, &p
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxActBytes+1))
	if err != nil || len(body) > maxActBytes {
		p := newProblem(http.StatusRequestEntityTooLarge, "body_too_large", "The body is too large or incomplete.")
		return what, &p
	}
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&what); err != nil {
		return what, badRequest("want one JSON object with scope, event_id, actor and reason")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return what, badRequest("something follows the JSON object")
	}
	what.Actor = held.attribute(what.Actor)
	return what, what.check()
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
	case !utf8.ValidString(by.Actor + by.Reason), strings.ContainsRune(by.Actor+by.Reason, 0):
		return errors.New("actor or reason is not text")
	}
	return nil
}

package admin

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/console"
)

const apiPrefix = "/api/v1/"

// Operator answers the probes and the operator API. The path is taken apart as it stands in the request line, because an
// event ID may hold anything that a path means something by.
func (a *Admin) Operator() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.probe(w, r) {
			return
		}
		rest, found := strings.CutPrefix(r.URL.EscapedPath(), apiPrefix)
		if !found {
			unknownPath().write(w)
			return
		}
		held, refusal := a.admit(r)
		if refusal != nil {
			refusal.write(w)
			return
		}
		a.route(rest, held)(w, r)
	})
}

func (a *Admin) route(rest string, held Token) http.HandlerFunc {
	switch {
	case rest == "status":
		return reading(a.status)
	case rest == "credentials" && a.config.Credentials != nil:
		return reading(a.credentials)
	case rest == "dead-letters":
		return reading(a.deadLetters)
	case rest == "dead-letters/replay":
		return a.writing(held, a.replay)
	case rest == "dead-letters/close":
		return a.writing(held, a.close)
	}
	if parts, ok := strings.CutPrefix(rest, "receipts/"); ok {
		return reading(a.receipt(parts))
	}
	return func(w http.ResponseWriter, _ *http.Request) { unknownPath().write(w) }
}

// reading answers GET with what a function returns, or with its problem.
func reading(read func(r *http.Request) (any, *problem)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			methodNotAllowed(http.MethodGet).write(w)
			return
		}
		value, refusal := read(r)
		if refusal != nil {
			refusal.write(w)
			return
		}
		writeJSON(w, http.StatusOK, "application/json", value)
	}
}

func (a *Admin) status(r *http.Request) (any, *problem) { return a.config.Status(r.Context()), nil }

func (a *Admin) credentials(r *http.Request) (any, *problem) {
	found, err := a.config.Credentials(r.Context())
	if err != nil {
		return nil, ledgerProblem(err)
	}
	return found, nil
}

// receipt answers for account/integration/event_id, each percent-encoded as one segment.
func (a *Admin) receipt(parts string) func(r *http.Request) (any, *problem) {
	return func(r *http.Request) (any, *problem) {
		scope, id, refusal := eventNamed(strings.Split(parts, "/"))
		if refusal != nil {
			return nil, refusal
		}
		found, err := a.config.Receipts.Receipt(r.Context(), scope, id)
		if err != nil {
			return nil, ledgerProblem(err)
		}
		return console.NewReceipt(found), nil
	}
}

func eventNamed(segments []string) (delivery.Scope, delivery.EventID, *problem) {
	if len(segments) != 3 {
		p := unknownPath()
		return "", "", &p
	}
	var names [3]string
	for i, segment := range segments {
		name, err := url.PathUnescape(segment)
		if err != nil {
			return "", "", badRequest("a segment of the path is not percent-encoded")
		}
		names[i] = name
	}
	scope, err := delivery.NewScope(names[0], names[1])
	if err != nil {
		return "", "", badRequest("account or integration is malformed")
	}
	id, err := delivery.ParseEventID(names[2])
	if err != nil {
		return "", "", badRequest(err.Error())
	}
	return scope, id, nil
}

func badRequest(title string) *problem {
	p := newProblem(http.StatusBadRequest, "request_invalid", title)
	return &p
}

// ledgerProblem tells a missing receipt and a wrong state from a ledger that is out of reach.
func ledgerProblem(err error) *problem {
	p := newProblem(http.StatusServiceUnavailable, "ledger_unavailable", "The ledger is out of reach.")
	switch {
	case errors.Is(err, dedupe.ErrNotFound):
		p = newProblem(http.StatusNotFound, "receipt_unknown", "There is no receipt for this event.")
	case errors.Is(err, dedupe.ErrState):
		p = newProblem(http.StatusConflict, "state_conflict", "The receipt's state does not allow this, or somebody was faster.")
	}
	return &p
}

// deadLetters lists what waits for a person: ?scope=, ?limit= and ?offset= narrow it.
func (a *Admin) deadLetters(r *http.Request) (any, *problem) {
	filter := dedupe.Filter{States: []dedupe.State{dedupe.Dead}}
	query := r.URL.Query()
	if text := query.Get("scope"); text != "" {
		scope, err := delivery.ParseScope(text)
		if err != nil {
			return nil, badRequest("scope is not account/integration")
		}
		filter.Scope = scope
	}
	var refusal *problem
	if filter.Limit, refusal = numberIn(query, "limit", 100, 1000); refusal != nil {
		return nil, refusal
	}
	if filter.Offset, refusal = numberIn(query, "offset", 0, 1_000_000); refusal != nil {
		return nil, refusal
	}
	found, err := a.config.Receipts.List(r.Context(), filter)
	if err != nil {
		return nil, ledgerProblem(err)
	}
	return struct {
		DeadLetters []console.DeadLetter `json:"dead_letters"`
	}{console.NewDeadLetters(found, a.config.About, time.Now())}, nil
}

func numberIn(query url.Values, name string, fallback, most int) (int, *problem) {
	text := query.Get(name)
	if text == "" {
		return fallback, nil
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 || number > most {
		return 0, badRequest(name + " is no number from 0 to " + strconv.Itoa(most))
	}
	return number, nil
}

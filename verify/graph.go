package verify

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// graph compares the clientState of every notification in the body; nothing is signed.
type graph struct{ tree, item *pointerTree }

func graphPreset() Preset {
	return Preset{
		Name: "microsoft-graph", Title: "Microsoft Graph change notifications",
		SenderWindow: 4 * time.Hour, AckDeadline: 3 * time.Second, Retries: true,
		EventType: Source{JSON: "/value/0/changeType"}, Object: Source{JSON: "/value/0/resource"},
		Choose: "a notification has no ID, and two changes of one resource can look alike; " +
			"use {hash: body} only if a suppressed second notification does no harm",
		Symmetric: true, SignedInBody: true,
		Signed:   "nothing; the clientState of each notification must equal the secret",
		Secret:   "the subscription's clientState as text",
		Weak:     []string{nothingSigned, "There is no event ID, and identical bodies are legitimate."},
		Advice:   []string{"Graph wants 202 within 3 seconds: use accept mode.", "The tokens of rich notifications are not checked."},
		Sources:  []string{"learn.microsoft.com: change notifications through webhooks"},
		Reviewed: reviewed,
		controls: []control{{name: "validation_token", unsigned: true, recognises: isGraphChallenge, answer: graphChallenge}},
		build:    func(Config) (scheme, error) { return &graph{items("/value"), items("/clientState")}, nil },
	}
}

func (s *graph) key(secret []byte) (any, error) { return tokenKey(sha256.Sum256(secret)), nil }

func (s *graph) presented(http.Header) bool { return true }

func (s *graph) covers(Source) bool { return false }

func (s *graph) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	batch, rejection := s.batch(d)
	if rejection != nil {
		return evidence{}, rejection
	}
	for c := range keys.live(now) {
		if s.all(batch, c.key.(tokenKey)) {
			return evidence{by: c}, nil
		}
	}
	return evidence{}, reject(SignatureMismatch)
}

// batch is the list of notifications, which is there once and not empty.
func (s *graph) batch(d *delivery.Delivery) ([][]byte, *Rejection) {
	doc := &document{delivery: d, tree: s.tree}
	values, ok := doc.values()
	if !ok || values[0].repeated {
		return nil, reject(SignatureMissing)
	}
	batch, ok := elements(values[0].raw)
	if !ok || len(batch) == 0 {
		return nil, reject(SignatureMissing)
	}
	return batch, nil
}

// all tells whether every notification carries the secret; one that does not could be anybody's.
func (s *graph) all(batch [][]byte, want tokenKey) bool {
	for _, item := range batch {
		found, _, err := s.item.scan(item)
		if err != nil {
			return false
		}
		state, kind := found[0].scalar()
		given := sha256.Sum256([]byte(state))
		if kind != present || subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
			return false
		}
	}
	return true
}

package seal

import (
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Values seals what is cached outside of the process. Safe for concurrent use.
type Values struct {
	namespace string
	ring      *Ring
}

// NewValues makes the sealer of one application's cache.
func NewValues(namespace string, ring *Ring) *Values { return &Values{namespace, ring} }

// Seal returns what to write for a value: the value itself where nothing is sealed.
func (v *Values) Seal(scope delivery.Scope, id delivery.EventID, value []byte) []byte {
	keys := v.ring.Keys()
	if _, sealing := keys.Sealing(); !sealing {
		return value
	}
	return keys.seal(v.label(scope, id), value)
}

// Open returns the value that was written for an event, or why it cannot be opened: a value that is not sealed is none
// where values are sealed, and else is returned as it is. The error is a *dedupe.SealedError.
func (v *Values) Open(scope delivery.Scope, id delivery.EventID, value []byte) ([]byte, error) {
	keys := v.ring.Keys()
	if _, sealed := dedupe.SealedBy(value); !sealed {
		if _, sealing := keys.Sealing(); !sealing {
			return value, nil
		}
	}
	plain, why := keys.open(v.label(scope, id), slices.Clone(value)) // a client's memory may be anybody's
	if why != nil {
		return nil, why
	}
	return plain, nil
}

func (v *Values) label(scope delivery.Scope, id delivery.EventID) *label {
	return &label{purpose: forCache, namespace: v.namespace, key: dedupe.Key{Scope: scope, EventID: id}}
}

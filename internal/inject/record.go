package inject

import (
	"encoding/json"
	"fmt"
)

// The annotations that this package reads and writes.
const (
	// recordKey remembers on a pod template, a Service or a NetworkPolicy what was changed.
	recordKey = "webhook-sidecar.dev/injected"
	// wishKey is written by people: enabled selects a workload, disabled protects it.
	wishKey = "webhook-sidecar.dev/inject"
	// madeKey marks a document that was added to the stream.
	madeKey = "webhook-sidecar.dev/made-by"
	// defaultKey tells kubectl which container is meant.
	defaultKey = "kubectl.kubernetes.io/default-container"
)

// record is the value of recordKey. It does not depend on anything else in the object, so that an unrelated change does
// not change the pod template.
type record struct {
	Version int               `json:"v"`
	Name    string            `json:"name,omitempty"` // of our container
	Add     []string          `json:"add,omitempty"`  // pointers to what was not there
	Was     map[string]string `json:"was,omitempty"`  // pointers to what gave way, as it was written
}

const recordVersion = 1

func (r record) encode() (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	return string(text), nil
}

// recordOf reads the record of a site. There is none where ok is false.
func recordOf(s site) (r record, ok bool, err error) {
	text := textOf(child(s.root, "metadata", "annotations", recordKey))
	if text == "" {
		return record{}, false, nil
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return record{}, false, s.at(fmt.Errorf("annotation %s: %w", recordKey, err))
	}
	if r.Version != recordVersion {
		return record{}, false, s.at(fmt.Errorf("annotation %s is of version %d, which this version does not know", recordKey, r.Version))
	}
	return r, true, nil
}

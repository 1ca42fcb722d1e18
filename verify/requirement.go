package verify

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// requirement is a signed field that must have one of some values.
type requirement struct {
	slot   int
	values []string
}

func newRequirements(cfg Config, p Preset, s scheme, tree *pointerTree) ([]requirement, error) {
	var out []requirement
	var faults []error
	for _, pointer := range slices.Sorted(maps.Keys(cfg.Require)) {
		slot, err := tree.add(pointer)
		switch {
		case err != nil:
		case len(cfg.Require[pointer]) == 0:
			err = errors.New("allows no value")
		case !s.covers(Source{JSON: pointer}):
			err = errors.New("the signature does not cover it, so requiring it proves nothing")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("require.%s: %w", pointer, err))
			continue
		}
		out = append(out, requirement{slot, cfg.Require[pointer]})
	}
	if len(p.Require) > 0 && !cfg.SignatureOnly && !slices.ContainsFunc(p.Require, cfg.requires) {
		faults = append(faults, fmt.Errorf("require: %s is missing, without which a signature of %s proves nothing",
			strings.Join(p.Require, " or "), p.Name))
	}
	return out, errors.Join(faults...)
}

func (c Config) requires(pointer string) bool {
	_, found := c.Require[pointer]
	return found
}

// meets tells whether a required field has one of its values.
func (d *document) meets(r requirement) bool {
	value, state := d.scalar(r.slot)
	return state == present && slices.Contains(r.values, value)
}

// refutes tells whether a required field is there and has another value.
func (d *document) refutes(r requirement) bool {
	_, state := d.scalar(r.slot)
	return state == present && !d.meets(r)
}

package verify

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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
	if len(p.Require) > 0 && len(cfg.Require) == 0 && !cfg.SignatureOnly {
		faults = append(faults, fmt.Errorf("require: missing; %s needs one of %q", p.Name, p.Require))
	}
	return out, errors.Join(faults...)
}

func (r requirement) met(d *document) bool {
	value, state := d.scalar(r.slot)
	return state == present && slices.Contains(r.values, value)
}

package drill

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// rows is a ledger at one moment: what matters of each row, by scope and event ID.
type rows map[string]string

// look reads the whole ledger.
func (d *Drill) look(ctx context.Context) (rows, error) {
	receipts, err := d.field.Receipts(ctx)
	if err != nil {
		return nil, fmt.Errorf("the ledger cannot be read: %w", err)
	}
	seen := make(rows, len(receipts))
	for i := range receipts {
		seen[string(receipts[i].Scope)+" "+string(receipts[i].EventID)] = shown(&receipts[i])
	}
	return seen, nil
}

func shown(r *dedupe.Receipt) string {
	return fmt.Sprintf("%s, attempt %d, status %d, changed %s", r.State, r.Attempts, r.Status, r.Changed.UTC().Format("15:04:05.000000"))
}

// since tells what another moment has that this one has not, and what is gone.
func (r rows) since(before rows) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		switch was, known := before[name]; {
		case !known:
			found = append(found, name+" is new: "+r[name])
		case was != r[name]:
			found = append(found, name+" was "+was+" and is "+r[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, known := r[name]; !known {
			found = append(found, name+" is gone")
		}
	}
	return found
}

// unchanged checks that the ledger is as it was.
func (d *Drill) unchanged(ctx context.Context, step *Step, before rows) {
	after, err := d.look(ctx)
	if step.failed(err) {
		return
	}
	changes := after.since(before)
	step.check(len(changes) == 0, "the ledger's %d rows are unchanged%s", len(before), listed(changes))
}

func listed(changes []string) string {
	if len(changes) == 0 {
		return ""
	}
	if len(changes) > 5 {
		changes = append(changes[:5:5], "…")
	}
	return fmt.Sprintf(": they are not: %q", changes)
}

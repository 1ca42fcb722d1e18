package audit

import (
	"context"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// chainPage is how many checkpoints are read at once: 5 MB at most.
const chainPage = 100

// retireBatch bounds how many are deleted at once.
const retireBatch = 1000

// oldest says which checkpoint of a scope is the oldest that is still needed: the first one that has a row, or of which a
// row is gone without the end of its event having been sealed.
func (n *Notary) oldest(ctx context.Context, scope delivery.Scope, ends dedupe.Ends, now time.Time, sealed *Sealed) (int64, error) {
	needed := max(1, ends.Newest.Oldest)
	bound := ends.First // checkpoints below have no row
	if bound == 0 {
		bound = ends.Newest.Number + 1
	}
	if bound <= needed || time.Since(n.retired[scope]) < n.config.Retire {
		return needed, nil
	}
	r := retiring{scope: scope, bound: bound, now: now, open: map[[8]byte]int64{}}
	if err := r.read(ctx, n.config.Store, needed); err != nil {
		return 0, err
	}
	n.retired[scope] = time.Now()
	if len(r.open) > 0 {
		sealed.Gone = append(sealed.Gone, scope)
	}
	for _, number := range r.open {
		bound = min(bound, number)
	}
	return max(needed, bound), nil
}

// retiring looks at checkpoints that have no row any more. Each event's last row must have been over when it was forgotten;
// that row may be in a later checkpoint.
type retiring struct {
	scope delivery.Scope
	bound int64
	now   time.Time
	open  map[[8]byte]int64 // events whose end was not seen yet, and where they were seen first
}

func (r *retiring) read(ctx context.Context, store dedupe.Trail, from int64) error {
	for {
		page, err := store.Chain(ctx, r.scope, from, chainPage)
		if err != nil {
			return err
		}
		for i := range page {
			if page[i].Number >= r.bound && len(r.open) == 0 {
				return nil
			}
			r.add(&page[i])
			from = page[i].Number + 1
		}
		if len(page) < chainPage {
			return nil
		}
	}
}

func (r *retiring) add(c *dedupe.Checkpoint) {
	for _, l := range unpack(c.Leaves) {
		_, open := r.open[l.tag]
		switch {
		case l.over(r.now):
			delete(r.open, l.tag)
		case c.Number < r.bound && !open:
			r.open[l.tag] = c.Number
		}
	}
}

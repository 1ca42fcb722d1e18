package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// line is the audit of a scope's checkpoints, in their order.
type line struct {
	*visit
	anchors anchored
	ends    dedupe.Ends       // when this audit began
	oldest  int64             // checkpoint that is still needed
	first   int64             // that was the oldest when this audit began
	last    dedupe.Checkpoint // that was looked at
	gone    gone
	now     time.Time // when the last rows were read
	// unsealed are rows that no checkpoint had when ends was looked at, or later: none of the chain's leaves is theirs.
	unsealed map[leaf]bool
}

// maxUnsealed bounds how many of them are remembered.
const maxUnsealed = 100_000

func newLine(v *visit, anchors []Anchor) *line {
	return &line{
		visit: v, anchors: anchoredOf(v, anchors), unsealed: map[leaf]bool{},
		gone: gone{scope: v.summary.Scope, open: map[[8]byte]int64{}, found: v.found},
	}
}

// read looks at every checkpoint that there was when it began.
func (l *line) read(ctx context.Context) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	for from, more := int64(0), true; more; {
		page, err := l.next(ctx, from)
		if err != nil {
			return err
		}
		more = len(page) == chainPage
		for i := range page {
			if page[i].Number > l.ends.Newest.Number {
				more = false
				break
			}
			if err := l.add(ctx, &page[i]); err != nil {
				return err
			}
			from = page[i].Number + 1
		}
	}
	if err := l.resolve(ctx); err != nil {
		return err
	}
	return l.end(ctx)
}

// begin looks at where the chain ends, and at the rows that no checkpoint has then.
func (l *line) begin(ctx context.Context) (err error) {
	if l.ends, err = l.source.Ends(ctx, l.summary.Scope); err != nil {
		return err
	}
	l.oldest = max(l.oldest, 1, l.ends.Newest.Oldest)
	if l.first == 0 {
		l.first = l.oldest
	}
	clear(l.unsealed)
	return l.readUnsealed(ctx)
}

// next reads a page. Where all that is left of the chain was retired meanwhile, it begins again with the chain as it is now.
func (l *line) next(ctx context.Context, from int64) ([]dedupe.Checkpoint, error) {
	for {
		page, err := l.source.Chain(ctx, l.summary.Scope, from, chainPage)
		overtaken := len(page) > 0 && page[0].Number > l.ends.Newest.Number && l.last.Number < l.ends.Newest.Number
		if err != nil || !overtaken {
			return page, err
		}
		if err := l.begin(ctx); err != nil {
			return nil, err
		}
	}
}

// retired tells whether all checkpoints before this one are no longer needed, as of now.
func (l *line) retired(ctx context.Context, number int64) (bool, error) {
	if number > l.oldest {
		now, err := l.source.Ends(ctx, l.summary.Scope)
		if err != nil {
			return false, err
		}
		l.oldest = max(l.oldest, now.Newest.Oldest)
	}
	return number <= l.oldest, nil
}

// resolve looks for the ends of events that are gone in checkpoints that came while this audit went on: what is forgotten
// meanwhile was sealed before. Whoever retired one of those has seen the end of every event up to it.
func (l *line) resolve(ctx context.Context) error {
	for from := l.ends.Newest.Number + 1; len(l.gone.open) > 0; {
		page, err := l.source.Chain(ctx, l.summary.Scope, from, chainPage)
		if err != nil {
			return err
		}
		if len(page) > 0 && page[0].Number > from {
			if retired, err := l.retired(ctx, page[0].Number); err != nil || retired {
				clear(l.gone.open)
				return err
			}
		}
		for i := range page {
			for _, leaf := range unpack(page[i].Leaves) {
				if leaf.over(l.now) {
					delete(l.gone.open, leaf.tag)
				}
			}
			from = page[i].Number + 1
		}
		if len(page) < chainPage {
			return nil
		}
	}
	return nil
}

// readUnsealed also looks for rows without a receipt among them.
func (l *line) readUnsealed(ctx context.Context) error {
	for after := int64(0); ; {
		rows, err := l.source.Marked(ctx, l.summary.Scope, 0, after, rowPage)
		if err != nil {
			return err
		}
		for i := range rows.Rows {
			row := &rows.Rows[i]
			if row.Orphan {
				l.found(ofEvent(ReceiptMissing, dedupe.Key{Scope: l.summary.Scope, EventID: row.EventID}, 0, noReceipt))
			}
			if len(l.unsealed) < maxUnsealed {
				l.unsealed[leafOf(l.summary.Scope, row)] = true
			}
			after = row.ID
		}
		if len(rows.Rows) < rowPage {
			return nil
		}
	}
}

func (l *line) add(ctx context.Context, c *dedupe.Checkpoint) error {
	if err := l.follow(ctx, c); err != nil {
		return err
	}
	if c.Total() != c.Sum {
		l.found(ofCheckpoint(CheckpointAltered, c.Scope, c.Number, "its sum is not that of its contents"))
	}
	l.anchors.meet(l.visit, c)
	m := newMatching(c, l.found)
	if err := m.read(ctx, l.source); err != nil {
		return err
	}
	l.now = m.now
	m.end(&l.gone, l.unsealed)
	l.summary.Checkpoints++
	l.summary.EndsAt = c.Number
	l.last = *c
	l.last.Leaves = nil
	return nil
}

// follow tells whether a checkpoint follows the one before it. The chain may begin at one up to the oldest that is needed,
// and a notary may be at work on that beside this audit.
func (l *line) follow(ctx context.Context, c *dedupe.Checkpoint) error {
	if l.summary.BeginsAt > 0 && c.Number == l.last.Number+1 {
		if c.Previous != l.last.Sum {
			l.found(ofCheckpoint(CheckpointAltered, c.Scope, c.Number, "it does not follow the checkpoint before it"))
		}
		return nil
	}
	retired, err := l.retired(ctx, c.Number)
	if err != nil {
		return err
	}
	if !retired {
		l.found(ofCheckpoint(CheckpointMissing, c.Scope, c.Number-1,
			fmt.Sprintf("%d to %d are not there", l.last.Number+1, c.Number-1)))
		if l.summary.BeginsAt == 0 {
			l.summary.BeginsAt = c.Number
		}
		return nil
	}
	if c.Number == 1 && c.Previous != (dedupe.Sum{}) {
		l.found(ofCheckpoint(CheckpointAltered, c.Scope, c.Number, "it is the first and follows another one"))
	}
	l.summary.BeginsAt = c.Number
	clear(l.gone.open)
	return nil
}

// end looks at what no checkpoint was there for.
func (l *line) end(ctx context.Context) error {
	l.gone.end()
	l.summary.Forgotten = max(0, l.gone.count-int64(len(l.gone.open)))
	scope := l.summary.Scope
	if l.ends.Last > l.summary.EndsAt {
		l.found(ofCheckpoint(CheckpointMissing, scope, l.ends.Last, unknownSeal))
	}
	if l.ends.First > 0 && l.ends.First < l.summary.BeginsAt {
		now, err := l.source.Ends(ctx, scope) // the checkpoint may have gone with its rows meanwhile
		if err != nil {
			return err
		}
		if now.First > 0 && now.First < l.summary.BeginsAt {
			l.found(ofCheckpoint(CheckpointMissing, scope, now.First, unknownSeal))
		}
	}
	l.anchors.end(l.visit, l.first)
	return nil
}

const unknownSeal = "rows are sealed by it, and it is not there"

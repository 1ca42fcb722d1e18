package audit

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const noReceipt = "the evidence is there and its receipt is not"

// rowPage is how many rows are read at once.
const rowPage = 1000

// matching compares the leaves of one checkpoint with the rows that are marked with it.
type matching struct {
	scope  delivery.Scope
	number int64
	leaves []leaf
	at     map[leaf]int
	seen   []bool
	last   int
	alien  []dedupe.Sealable // rows that no leaf is of
	now    time.Time         // when the last of the rows was read
	found  func(Finding)
}

func newMatching(c *dedupe.Checkpoint, found func(Finding)) *matching {
	m := &matching{scope: c.Scope, number: c.Number, leaves: unpack(c.Leaves), last: -1, found: found}
	m.at, m.seen = make(map[leaf]int, len(m.leaves)), make([]bool, len(m.leaves))
	for i, l := range m.leaves {
		m.at[l] = i
	}
	return m
}

func (m *matching) read(ctx context.Context, trail dedupe.Trail) error {
	for after := int64(0); ; {
		marked, err := trail.Marked(ctx, m.scope, m.number, after, rowPage)
		if err != nil {
			return err
		}
		m.now = marked.Now
		for i := range marked.Rows {
			m.add(&marked.Rows[i])
			after = marked.Rows[i].ID
		}
		if len(marked.Rows) < rowPage {
			return nil
		}
	}
}

func (m *matching) add(row *dedupe.Sealable) {
	key := dedupe.Key{Scope: m.scope, EventID: row.EventID}
	if row.Orphan {
		m.found(ofEvent(ReceiptMissing, key, m.number, noReceipt))
	}
	i, known := m.at[leafOf(m.scope, row)]
	switch {
	case !known || m.seen[i]:
		m.alien = append(m.alien, *row)
		return
	case i < m.last:
		m.found(ofEvent(Reordered, key, m.number, "the row does not stand where it was sealed"))
	}
	m.seen[i], m.last = true, max(m.last, i)
}

// end tells what the leaves without a row mean, and the rows without a leaf.
func (m *matching) end(gone *gone, unsealed map[leaf]bool) {
	for i, l := range m.leaves {
		switch {
		case m.seen[i]:
			gone.present(l, m.number)
		case unsealed[l]:
			m.found(ofTag(Altered, m.scope, l.tag, m.number, "the row was sealed, and says that it is not"))
		case m.claims(l):
			m.found(ofTag(Altered, m.scope, l.tag, m.number, "the row is not the one that was sealed"))
		default:
			gone.missing(l, m.number, m.now)
		}
	}
	for i := range m.alien {
		key := dedupe.Key{Scope: m.scope, EventID: m.alien[i].EventID}
		m.found(ofEvent(Added, key, m.number, "the checkpoint did not seal this row"))
	}
}

// claims finds the row that was made of a leaf's.
func (m *matching) claims(l leaf) bool {
	i := slices.IndexFunc(m.alien, func(row dedupe.Sealable) bool { return dedupe.Tag(m.scope, row.EventID) == l.tag })
	if i < 0 {
		return false
	}
	m.alien = slices.Delete(m.alien, i, i+1)
	return true
}

// gone are the rows that are missing although their receipt could not be forgotten as of then. Rows of one event are
// forgotten together, after the last one's time: so behind them a missing row must follow that was over, and no row of the
// event that is still there. A row whose own time is over is in order by itself: were it not its event's last one, that
// one would be missing, or would not follow it.
type gone struct {
	scope delivery.Scope
	open  map[[8]byte]int64 // the events, and the checkpoint where it began
	count int64             // of rows that were forgotten in time, as far as is known
	found func(Finding)
}

const goneTooEarly = "the row is gone, and the receipt's time was not over"

func (g *gone) missing(l leaf, number int64, now time.Time) {
	g.count++
	if l.over(now) {
		delete(g.open, l.tag)
	} else if _, open := g.open[l.tag]; !open {
		g.open[l.tag] = number
	}
}

func (g *gone) present(l leaf, _ int64) {
	if number, open := g.open[l.tag]; open {
		delete(g.open, l.tag)
		g.found(ofTag(Removed, g.scope, l.tag, number, goneTooEarly))
	}
}

func (g *gone) end() {
	var left []Finding
	for tag, number := range g.open {
		left = append(left, ofTag(Removed, g.scope, tag, number, goneTooEarly))
	}
	slices.SortFunc(left, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Checkpoint, b.Checkpoint), cmp.Compare(a.Reference, b.Reference))
	})
	for _, f := range left {
		g.found(f)
	}
}

package dedupetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"pgregory.net/rapid"
)

// past is a scope with a random past.
type past struct {
	*bench
	scope delivery.Scope
}

func auditClean(b *bench) {
	b.pasts(func(t *rapid.T, p *past) { p.audited(p.scope) })
}

// pasts plays random pasts and looks at each.
func (b *bench) pasts(look func(t *rapid.T, p *past)) {
	b.Helper()
	var plays atomic.Int64
	t := b.TB
	rapid.Check(t, func(rt *rapid.T) {
		bench := *b
		bench.TB = rt
		p := &past{bench: &bench, scope: delivery.Scope(name("past/", plays.Add(1)))}
		for range rapid.IntRange(3, 25).Draw(rt, "steps") {
			p.step(rt)
		}
		look(rt, p)
	})
}

func (p *past) step(t *rapid.T) {
	r := event(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "event"))
	r.Scope = p.scope
	r.CredentialID = rapid.SampledFrom([]string{"key-1", "key-2"}).Draw(t, "credential")
	switch rapid.SampledFrom([]string{"deliver", "deliver", "deliver", "accept", "act", "act", "seal", "forget"}).Draw(t, "step") {
	case "deliver":
		p.deliver(t, r)
	case "accept":
		accepts(&r, "kept")
		p.claim(p.a, r)
	case "act":
		for _, act := range p.acts() {
			_ = act.do(p.a, r) // where the state allows it
		}
	case "seal":
		p.seal(rapid.SampledFrom([]int{1, 2, 5, 100}).Draw(t, "batch"))
	case "forget":
		p.seal(100)
		for p.sweep().More {
		}
	}
}

// deliver runs an event if it may run, through a delivery or as a stored job, with any result.
func (p *past) deliver(t *rapid.T, r dedupe.Request) {
	var c dedupe.Claim
	decision := p.claim(p.a, r)
	switch decision.Kind {
	case dedupe.Fresh:
		c = decision.Claim
	case dedupe.AlreadyQueued:
		taken, err := p.a.worker.Take(p.ctx, []dedupe.Quota{{Scope: p.scope, Most: 1, Policy: policy()}}, 1)
		if err != nil || len(taken.Works) == 0 {
			return // it is not its time
		}
		c = taken.Works[0].Claim
	default:
		return
	}
	soon := applied("one")
	soon.Expires = time.Microsecond
	now := queued(job("q"))
	now.After = 0
	p.settle(p.a, c, rapid.SampledFrom([]dedupe.Settlement{applied("one"), soon, notFinal(), notSent(), now, dead(nil), dead(job("d"))}).
		Draw(t, "result"))
}

// auditTampered changes one thing.
func auditTampered(b *bench) {
	if b.h.Intruder == nil {
		b.Skip("nobody changes anything")
	}
	b.failed("acme/elsewhere", "a")
	b.pasts(func(t *rapid.T, p *past) {
		p.audited(p.scope)
		before := p.strays() // of other pasts
		did := p.tamper(t)
		if did == "" {
			t.Skip("there is nothing to change")
		}
		findings, summary := p.audit(p.scope)
		elsewhere, _ := p.audit(p.scope + "x") // an event may have been moved there, or nowhere
		if len(findings)+len(elsewhere) == 0 && p.strays() == before {
			t.Fatalf("%s: nothing is found in %+v", did, summary)
		}
	})
}

func (p *past) strays() int64 {
	p.Helper()
	strays, err := p.h.Audit.Strays(p.ctx)
	if err != nil {
		p.Fatal(err)
	}
	return strays
}

// tamper says what it did; empty: there was nothing to do it to.
func (p *past) tamper(t *rapid.T) string {
	in := p.h.Intruder
	rows := p.rows()
	id, event := int64(0), ""
	if len(rows) > 0 {
		row := rapid.SampledFrom(rows).Draw(t, "row")
		id, event = row.ID, string(row.EventID)
	}
	scope := string(p.scope)
	draw := func(columns map[string][]string) (column, set string) {
		column = rapid.SampledFrom(slices.Sorted(maps.Keys(columns))).Draw(t, "column")
		return column, " SET " + column + " = " + columns[column][0]
	}
	var did string
	var changed int64
	switch did = rapid.SampledFrom([]string{"alter", "alter", "remove", "remove event", "remove all of an event", "duplicate", "swap", "alter receipt", "remove receipt", "alter checkpoint",
		"remove checkpoint"}).Draw(t, "tampering"); did {
	case "alter":
		column, set := draw(in.ColumnsOfEvidence)
		did += " " + column
		changed = in.must(p.bench, "UPDATE "+in.Evidence+set+" WHERE id = ?", id)
	case "remove":
		changed = in.must(p.bench, "DELETE FROM "+in.Evidence+" WHERE id = ?", id)
	case "remove event":
		changed = in.must(p.bench, "DELETE FROM "+in.Evidence+" WHERE "+in.EvidenceOf, scope, event)
	case "remove all of an event":
		p.seal(100)
		if !p.over(rows, event) {
			changed = int64(len(rows))
			in.removeEvent(p.bench, dedupe.Key{Scope: p.scope, EventID: delivery.EventID(event)})
		}
	case "duplicate":
		columns := strings.Join(slices.Sorted(maps.Keys(in.ColumnsOfEvidence)), ", ") // all but the ID
		changed = in.must(p.bench, "INSERT INTO "+in.Evidence+" ("+columns+") SELECT "+columns+" FROM "+in.Evidence+" WHERE id = ?", id)
	case "swap":
		changed = p.swap(t, rows)
	case "alter receipt":
		column, set := draw(in.ColumnsOfReceipts)
		did += " " + column
		changed = in.must(p.bench, "UPDATE "+in.Receipts+set+" WHERE "+in.OfEvent, scope, event)
	case "remove receipt":
		p.seal(100)               // what is not sealed goes with a receipt, unseen
		if !p.over(rows, event) { // else it is only forgotten
			changed = in.must(p.bench, "DELETE FROM "+in.Receipts+" WHERE "+in.OfEvent, scope, event)
		}
	case "alter checkpoint":
		column, set := draw(in.ColumnsOfCheckpoints)
		did += " " + column
		changed = in.must(p.bench, "UPDATE "+in.Checkpoints+set+" WHERE "+in.OfScope+" AND number = ?", scope, p.checkpoint(t))
	case "remove checkpoint":
		changed = in.must(p.bench, "DELETE FROM "+in.Checkpoints+" WHERE "+in.OfScope+" AND number = ?", scope, p.checkpoint(t))
	}
	if changed == 0 {
		return ""
	}
	return fmt.Sprintf("%s, row %d of %s", did, id, event)
}

// over tells that an event's receipt may be forgotten.
func (p *past) over(rows []dedupe.Sealable, event string) bool {
	over, last := false, int64(0)
	for _, row := range rows {
		if string(row.EventID) == event && row.ID > last {
			over, last = !row.Until.IsZero() && row.Until.Before(time.Now().Add(time.Second)), row.ID
		}
	}
	return over
}

// rows are all chained rows of the past.
func (p *past) rows() []dedupe.Sealable {
	var all []dedupe.Sealable
	for number := range p.last() + 1 {
		marked, err := p.h.Audit.Marked(p.ctx, p.scope, number, 0, 1000)
		if err != nil {
			p.Fatal(err)
		}
		all = append(all, marked.Rows...)
	}
	return all
}

func (p *past) last() int64 {
	ends, err := p.h.Audit.Ends(p.ctx, p.scope)
	if err != nil {
		p.Fatal(err)
	}
	return ends.Newest.Number
}

// checkpoint draws one. The newest one is left out if nothing but an anchor would tell of it: if its rows are forgotten.
func (p *past) checkpoint(t *rapid.T) int64 {
	ends, err := p.h.Audit.Ends(p.ctx, p.scope)
	if err != nil {
		p.Fatal(err)
	}
	last := ends.Newest.Number
	if ends.Last < last {
		last--
	}
	if last < 1 {
		return 0
	}
	return rapid.Int64Range(1, last).Draw(t, "checkpoint")
}

// swap gives two rows of one event, or of one checkpoint, each other's place.
func (p *past) swap(t *rapid.T, rows []dedupe.Sealable) int64 {
	sealedBy := map[int64]int64{}
	for number := int64(1); number <= p.last(); number++ {
		marked, err := p.h.Audit.Marked(p.ctx, p.scope, number, 0, 1000)
		if err != nil {
			p.Fatal(err)
		}
		for _, row := range marked.Rows {
			sealedBy[row.ID] = number
		}
	}
	var pairs [][2]int64
	for i, one := range rows {
		for _, two := range rows[i+1:] {
			if one.EventID == two.EventID || sealedBy[one.ID] > 0 && sealedBy[one.ID] == sealedBy[two.ID] {
				pairs = append(pairs, [2]int64{one.ID, two.ID})
			}
		}
	}
	if len(pairs) == 0 {
		return 0
	}
	pair := rapid.SampledFrom(pairs).Draw(t, "pair")
	in := p.h.Intruder
	const away = int64(1) << 40
	for _, step := range [][2]int64{{away, pair[0]}, {pair[0], pair[1]}, {pair[1], away}} {
		in.must(p.bench, "UPDATE "+in.Evidence+" SET id = ? WHERE id = ?", step[0], step[1])
	}
	return 1
}

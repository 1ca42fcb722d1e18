package dedupetest

import (
	"reflect"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const sealedScope = delivery.Scope("acme/sealed")

// marked are a scope's rows with a mark.
func (b *bench) marked(number int64) []dedupe.Sealable {
	b.Helper()
	marked, err := b.h.Audit.Marked(b.ctx, sealedScope, number, 0, 1000)
	if err != nil || marked.Now.IsZero() {
		b.Fatalf("marked: %+v, %v", marked, err)
	}
	return marked.Rows
}

func (b *bench) ends() dedupe.Ends {
	b.Helper()
	ends, err := b.h.Audit.Ends(b.ctx, sealedScope)
	if err != nil {
		b.Fatal(err)
	}
	return ends
}

func auditSeal(b *bench) {
	if scopes, err := b.h.Audit.Unsealed(b.ctx); err != nil || len(scopes) != 0 {
		b.Fatalf("unsealed are %v, %v", scopes, err)
	}
	if ends := b.ends(); ends.Newest.Number != 0 || ends.First != 0 || ends.Last != 0 || len(b.marked(0)) != 0 {
		b.Fatalf("a scope without evidence ends %+v", ends)
	}
	for _, id := range []string{"c", "a", "b"} {
		b.failed(sealedScope, id)
	}
	b.failed("acme/elsewhere", "a")
	rows := b.marked(0)
	if len(rows) != 3 || rows[0].EventID != "c" || rows[2].EventID != "b" || rows[0].Orphan || rows[1].ID <= rows[0].ID {
		b.Fatalf("rows are %+v", rows)
	}
	if scopes, err := b.h.Audit.Unsealed(b.ctx); err != nil || len(scopes) != 2 {
		b.Fatalf("unsealed are %v, %v", scopes, err)
	}
	made := b.seal(10)
	if len(made) != 2 || made[0].Scope != "acme/elsewhere" || made[1].Number != 1 || len(made[1].Leaves) != 3*48 {
		b.Fatalf("made %+v", made)
	}
	if got := b.marked(1); !reflect.DeepEqual(got, rows) || len(b.marked(0)) != 0 {
		b.Fatalf("sealed are %+v", got)
	}
	b.failed(sealedScope, "d")
	second := b.seal(10)[0]
	ends := b.ends()
	if ends.Newest.Number != 2 || ends.Newest.Sum != second.Sum || ends.Newest.Previous != made[1].Sum || ends.First != 1 || ends.Last != 2 {
		b.Errorf("ends are %+v", ends)
	}
	chain, err := b.h.Audit.Chain(b.ctx, sealedScope, 0, 10)
	if err != nil || len(chain) != 2 || chain[0].Total() != made[1].Sum || chain[1].Total() != second.Sum {
		b.Errorf("the chain is %+v, %v", chain, err)
	}
	if b.history(dedupe.Key{Scope: sealedScope, EventID: "d"}).Evidence[0].Checkpoint != 2 {
		b.Error("a row does not say by what it was sealed")
	}
	if made := b.seal(10); len(made) != 0 {
		b.Errorf("nothing new is sealed by %+v", made)
	}
	if s := b.audited(sealedScope); s.Sealed != 4 || s.Unsealed != 0 || s.Checkpoints != 2 || s.BeginsAt != 1 || s.EndsAt != 2 || s.Events != 4 {
		b.Errorf("an audit sees %+v", s)
	}
}

func auditNumber(b *bench) {
	b.failed(sealedScope, "a")
	rows := b.marked(0)
	c := dedupe.Checkpoint{Scope: sealedScope, Number: 1, At: time.Now().UTC().Truncate(time.Microsecond), Oldest: 1, Leaves: make([]byte, 48)}
	c.Sum = c.Total()
	for i, want := range []bool{true, false} {
		if made, err := b.h.Audit.Seal(b.ctx, c, []int64{rows[0].ID}); err != nil || made != want {
			b.Fatalf("seal %d: %t, %v", i, made, err)
		}
	}
	b.failed(sealedScope, "b")
	if made, err := b.h.Audit.Seal(b.ctx, c, []int64{b.marked(0)[0].ID}); err != nil || made || len(b.marked(0)) != 1 {
		b.Fatalf("a number that is taken: %t, %v", made, err)
	}
	again := c
	again.Number = 2
	if made, err := b.h.Audit.Seal(b.ctx, again, []int64{rows[0].ID, b.marked(0)[0].ID, 1 << 60}); err != nil || !made {
		b.Fatalf("the next: %t, %v", made, err)
	}
	if one, two := b.marked(1), b.marked(2); len(one) != 1 || len(two) != 1 || one[0].EventID != "a" || two[0].EventID != "b" {
		b.Errorf("a row that is sealed was sealed again: %+v, %+v", one, two)
	}
	if got, err := b.h.Audit.Chain(b.ctx, sealedScope, 1, 1); err != nil || !reflect.DeepEqual(got, []dedupe.Checkpoint{c}) {
		b.Errorf("stored is %+v, %v, want %+v", got, err, c)
	}
}

func auditBatches(b *bench) {
	for i := range 7 {
		b.failed(sealedScope, name("evt_", i))
	}
	sealed, err := b.notary(3).Seal(b.ctx)
	if err != nil || len(sealed.Made) != 1 || len(sealed.Made[0].Leaves) != 3*48 || !sealed.More {
		b.Fatalf("sealed %+v, %v", sealed, err)
	}
	if made := b.seal(3); len(made) != 2 || made[1].Number != 3 {
		b.Errorf("made %+v", made)
	}
	b.audited(sealedScope)
}

// auditNotaries lets two replicas seal what others write at the same time.
func auditNotaries(b *bench) {
	var writing, sealing sync.WaitGroup
	written := make(chan struct{})
	for worker := range 2 {
		store := b.h.Audit
		if other, is := b.h.Other.(Audit); is && worker == 1 {
			store = other // as another process has it
		}
		notary, err := audit.NewNotary(audit.NotaryConfig{Store: store, Batch: 4})
		if err != nil {
			b.Fatal(err)
		}
		sealing.Go(func() {
			for last := false; !last; {
				select {
				case <-written:
					last = true
				default:
				}
				if _, err := notary.Seal(b.ctx); err != nil {
					b.Errorf("notary %d: %v", worker, err)
				}
			}
		})
	}
	const rows = 60
	for worker := range 4 {
		writing.Go(func() {
			for i := range rows / 4 {
				b.failed(sealedScope, name("evt_", worker, "_", i))
			}
		})
	}
	writing.Wait()
	close(written)
	sealing.Wait()
	b.seal(4)
	if s := b.audited(sealedScope); s.Sealed != rows || s.EndsAt != s.Checkpoints {
		b.Errorf("an audit sees %+v", s)
	}
}

func auditForget(b *bench) {
	r := b.failed(sealedScope, "a")
	b.forgettable(r)
	if swept := b.sweep(); swept.Forgotten != 0 {
		b.Fatal("a receipt was forgotten whose evidence nobody has sealed")
	}
	b.seal(10)
	if swept := b.sweep(); swept.Forgotten != 1 {
		b.Fatalf("swept %+v", swept)
	}
	if s := b.audited(sealedScope); s.Forgotten != 2 || s.Receipts != 0 || s.Checkpoints != 1 {
		b.Errorf("an audit sees %+v", s)
	}
	b.failed(sealedScope, "a") // a second life
	b.seal(10)
	b.audited(sealedScope)
	slow := b.failed(sealedScope, "slow")
	b.forgettable(slow)
	b.age(slow, unsealed)
	if swept := b.sweep(); swept.Forgotten != 1 {
		b.Errorf("a receipt stays as long as nobody seals: %+v", swept)
	}
}

// auditRetire: a checkpoint goes when its rows are gone, also those of events that ended in a later one.
func auditRetire(b *bench) {
	var anchors []audit.Anchor
	seal := func() {
		b.Helper()
		for _, c := range b.seal(1) {
			anchors = append(anchors, audit.Anchor{Scope: c.Scope, Number: c.Number, Sum: c.Sum})
		}
	}
	r := b.failed(sealedScope, "a")
	seal() // 1
	b.forgettable(r)
	seal() // 2
	lives := b.failed(sealedScope, "lives")
	seal() // 3
	b.sweep()
	if s := b.audited(sealedScope, anchors...); s.BeginsAt != 1 || s.Forgotten != 2 || s.Anchored != 3 {
		b.Errorf("an audit sees %+v", s)
	}
	b.failed(sealedScope, "b")
	seal() // 4
	if s := b.audited(sealedScope, anchors...); s.BeginsAt != 3 || s.Checkpoints != 2 || s.Retired != 2 || s.Anchored != 2 {
		b.Errorf("an audit sees %+v", s)
	}
	if f := b.finds(sealedScope, audit.AnchorsRetired, anchors[:2]...); f.Checkpoint != 3 {
		b.Errorf("found %+v", f)
	}
	wrong := anchors[0] // whatever it was, it went in time
	wrong.Sum[0]++
	if s := b.audited(sealedScope, append([]audit.Anchor{wrong}, anchors...)...); s.Retired != 2 || s.Anchored != 2 {
		b.Errorf("an audit sees %+v", s)
	}
	b.forgettable(lives)
	seal() // 5
	b.sweep()
	b.failed(sealedScope, "c")
	seal() // 6
	if s := b.audited(sealedScope); s.BeginsAt != 4 || s.EndsAt != 6 {
		b.Errorf("an audit sees %+v", s)
	}
}

// auditRetireTooEarly: who deletes rows does not get rid of the checkpoint that knows of them.
func auditRetireTooEarly(b *bench) {
	if b.h.Intruder == nil {
		b.Skip("nobody deletes")
	}
	for _, id := range []string{"a", "b", "c"} {
		b.failed(sealedScope, id)
		b.seal(10)
	}
	for _, row := range append(b.marked(1), b.marked(2)...) {
		b.h.Intruder.removeEvent(b, dedupe.Key{Scope: sealedScope, EventID: row.EventID})
	}
	b.failed(sealedScope, "d")
	sealed, err := b.notary(10).Seal(b.ctx)
	if err != nil || len(sealed.Gone) != 1 || sealed.Made[0].Oldest != 1 {
		b.Fatalf("sealed %+v, %v", sealed, err)
	}
	if f := b.finds(sealedScope, audit.Removed); f.Checkpoint != 1 || f.Reference != delivery.Reference(sealedScope, "a") {
		b.Errorf("found %+v", f)
	}
}

func auditAnchors(b *bench) {
	b.failed(sealedScope, "a")
	one := b.seal(10)[0]
	b.failed(sealedScope, "b")
	b.seal(10)
	b.failed(sealedScope, "c")
	three := b.seal(10)[0]
	anchor := func(c dedupe.Checkpoint) audit.Anchor {
		return audit.Anchor{Scope: c.Scope, Number: c.Number, Sum: c.Sum}
	}
	elsewhere := audit.Anchor{Scope: "acme/elsewhere", Number: 1}
	if s := b.audited(sealedScope, anchor(one), anchor(three), elsewhere); s.Anchored != 2 || s.Unanchored != 1 {
		b.Errorf("an audit sees %+v", s)
	}
	wrong, absent := anchor(one), anchor(three)
	wrong.Sum[0]++
	absent.Number = 4
	for _, a := range []audit.Anchor{wrong, absent} {
		if f := b.finds(sealedScope, audit.AnchorMismatch, a); f.Checkpoint != a.Number {
			b.Errorf("found %+v", f)
		}
	}
	b.finds(sealedScope, audit.AnchorMismatch, anchor(one), wrong)
	b.finds(sealedScope, audit.AnchorMismatch, wrong, anchor(one))
	b.finds("acme/elsewhere", audit.AnchorMismatch, elsewhere)
}

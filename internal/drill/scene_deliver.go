package drill

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// original is a captured delivery and what its sender got for it.
type original struct {
	delivered

	body string
}

// sole is the attempts of an event that has run once.
func sole() []string { return []string{"1"} }

// ranOnce checks that the application has seen an event once.
func (d *Drill) ranOnce(step *Step, e event) bool {
	got := d.app.attempts(e)
	return step.check(slices.Equal(got, sole()), "%s has reached the application in attempts %v", e, got)
}

// anywhere is a replica's URL; the number goes round.
func (d *Drill) anywhere(number int) string {
	all := d.field.Replicas()
	return all[number%len(all)]
}

func (d *Drill) deliveries(ctx context.Context, step *Step) {
	for _, who := range []signer{{paymentsA, "alpha-1"}, {paymentsB, "beta-1"}} {
		for n := range 3 {
			e := event{scope: who.scope, id: fmt.Sprintf("evt-%s-%d", who.credential, n+1)}
			made, err := d.sign(e, who.credential)
			if step.failed(err) {
				return
			}
			first := d.send(ctx, d.anywhere(n), made)
			step.expect(e.String()+", first", first, "200 applied")
			again := d.send(ctx, d.anywhere(n+1), made)
			step.expect(e.String()+", duplicate", again, "200 replayed")
			step.check(again.body == first.body && again.replayed, "%s: the duplicate got the first result", e)
			d.ranOnce(step, e)
			if who.scope == paymentsA {
				d.captured = append(d.captured, original{made, first.body})
			}
		}
	}
}

func (d *Drill) isolation(ctx context.Context, step *Step) {
	a := event{scope: paymentsA, id: "evt-common", note: "of alpha"}
	b := event{scope: paymentsB, id: "evt-common", note: "of beta"}
	step.expect(a.String(), d.deliver(ctx, d.anywhere(0), a, "alpha-1"), "200 applied")
	step.expect(b.String(), d.deliver(ctx, d.anywhere(1), b, "beta-1"), "200 applied")
	d.ranOnce(step, a)
	d.ranOnce(step, b)
	for _, one := range []struct {
		event
		credential string
	}{{a, "alpha-1"}, {b, "beta-1"}} {
		got := d.deliver(ctx, d.anywhere(2), one.event, one.credential)
		step.expect(one.event.String()+", duplicate", got, "200 replayed")
		step.check(got.body == one.event.key()+" run 1", "%s: the duplicate got its own account's result", one.event)
	}
}

func (d *Drill) concurrency(ctx context.Context, step *Step) {
	d.race(ctx, step, event{scope: paymentsA, id: "evt-race"}, d.field.Replicas()[:1])
}

func (d *Drill) replicas(ctx context.Context, step *Step) {
	for n := range 5 {
		d.race(ctx, step, event{scope: paymentsA, id: fmt.Sprintf("evt-race-over-%d", n+1)}, d.field.Replicas())
	}
}

// race sends an event 20 times at once.
func (d *Drill) race(ctx context.Context, step *Step, e event, over []string) {
	const copies = 20
	made, err := d.sign(e, "alpha-1")
	if step.failed(err) {
		return
	}
	answers := make([]answer, copies)
	start := make(chan struct{})
	var racing sync.WaitGroup
	for n := range copies {
		racing.Go(func() {
			<-start
			answers[n] = d.send(ctx, over[n%len(over)], made)
		})
	}
	close(start)
	racing.Wait()
	counts := map[string]int{}
	for _, got := range answers {
		counts[got.String()]++
	}
	good := counts["200 applied"] == 1 && counts["200 applied"]+counts["200 replayed"]+counts["503 in_flight"] == copies
	step.check(good, "%s, %d at once over %d: %v", e, copies, len(over), counts)
	d.ranOnce(step, e)
	step.expect(e.String()+", afterwards", d.settled(ctx, over[0], e, "alpha-1"), "200 replayed")
}

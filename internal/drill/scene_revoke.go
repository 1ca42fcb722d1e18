package drill

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// refused tells whether a credential no longer counts: 401, or 503 where no other one is live.
func (a answer) refused() bool {
	return a.status == http.StatusUnauthorized ||
		a.status == http.StatusServiceUnavailable && a.code() == "no_live_credential"
}

// propagates waits until every replica answers a delivery as wanted, and checks each time against the bound.
func (d *Drill) propagates(ctx context.Context, step *Step, what string, since time.Time, made func() (delivered, error), want func(answer) bool) {
	bases := d.field.Replicas()
	findings := make([]Finding, len(bases))
	var waiting sync.WaitGroup
	for n, base := range bases {
		waiting.Go(func() { findings[n] = d.await(ctx, base, what, since, made, want) })
	}
	waiting.Wait()
	for n, found := range findings {
		step.check(found.Good, "replica %d: %s", n+1, found.Text)
	}
}

// hopeless is how many times the bound are waited for, so that a late effect is told from none.
const hopeless = 5

func (d *Drill) await(ctx context.Context, base, what string, since time.Time, made func() (delivered, error), want func(answer) bool) Finding {
	for {
		asked := time.Now()
		one, err := made()
		if err != nil {
			return Finding{false, err.Error()}
		}
		got := d.send(ctx, base, one)
		if want(got) {
			took := asked.Sub(since)
			return Finding{took <= d.config.Bound, fmt.Sprintf("%s after %s, declared %s", what, took.Round(time.Millisecond), d.config.Bound)}
		}
		if ctx.Err() != nil || asked.Sub(since) > hopeless*d.config.Bound {
			return Finding{false, fmt.Sprintf("%s never, the last answer was %s", what, got)}
		}
		pause(ctx, pollPause)
	}
}

func (d *Drill) revocation(ctx context.Context, step *Step) {
	if len(d.captured) == 0 {
		step.check(false, "nothing was captured to replay")
		return
	}
	before, err := d.look(ctx)
	if step.failed(err) || step.failed(d.configure(keysRevoked())) {
		return
	}
	captured := func() (delivered, error) { return d.captured[0].delivered, nil }
	d.propagates(ctx, step, "refuses the revoked key", time.Now(), captured, answer.refused)
	for n, base := range d.field.Replicas() {
		fresh := d.deliver(ctx, base, event{scope: paymentsA, id: fmt.Sprintf("evt-revoked-%d", n+1)}, "alpha-1")
		step.check(fresh.refused(), "replica %d: a new event under the revoked key: %s", n+1, fresh)
		for _, one := range d.captured {
			got := d.send(ctx, base, one.delivered)
			step.check(got.refused(), "replica %d: %s, captured: %s", n+1, one.event, got)
		}
	}
	d.unchanged(ctx, step, before)
	d.othersGoOn(ctx, step, "evt-meanwhile")
}

// othersGoOn checks that account B gets its work done on every replica.
func (d *Drill) othersGoOn(ctx context.Context, step *Step, id string) {
	for n, base := range d.field.Replicas() {
		e := event{scope: paymentsB, id: fmt.Sprintf("%s-%d", id, n+1)}
		step.expect(e.String()+" of B", d.deliver(ctx, base, e, "beta-1"), "200 applied")
		step.expect(e.String()+" of B, duplicate", d.deliver(ctx, d.anywhere(n+1), e, "beta-1"), "200 replayed")
		d.ranOnce(step, e)
	}
}

func (d *Drill) rotation(ctx context.Context, step *Step) {
	if len(d.captured) == 0 {
		step.check(false, "nothing was captured to replay")
		return
	}
	before, err := d.look(ctx)
	if step.failed(err) || step.failed(d.configure(keysRotated())) {
		return
	}
	resigned := func() (delivered, error) { return d.sign(d.captured[0].event, "alpha-2") }
	d.propagates(ctx, step, "accepts the new key", time.Now(), resigned, func(got answer) bool { return !got.refused() })
	for n, one := range d.captured {
		for _, base := range d.field.Replicas() {
			got := d.deliver(ctx, base, one.event, "alpha-2")
			step.expect(one.event.String()+" under the new key", got, "200 replayed")
			step.check(got.body == one.body, "it got its original result")
		}
		d.ranOnce(step, d.captured[n].event)
	}
	d.unchanged(ctx, step, before)
	e := event{scope: paymentsA, id: "evt-after-rotation"}
	step.expect(e.String()+", new", d.deliver(ctx, d.anywhere(0), e, "alpha-2"), "200 applied")
}

func (d *Drill) replayCaptured(ctx context.Context, step *Step) {
	before, err := d.look(ctx)
	if step.failed(err) {
		return
	}
	for n, base := range d.field.Replicas() {
		for _, one := range d.captured {
			step.expect(fmt.Sprintf("replica %d: %s, captured", n+1, one.event), d.send(ctx, base, one.delivered), "401")
		}
		fresh := event{scope: paymentsA, id: fmt.Sprintf("evt-forged-%d", n+1)}
		step.expect(fmt.Sprintf("replica %d: a new event signed with the leaked key", n+1), d.deliver(ctx, base, fresh, "alpha-1"), "401")
	}
	d.unchanged(ctx, step, before)
}

func (d *Drill) overlap(ctx context.Context, step *Step) {
	if step.failed(d.configure(keysOverlap())) {
		return
	}
	e := event{scope: paymentsA, id: "evt-after-rotation"}
	resigned := func() (delivered, error) { return d.sign(e, "alpha-3") }
	d.propagates(ctx, step, "accepts the newest key", time.Now(), resigned, func(got answer) bool { return !got.refused() })
	fresh := event{scope: paymentsA, id: "evt-overlap"}
	step.expect("an event under the retiring key", d.deliver(ctx, d.anywhere(0), fresh, "alpha-2"), "200 applied")
	step.expect("the same under the new key", d.deliver(ctx, d.anywhere(1), fresh, "alpha-3"), "200 replayed")
	step.expect("an older event under the newest key", d.deliver(ctx, d.anywhere(2), e, "alpha-3"), "200 replayed")
	d.ranOnce(step, fresh)
	d.ranOnce(step, e)
}

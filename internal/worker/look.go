package worker

import (
	"context"
	"slices"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// pause waits until it is time for a look; false when ctx has ended.
func (d *Dispatcher) pause(ctx context.Context) bool {
	if d.looked.IsZero() {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(time.Until(d.looked.Add(d.config.Every)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	case <-d.wake:
	}
	least := gap
	if d.failing {
		least = failingGap
	}
	timer.Reset(time.Until(d.looked.Add(least)))
	select {
	case <-ctx.Done():
		return false
	case <-d.hurry:
		return true
	case <-timer.C:
		return true
	}
}

// look claims what is due and there is room for, and starts it.
func (d *Dispatcher) look(ctx context.Context) {
	select {
	case <-d.hurry: // of before
	default:
	}
	d.looked = time.Now()
	d.backlog.Store(true) // whoever ends from here on has us look again: what it frees is not in these quotas
	routes := d.config.Routes()
	quotas, most := d.crew.quotas(routes, d.Held)
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeTimeout)
	defer cancel()
	taken, err := d.config.Ledger.Take(bounded, quotas, most)
	d.tell(ctx, err)
	if err == nil {
		d.hold(quotas, taken.Held)
	}
	d.backlog.Store(taken.More || most == 0 || anyFull(quotas))
	byScope := make(map[delivery.Scope]*Route, len(routes))
	for i := range routes {
		byScope[routes[i].Scope] = &routes[i]
	}
	for i := range taken.Works {
		work := &taken.Works[i]
		d.start(ctx, work, byScope[work.Claim.Scope])
	}
	if taken.More && d.crew.idle() {
		d.Wake() // nobody's end will
	}
}

// anyFull tells whether a scope was not asked about for want of hands: it may have jobs that nobody has seen.
func anyFull(quotas []dedupe.Quota) bool {
	return slices.ContainsFunc(quotas, func(q dedupe.Quota) bool { return q.Most == 0 })
}

// hold remembers what is paused. Where that has changed it looks again: what goes on has waited long enough.
func (d *Dispatcher) hold(quotas []dedupe.Quota, scopes []delivery.Scope) {
	scopes = slices.Sorted(slices.Values(scopes))
	if !slices.Equal(scopes, d.paused) {
		d.paused = scopes
		d.Wake()
	}
	d.held.Store(setOf(scopes))
	open := make([]delivery.Scope, 0, len(quotas))
	for _, quota := range quotas {
		open = append(open, quota.Scope)
	}
	d.open.Store(setOf(open))
}

// start runs an attempt, or gives the job back where the process is about to end.
func (d *Dispatcher) start(ctx context.Context, work *dedupe.Work, route *Route) {
	size := int64(len(work.Job.Body))
	d.crew.begin(work.Claim.Scope, size)
	d.running.Go(func() {
		a := attempt{Dispatcher: d, work: work, route: route}
		result := delivery.NotSent
		if ctx.Err() == nil {
			result = a.run()
		} else {
			a.release()
		}
		d.crew.end(work.Claim.Scope, size, result != delivery.Answered)
		d.goOn()
	})
}

// goOn looks for more when there is more: at once where there are many hands for it, else by and by.
func (d *Dispatcher) goOn() {
	if !d.backlog.Load() {
		return
	}
	if d.crew.mostlyFree() {
		signal(d.hurry)
	}
	d.Wake()
}

// tell logs a failure once until it is over.
func (d *Dispatcher) tell(ctx context.Context, err error) {
	switch {
	case err != nil && !d.failing:
		d.config.Log.WarnContext(ctx, "jobs cannot be taken from the ledger", "error", err)
	case err == nil && d.failing:
		d.config.Log.InfoContext(ctx, "jobs are taken from the ledger again")
	}
	d.failing = err != nil
}

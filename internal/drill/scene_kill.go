package drill

import (
	"context"
	"slices"
	"time"
)

// successor is a sidecar on the ledger of one that was killed: a replica, or the next process on an embedded ledger.
func (d *Drill) successor(ctx context.Context) (base string, done func(), err error) {
	if d.field.Shared() {
		return d.anywhere(0), func() {}, nil
	}
	next, err := d.field.Launch(ctx)
	if err != nil {
		return "", nil, err
	}
	return next.URL(), next.Kill, nil
}

func (d *Drill) killBefore(ctx context.Context, step *Step) {
	e := event{scope: paymentsA, id: "hold-kill-before"}
	doomed, err := d.field.Launch(ctx)
	if step.failed(err) {
		return
	}
	defer doomed.Kill()
	heard := make(chan answer, 1)
	go func() { heard <- d.deliver(ctx, doomed.URL(), e, "alpha-1") }()
	if err := d.app.begun(ctx, e, 1); err != nil {
		step.failed(err)
		return
	}
	doomed.Kill()
	got := <-heard
	step.check(got.err != nil, "killed while the application works; its sender: %s", got)
	base, done, err := d.successor(ctx)
	if step.failed(err) {
		return
	}
	defer done()
	step.expect("the retry, when the lease has run out", d.settled(ctx, base, e, "alpha-1"), "200 applied")
	attempts := d.app.attempts(e)
	step.check(slices.Equal(attempts, []string{"1", "2"}), "the application has seen one key in attempts %v", attempts)
	step.expect("a duplicate after that", d.deliver(ctx, base, e, "alpha-1"), "200 replayed")
}

func (d *Drill) killAfter(ctx context.Context, step *Step) {
	e := event{scope: paymentsA, id: "evt-kill-after"}
	doomed, err := d.field.Launch(ctx)
	if step.failed(err) {
		return
	}
	defer doomed.Kill()
	first := d.deliver(ctx, doomed.URL(), e, "alpha-1")
	doomed.Kill()
	step.expect("acknowledged, then killed at once", first, "200 applied")
	base, done, err := d.successor(ctx)
	if step.failed(err) {
		return
	}
	defer done()
	again := d.settled(ctx, base, e, "alpha-1")
	step.expect("the retry", again, "200 replayed")
	step.check(again.body == first.body, "it got the result that was acknowledged")
	d.ranOnce(step, e)
}

// workPatience is for a lease that has to run out, and the attempt after it.
const workPatience = 20 * time.Second

func (d *Drill) killAccepted(ctx context.Context, step *Step) {
	e := event{scope: queueB, id: "evt-kill-accepted"}
	doomed, err := d.field.Launch(ctx)
	if step.failed(err) {
		return
	}
	defer doomed.Kill()
	first := d.deliver(ctx, doomed.URL(), e, "beta-queue")
	doomed.Kill()
	step.expect("accepted, then killed at once", first, "202 queued")
	base, done, err := d.successor(ctx)
	if step.failed(err) {
		return
	}
	defer done()
	got := d.deliver(ctx, base, e, "beta-queue")
	for until := time.Now().Add(workPatience); got.receipt != "replayed" && time.Now().Before(until) && ctx.Err() == nil; {
		pause(ctx, 5*pollPause)
		got = d.deliver(ctx, base, e, "beta-queue")
	}
	step.expect("a duplicate, when it has been worked off", got, "200 replayed")
	step.note("the application has seen it in attempts %v", d.app.attempts(e))
}

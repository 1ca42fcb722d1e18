package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// backlogged is how many of A's events hang in its application or wait behind those that do.
const backlogged = 40

// backlog lets A's application hang and delivers B's events meanwhile. Nothing is measured: B is through before A is let
// go.
func (d *Drill) backlog(ctx context.Context, step *Step) {
	waiting := make([]event, backlogged)
	for n := range waiting {
		waiting[n] = event{scope: queueA, id: fmt.Sprintf("hang-%d", n+1)}
		if got := d.deliver(ctx, d.anywhere(n), waiting[n], "alpha-queue"); got.String() != "202 queued" {
			step.expect(waiting[n].String(), got, "202 queued")
		}
	}
	if !step.check(d.someBegan(ctx, waiting), "A has %d events accepted, and its application hangs in some of them", backlogged) {
		return
	}
	d.othersGoOn(ctx, step, "evt-beside-a-backlog")
	for n := range d.field.Replicas() {
		e := event{scope: queueB, id: fmt.Sprintf("evt-beside-a-backlog-%d", n+1)}
		step.expect(e.String()+" of B", d.deliver(ctx, d.anywhere(n), e, "beta-queue"), "202 queued")
		step.check(d.app.begun(ctx, e, 1) == nil, "%s of B has reached the application in attempts %v", e, d.app.attempts(e))
	}
	step.check(d.hanging(ctx, step) == backlogged, "%d of A's %d events are still unfinished", d.hanging(ctx, step), backlogged)
	for _, e := range waiting {
		d.app.free(e)
	}
	for _, e := range waiting {
		if err := d.app.begun(ctx, e, 1); err != nil {
			step.failed(err)
			return
		}
	}
	left := backlogged
	for until := time.Now().Add(workPatience); left > 0 && time.Now().Before(until) && ctx.Err() == nil; {
		pause(ctx, 5*pollPause)
		left = d.hanging(ctx, step)
	}
	step.check(left == 0, "now that A's application is back, %d of its %d events are left", left, backlogged)
}

// someBegan waits until one of the events is in the application.
func (d *Drill) someBegan(ctx context.Context, events []event) bool {
	for until := time.Now().Add(workPatience); time.Now().Before(until) && ctx.Err() == nil; {
		for _, e := range events {
			if len(d.app.attempts(e)) > 0 {
				return true
			}
		}
		pause(ctx, pollPause)
	}
	return false
}

// hanging counts the rows of A's queue that wait or run.
func (d *Drill) hanging(ctx context.Context, step *Step) int {
	receipts, err := d.field.Receipts(ctx)
	if step.failed(err) {
		return 0
	}
	count := 0
	for i := range receipts {
		open := receipts[i].State == dedupe.Queued || receipts[i].State == dedupe.Claimed
		if receipts[i].Scope == queueA && open && strings.HasPrefix(string(receipts[i].EventID), "hang-") {
			count++
		}
	}
	return count
}

// waitSlack is what a waiting duplicate pauses between two looks, and what a busy machine takes.
const waitSlack = 500 * time.Millisecond

func (d *Drill) waiting(ctx context.Context, step *Step) {
	e := event{scope: waitsA, id: "hold-waiting"}
	made, err := d.sign(e, "alpha-waits")
	if step.failed(err) {
		return
	}
	first := make(chan answer, 1)
	go func() { first <- d.send(ctx, d.anywhere(0), made) }()
	if step.failed(d.app.begun(ctx, e, 1)) {
		return
	}
	bases := d.field.Replicas()
	heard, took := make([]answer, len(bases)), make([]time.Duration, len(bases))
	began := time.Now()
	var waiting sync.WaitGroup
	for n, base := range bases {
		waiting.Go(func() {
			heard[n] = d.send(ctx, base, made)
			took[n] = time.Since(began)
		})
	}
	pause(ctx, 5*pollPause)
	if step.failed(d.configure(keysWaiting())) {
		return
	}
	waiting.Wait()
	for n, got := range heard {
		step.check(got.refused() && took[n] <= d.config.Bound+waitSlack, "replica %d: a duplicate that waited: %s after %s, declared %s",
			n+1, got, took[n].Round(time.Millisecond), d.config.Bound)
	}
	d.app.free(e)
	step.expect("the attempt that ran meanwhile", <-first, "200 applied")
	d.ranOnce(step, e)
}

func (d *Drill) retention(ctx context.Context, step *Step) {
	e := event{scope: briefA, id: "evt-old"}
	step.expect("an event whose receipt lives 2 s", d.deliver(ctx, d.anywhere(0), e, "alpha-brief"), "200 applied")
	var got answer
	for replays := 0; ; replays++ {
		if step.failed(d.field.Sweep(ctx)) {
			return
		}
		if got = d.deliver(ctx, d.anywhere(0), e, "alpha-brief"); got.receipt == "applied" || ctx.Err() != nil {
			break
		}
		pause(ctx, 5*pollPause)
	}
	attempts := d.app.attempts(e)
	good := got.String() == "200 applied" && slices.Equal(attempts, []string{"1", "1"})
	step.check(good, "past the retention: %s; the application has seen it in attempts %v. It runs again: only a guard in the "+
		"business itself, or a longer retention, helps against a replay that old", got, attempts)
}

func (d *Drill) logs(_ context.Context, step *Step) {
	text, err := d.field.Logs()
	if step.failed(err) {
		return
	}
	lines, mixed := 0, 0
	for line := range bytes.Lines(text) {
		var record struct {
			Scope string `json:"scope"`
		}
		if json.Unmarshal(line, &record) != nil || record.Scope == "" {
			continue
		}
		lines++
		if namesOther(record.Scope, string(line)) {
			mixed++
		}
	}
	step.check(lines > 0 && mixed == 0, "%d log lines have a scope, %d of them name the other account", lines, mixed)
	shown := 0
	for one := range d.used {
		if bytes.Contains(text, []byte(one)) {
			shown++
		}
	}
	step.check(shown == 0, "of %d secrets and signatures the logs show %d", len(d.used), shown)
}

func namesOther(scope, line string) bool {
	other := "beta"
	if strings.HasPrefix(scope, "beta/") {
		other = "alpha"
	}
	return strings.Contains(line, other)
}

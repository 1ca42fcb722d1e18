package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// backlog lets A's application hang in several deliveries and delivers B's meanwhile: nothing is measured, because B is
// through before A's are let go.
func (d *Drill) backlog(ctx context.Context, step *Step) {
	const hanging = 8
	var ended atomic.Int64
	var waiting sync.WaitGroup
	answers := make([]answer, hanging)
	for n := range hanging {
		e := event{scope: slowA, id: fmt.Sprintf("hang-%d", n+1)}
		made, err := d.sign(e, "alpha-slow")
		if step.failed(err) {
			return
		}
		waiting.Go(func() {
			answers[n] = d.send(ctx, d.anywhere(n), made)
			ended.Add(1)
		})
	}
	for n := range hanging {
		step.failed(d.app.begun(ctx, event{scope: slowA, id: fmt.Sprintf("hang-%d", n+1)}, 1))
	}
	d.othersGoOn(ctx, step, "evt-beside-a-dead-one")
	step.check(ended.Load() == 0, "%d of A's %d deliveries still hang in A's application", hanging-ended.Load(), hanging)
	d.app.release()
	waiting.Wait()
	for n, got := range answers {
		step.expect(fmt.Sprintf("A's delivery %d, when its application is back", n+1), got, "200 applied")
	}
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

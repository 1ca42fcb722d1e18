package drill

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

func (d *Drill) wrongRoute(ctx context.Context, step *Step) {
	before, err := d.look(ctx)
	if step.failed(err) {
		return
	}
	made, err := d.sign(event{scope: paymentsA, id: "evt-wrong-route"}, "alpha-1")
	if step.failed(err) {
		return
	}
	made.path = route(paymentsB)
	step.expect("A's delivery on B's route", d.send(ctx, d.anywhere(0), made), "401")
	d.unchanged(ctx, step, before)
	own := event{scope: paymentsB, id: "evt-wrong-route"}
	step.expect("B's own event under that ID", d.deliver(ctx, d.anywhere(0), own, "beta-1"), "200 applied")
	d.ranOnce(step, own)
}

func (d *Drill) conflict(ctx context.Context, step *Step) {
	first := event{scope: paymentsA, id: "evt-conflict", note: "first"}
	other := event{scope: paymentsA, id: "evt-conflict", note: "second"}
	step.expect(first.String(), d.deliver(ctx, d.anywhere(0), first, "alpha-1"), "200 applied")
	for n := range d.field.Replicas() {
		step.expect("the same ID with another body", d.deliver(ctx, d.anywhere(n), other, "alpha-1"), "422 conflict")
	}
	d.ranOnce(step, first)
}

func (d *Drill) altered(ctx context.Context, step *Step) {
	signedID, err := d.sign(event{scope: paymentsA, id: "evt-signed-id"}, "alpha-1")
	if step.failed(err) {
		return
	}
	step.expect("an event whose ID is signed", d.send(ctx, d.anywhere(0), signedID), "200 applied")
	signedID.body = []byte(strings.ReplaceAll(string(signedID.body), "evt-signed-id", "evt-signed-ib"))
	step.expect("the same under another ID", d.send(ctx, d.anywhere(1), signedID), "401")

	unsigned, err := d.sign(event{scope: ordersA, id: "evt-unsigned-id"}, "alpha-orders")
	if step.failed(err) {
		return
	}
	first := d.send(ctx, d.anywhere(0), unsigned)
	step.expect("an event whose ID is not signed", first, "200 applied")
	unsigned.header = unsigned.header.Clone()
	unsigned.header.Set("X-Event-Id", "evt-fresh-id")
	again := d.send(ctx, d.anywhere(1), unsigned)
	step.expect("the same under another ID", again, "200 suspect_replay")
	step.check(again.body == first.body, "it got the first result")
	runs := len(d.app.attempts(event{scope: ordersA, id: "evt-fresh-id"}))
	step.check(runs == 0, "the application has seen the other ID %d times", runs)
}

// bad is a request that must be refused.
type bad struct {
	what string
	made delivered
	want string
}

func (d *Drill) refusals(ctx context.Context, step *Step) {
	genuine := event{scope: paymentsA, id: "evt-reserve"}
	all, err := d.badRequests(genuine)
	if step.failed(err) {
		return
	}
	before, err := d.look(ctx)
	if step.failed(err) {
		return
	}
	for n, one := range all {
		step.expect(one.what, d.send(ctx, d.anywhere(n), one.made), one.want)
	}
	d.unchanged(ctx, step, before)
	step.expect("the genuine event afterwards", d.deliver(ctx, d.anywhere(0), genuine, "alpha-1"), "200 applied")
	d.ranOnce(step, genuine)
}

// badRequests all carry the ID of a genuine event, where they can.
func (d *Drill) badRequests(e event) ([]bad, error) {
	good, err := d.sign(e, "alpha-1")
	if err != nil {
		return nil, err
	}
	unsigned := good
	unsigned.header = http.Header{"Content-Type": {"application/json"}, "X-Timestamp": good.header["X-Timestamp"]}
	tampered := good
	tampered.body = append([]byte(" "), good.body...)
	all := []bad{{"without a signature", unsigned, "401"}, {"with one byte more than was signed", tampered, "401"}}
	for _, one := range []struct {
		what, credential, body string
		at                     time.Duration
		want                   string
	}{
		{"by a key that nobody configured", "stranger", string(good.body), 0, "401"},
		{"by the other account's key", "beta-1", string(good.body), 0, "401"},
		{"signed ten minutes ago", "alpha-1", string(good.body), -10 * time.Minute, "401"},
		{"signed ten minutes ahead", "alpha-1", string(good.body), 10 * time.Minute, "401"},
		{"larger than the limit", "alpha-1", fmt.Sprintf(`{"id":%q,"x":%q}`, e.id, strings.Repeat("x", maxBody)), 0, "413"},
		{"with a body that is no JSON", "alpha-1", `{"id":"` + e.id + `",`, 0, "400"},
		{"without an event ID", "alpha-1", `{"type":"payment.succeeded"}`, 0, "400"},
		{"with a space in the event ID", "alpha-1", `{"id":"evt reserve"}`, 0, "400"},
		{"with two event IDs", "alpha-1", fmt.Sprintf(`{"id":%q,"id":"evt-other"}`, e.id), 0, "400"},
	} {
		made, err := d.signBody(e, one.credential, []byte(one.body), time.Now().Add(one.at))
		if err != nil {
			return nil, err
		}
		all = append(all, bad{one.what, made, one.want})
	}
	return all, nil
}

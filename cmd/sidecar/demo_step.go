package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// stripe is the sender of most steps; it signs with the new key.
func (d *demo) stripe() demoSender { return d.senders[0] }

func (d *demo) firstDeliveries(ctx context.Context) {
	d.page.step("First deliveries", "Six senders, six signature schemes. Each event is verified, claimed, handed over once, and its answer recorded.")
	applied := 0
	for _, sender := range d.senders[:len(d.senders)-1] {
		event := sender.event("first-" + sender.integration.Provider)
		answer := sender.send(ctx, event)
		good := answer.status == http.StatusOK && answer.receipt == "applied" && d.app.count(event.id) == 1
		d.page.check(good, "%s gets %s", sender.name, answer)
		if good {
			applied++
		}
	}
	d.page.shows("%d senders: 200 applied, one run each", applied)
}

func (d *demo) duplicates(ctx context.Context) {
	d.page.step("Duplicates", "Stripe did not hear the answer and sends the event again, three times.")
	event := d.stripe().event("first-stripe")
	for range 3 {
		answer := d.stripe().send(ctx, event)
		d.page.check(answer.status == http.StatusOK && answer.receipt == "replayed" && answer.replayed,
			"answered %s with the recorded body %q", answer, strings.TrimSpace(answer.body))
	}
	runs := d.app.count(event.id)
	d.page.check(runs == 1, "the application has run it %s", times(runs))
	d.page.shows("3 x 200 replayed, no second run")
}

func (d *demo) concurrency(ctx context.Context) {
	const deliveries = 20
	d.page.step("Twenty at the same instant", "The application is slow; twenty copies of one event arrive together.")
	event := d.stripe().event("slow-1")
	answers := make([]demoAnswer, deliveries)
	var together, done sync.WaitGroup
	together.Add(deliveries)
	for i := range answers {
		done.Go(func() {
			together.Done()
			together.Wait()
			answers[i] = d.stripe().send(ctx, event)
		})
	}
	done.Wait()
	seen := map[string]int{}
	for _, answer := range answers {
		seen[answer.String()]++
	}
	runs := d.app.count(event.id)
	d.page.check(seen["200 applied"] == 1 && seen["200 applied"]+seen["503 in_flight"]+seen["200 replayed"] == deliveries,
		"%d x 200 applied, %d x 503 in_flight (come back), %d x 200 replayed",
		seen["200 applied"], seen["503 in_flight"], seen["200 replayed"])
	d.page.check(runs == 1, "the application has run it %s", times(runs))
	again := d.stripe().send(ctx, event)
	d.page.check(again.receipt == "replayed", "whoever comes back gets %s", again)
	d.page.shows("20 deliveries: %s", runsText(runs))
}

func (d *demo) tampering(ctx context.Context) {
	d.page.step("Tampering", "Somebody changes the amount of a captured delivery; somebody else signs nothing at all.")
	genuine := d.stripe().event("never-1")
	header, err := d.stripe().sign(genuine)
	if err != nil {
		d.page.check(false, "signing failed: %v", err)
		return
	}
	url := d.base + d.stripe().integration.Route
	tampered := post(ctx, url, header, strings.Replace(genuine.body, "4200", "9900", 1))
	d.page.check(tampered.status == http.StatusUnauthorized, "changed body: %s", tampered)
	unsigned := post(ctx, url, http.Header{"Content-Type": {"application/json"}}, genuine.body)
	d.page.check(unsigned.status == http.StatusUnauthorized, "no signature: %s", unsigned)
	d.page.check(tampered.body == unsigned.body, "both answers are the same: a stranger learns nothing")
	_, err = d.server.keeper.Receipt(ctx, d.stripe().integration.Scope, delivery.EventID(genuine.id))
	d.page.check(d.app.count(genuine.id) == 0 && errors.Is(err, dedupe.ErrNotFound),
		"the application saw nothing, and the ledger has no row")
	d.page.shows("2 x 401, no run, no row")
}

func (d *demo) conflict(ctx context.Context) {
	d.page.step("Same ID, other content", "A genuine signature, a known event ID, another amount. That is no duplicate.")
	event := d.stripe().event("first-stripe")
	event.body = strings.Replace(event.body, "4200", "9900", 1)
	answer := d.stripe().send(ctx, event)
	runs := d.app.count(event.id)
	d.page.check(answer.status == http.StatusUnprocessableEntity && answer.receipt == "conflict", "answered %s", answer)
	d.page.check(runs == 1, "the application has run it %s", times(runs))
	d.page.shows("422 conflict, no run")
}

func (d *demo) failure(ctx context.Context) {
	d.page.step("The application fails, then works", "500 is no result: it is passed on, and the sender's retry runs again with the same key.")
	event := d.stripe().event("fails-1")
	first := d.stripe().send(ctx, event)
	d.page.check(first.status == http.StatusInternalServerError && first.receipt == "retryable", "first delivery: %s", first)
	second := d.stripe().send(ctx, event)
	d.page.check(second.status == http.StatusOK && second.receipt == "applied" && d.app.attempt(event.id) == 2, "the sender's retry: %s", second)
	third := d.stripe().send(ctx, event)
	d.page.check(third.receipt == "replayed" && d.app.count(event.id) == 2, "a duplicate after that: %s", third)
	d.page.shows("500 retryable, then 200 applied as attempt 2")
}

func (d *demo) otherPaths(ctx context.Context) {
	d.page.step("Every other path", "What is no webhook passes untouched. Another spelling of a webhook path does not.")
	get := func(target string) demoAnswer {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base, http.NoBody)
		if err != nil {
			return demoAnswer{err: err}
		}
		request.URL.Opaque = "//" + request.URL.Host + target
		return do(request)
	}
	hello := get("/hello")
	d.page.check(hello.status == http.StatusOK, "GET /hello: %s", hello)
	spelled := get("/webhooks/acme/%73tripe")
	d.page.check(spelled.status == http.StatusBadRequest, "GET /webhooks/acme/%%73tripe: %s", spelled)
	unknown := get("/webhooks/somebody/else")
	d.page.check(unknown.status == http.StatusNotFound, "GET /webhooks/somebody/else, under SIDECAR_GUARD but no route: %s", unknown)
	d.page.shows("200 from the application; 400 and 404 for ways round")
}

func (d *demo) revocation(ctx context.Context) {
	d.page.step("A leaked key", "Stripe's old key has leaked. It still verifies, until an operator marks it revoked in the file.")
	old := d.senders[len(d.senders)-1]
	before := old.send(ctx, old.event("oldkey-1"))
	d.page.check(before.receipt == "applied", "signed with the old key: %s", before)
	began := time.Now()
	if err := d.configure(demoKeys{revoked: true}); err != nil {
		d.page.check(false, "the file could not be written: %v", err)
		return
	}
	d.page.operator("writes status: revoked into sidecar.yaml; nothing is restarted")
	var after demoAnswer
	err := await(ctx, func() error {
		if after = old.send(ctx, old.event("oldkey-1")); after.status != http.StatusUnauthorized {
			return fmt.Errorf("still %s", after)
		}
		return nil
	})
	d.page.check(err == nil, "%d ms later the old key gets %s", time.Since(began).Milliseconds(), after)
	same := d.stripe().send(ctx, d.stripe().event("oldkey-1"))
	d.page.check(same.receipt == "replayed", "the same event signed with the new key: %s, because the scope is not the key", same)
	d.page.shows("401 without a restart; the scope stays the same")
}

func times(count int) string {
	if count == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", count)
}

func runsText(runs int) string {
	if runs == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", runs)
}

package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// event is an event of an integration.
type event struct {
	scope string
	id    string
	note  string // goes into the body: another note is another body under the same ID
}

func (e event) String() string { return e.scope + " " + e.id }

// key is the idempotency key that the application sees.
func (e event) key() string { return e.scope + "/" + e.id }

func (e event) body() []byte {
	return fmt.Appendf(nil, `{"id":%q,"type":"payment.succeeded","data":{"note":%q}}`, e.id, e.note)
}

// signer names who signs: a credential of an integration.
type signer struct{ scope, credential string }

// sender signs as the integration's sender does.
type sender struct{ verifier *verify.Verifier }

// delivered is a signed delivery, byte for byte, as it can be captured and sent again.
type delivered struct {
	event  event
	path   string
	header http.Header
	body   []byte
}

// answer is what a sender got.
type answer struct {
	status   int
	receipt  string
	replayed bool
	body     string
	err      error
}

// String is the answer on one line.
func (a answer) String() string {
	switch {
	case a.err != nil:
		return "no answer"
	case a.receipt == "":
		return fmt.Sprint(a.status)
	default:
		return fmt.Sprintf("%d %s", a.status, a.receipt)
	}
}

// sign makes a genuine delivery of an event by a credential.
func (d *Drill) sign(e event, credential string) (delivered, error) {
	return d.signBody(e, credential, e.body(), time.Now())
}

// signBody signs whatever a body says, at any time.
func (d *Drill) signBody(e event, credential string, body []byte, now time.Time) (delivered, error) {
	from, err := d.sender(signer{e.scope, credential})
	if err != nil {
		return delivered{}, err
	}
	made := delivered{event: e, path: route(e.scope), body: body}
	asked := &delivery.Delivery{
		Method: http.MethodPost, Target: made.path, Header: http.Header{"X-Event-Id": {e.id}}, Body: made.body, Received: now,
	}
	if made.header, err = from.verifier.Sign(asked, now); err != nil {
		return delivered{}, err
	}
	if e.scope == ordersA {
		made.header.Set("X-Event-Id", e.id)
	}
	made.header.Set("Content-Type", "application/json")
	d.note(made.header.Get("X-Signature"))
	return made, nil
}

func (d *Drill) sender(who signer) (*sender, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.senders[who]; known != nil {
		return known, nil
	}
	id := verify.Source{JSON: "/id"}
	if who.scope == ordersA {
		id = verify.Source{Header: "X-Event-Id"}
	}
	verifier, err := verify.New(verify.Config{
		Scope: delivery.Scope(who.scope), Provider: "hmac",
		HMAC: &verify.HMAC{
			Algorithm: "sha256", Header: "X-Signature", Prefix: "sha256=", Encoding: "hex", Signed: "{timestamp}.{body}",
			Timestamp: verify.Timestamp{Header: "X-Timestamp"},
		},
		Event:       verify.Event{ID: id},
		Credentials: []verify.Credential{{ID: who.credential, Secret: []byte(secret(who.credential))}},
	})
	if err != nil {
		return nil, fmt.Errorf("a sender for %s: %w", who.scope, err)
	}
	d.senders[who] = &sender{verifier}
	return d.senders[who], nil
}

// deliver signs an event and sends it to a sidecar.
func (d *Drill) deliver(ctx context.Context, base string, e event, credential string) answer {
	made, err := d.sign(e, credential)
	if err != nil {
		return answer{err: err}
	}
	return d.send(ctx, base, made)
}

// send sends exactly these bytes.
func (d *Drill) send(ctx context.Context, base string, made delivered) answer {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+made.path, bytes.NewReader(made.body))
	if err != nil {
		return answer{err: err}
	}
	request.Header = made.header.Clone()
	response, err := d.client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	_ = response.Body.Close() // read to its end, or broken
	return answer{
		status: response.StatusCode, receipt: response.Header.Get("Sidecar-Receipt"),
		replayed: response.Header.Get("Idempotent-Replayed") == "true", body: string(body), err: err,
	}
}

// code is the stable code of a problem; empty for anything else.
func (a answer) code() string {
	var problem struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal([]byte(a.body), &problem) // another body is no problem
	return problem.Code
}

// settled sends until the event is no longer in flight.
func (d *Drill) settled(ctx context.Context, base string, e event, credential string) answer {
	for {
		got := d.deliver(ctx, base, e, credential)
		if got.receipt != "in_flight" && got.err == nil || ctx.Err() != nil {
			return got
		}
		pause(ctx, 5*pollPause)
	}
}

// pause waits a moment, or until the step is over.
func pause(ctx context.Context, moment time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(moment):
	}
}

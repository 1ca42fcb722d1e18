package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// demoSender signs deliveries as a real sender does.
type demoSender struct {
	d           *demo
	name        string
	integration *config.Integration
	verifier    *verify.Verifier
}

// demoAnswer is what a sender got.
type demoAnswer struct {
	status   int
	receipt  string
	replayed bool
	body     string
	err      error
}

// String is the answer on one line.
func (a demoAnswer) String() string {
	switch {
	case a.err != nil:
		return "no answer: the connection broke"
	case a.receipt == "":
		return fmt.Sprintf("%d", a.status)
	default:
		return fmt.Sprintf("%d %s", a.status, a.receipt)
	}
}

// demoEvent is an event as its sender would put it.
type demoEvent struct{ id, kind, body string }

// event makes an event in the form of each sender.
func (s demoSender) event(id string) demoEvent {
	switch s.integration.Provider {
	case "stripe":
		return demoEvent{id, "payment_intent.succeeded", `{"id":"` + id + `","object":"event","type":"payment_intent.succeeded","data":{"object":{"id":"pi_1","amount":4200}}}`}
	case "slack":
		return demoEvent{id, "event_callback", `{"type":"event_callback","event_id":"` + id + `","event":{"type":"reaction_added"}}`}
	case "github":
		return demoEvent{id, "pull_request", `{"action":"opened","number":7}`}
	case "shopify":
		return demoEvent{id, "orders/paid", `{"id":820982911946154508,"total_price":"403.00"}`}
	case "standard-webhooks":
		return demoEvent{id, "", `{"type":"invoice.paid","data":{"amount":5}}`}
	default:
		return demoEvent{id, "order.created", `{"id":"` + id + `","type":"order.created","data":{"total":12}}`}
	}
}

// sign is the header of a genuine delivery.
func (s demoSender) sign(e demoEvent) (http.Header, error) {
	return signed(s.integration, s.verifier, []byte(e.body), e.id, e.kind)
}

// send delivers an event to the sidecar of this process.
func (s demoSender) send(ctx context.Context, e demoEvent) demoAnswer {
	header, err := s.sign(e)
	if err != nil {
		return demoAnswer{err: err}
	}
	return post(ctx, s.d.base+s.integration.Route, header, e.body)
}

// post makes one request.
func post(ctx context.Context, url string, header http.Header, body string) demoAnswer {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return demoAnswer{err: err}
	}
	request.Header = header.Clone()
	return do(request)
}

func do(request *http.Request) demoAnswer {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return demoAnswer{err: err}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	_ = response.Body.Close() // read to its end, or broken
	return demoAnswer{
		status: response.StatusCode, receipt: response.Header.Get("Sidecar-Receipt"),
		replayed: response.Header.Get("Idempotent-Replayed") == "true", body: string(body), err: err,
	}
}

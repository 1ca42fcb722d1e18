package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/sqlite"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// selftestBench is the integration's route with the real verifier and rules, on a ledger in memory, before nothing.
type selftestBench struct {
	integration *config.Integration
	verifier    *verify.Verifier
	preset      verify.Preset
	header      http.Header // what a delivery carries besides its signature
	body        []byte
	genuine     bool // the body is as the sender makes it
	store       *sqlite.Store
	server      *http.Server
	base        string
}

func newSelftestBench(ctx context.Context, i *config.Integration, verifier *verify.Verifier) (*selftestBench, error) {
	b := &selftestBench{integration: i, verifier: verifier}
	b.preset, _ = verify.LookupPreset(i.Provider)
	b.header, b.body = sampleEvent(i, b.preset)
	var err error
	if b.store, err = sqlite.Open(ctx, ":memory:"); err != nil {
		return nil, err
	}
	keeper, err := dedupe.NewKeeper(dedupe.KeeperConfig{Store: b.store, Replica: "selftest"})
	if err == nil {
		err = b.serve(ctx, keeper)
	}
	if err != nil {
		return nil, errors.Join(err, b.store.Close())
	}
	return b, nil
}

func (b *selftestBench) serve(ctx context.Context, keeper *dedupe.Keeper) error {
	edge, err := proxy.New(proxy.Config{Ledger: keeper, Application: noApplication{}, Passthrough: http.NotFoundHandler(), RoutesOnly: true})
	if err != nil {
		return err
	}
	if err := edge.Serve([]proxy.Route{b.integration.SelftestRoute(b.verifier)}); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.base = "http://" + listener.Addr().String()
	b.server = &http.Server{Handler: edge, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = b.server.Serve(proxy.StrictListener(listener)) }() // it ends with close
	return nil
}

func (b *selftestBench) close() {
	_ = b.server.Close()
	_ = b.store.Close()
}

// noApplication answers 200 for an application that is not asked.
type noApplication struct{}

func (noApplication) Forward(context.Context, upstream.Attempt) delivery.Result {
	return delivery.Result{Outcome: delivery.Answered, Response: delivery.Response{Status: http.StatusOK, Header: http.Header{}}}
}

// signAt makes the delivery genuine, as of a time.
func (b *selftestBench) signAt(now time.Time) (http.Header, []byte, error) {
	d := sampleDelivery(b.integration, b.header.Clone(), b.body)
	header, body := http.Header{}, b.body
	var err error
	if b.preset.SignedInBody {
		body, err = b.verifier.SignBody(d, now)
	} else {
		header, err = b.verifier.Sign(d, now)
	}
	if err != nil {
		return nil, nil, err
	}
	signed := b.header.Clone()
	maps.Copy(signed, header)
	return signed, body, nil
}

func (b *selftestBench) send(ctx context.Context, header http.Header, body []byte) demoAnswer {
	request, err := http.NewRequestWithContext(ctx, b.integration.Methods[0], b.base+b.integration.Route, bytes.NewReader(body))
	if err != nil {
		return demoAnswer{err: err}
	}
	request.Header = header.Clone()
	return do(request)
}

// steps sends the deliveries and judges the answers.
func (b *selftestBench) steps(ctx context.Context) []selftestStep {
	steps := []selftestStep{judged("without a signature", b.send(ctx, b.header, b.body), "401")}
	header, body, err := b.signAt(time.Now())
	if err != nil {
		return append(steps, selftestStep{Name: "valid", Verdict: "n/a", Note: err.Error() + ": have the sender send a test event"})
	}
	first, again := "200 applied", "200 replayed"
	if b.integration.Accept {
		first, again = "202 queued", "202 queued"
	}
	steps = append(steps, b.tampered(ctx, header, body), b.altered(ctx, header, body), b.stale(ctx))
	valid := judged("valid", b.send(ctx, header, body), first)
	if valid.Verdict == "failed" && !b.genuine && b.integration.HMAC == nil {
		note := "a made-up event gets " + valid.Got + ": give one as the sender makes it with --body FILE"
		return append(steps, selftestStep{Name: "valid", Verdict: "n/a", Note: note})
	}
	return append(steps, valid, judged("duplicate", b.send(ctx, header, body), again))
}

func judged(name string, got demoAnswer, want string) selftestStep {
	step := selftestStep{Name: name, Verdict: "passed", Got: got.String(), Want: want}
	if step.Got != want && !strings.HasPrefix(step.Got, want+" ") {
		step.Verdict = "failed"
	}
	return step
}

// tampered has a byte more than was signed.
func (b *selftestBench) tampered(ctx context.Context, header http.Header, body []byte) selftestStep {
	if !strings.Contains(b.preset.Signed, "body") && b.integration.HMAC == nil {
		return selftestStep{Name: "tampered body", Verdict: "n/a", Note: "this sender's signature does not cover the body"}
	}
	return judged("tampered body", b.send(ctx, header, append([]byte(" "), body...)), "401")
}

// altered changes each header of the signature in turn: at least one must be missed.
func (b *selftestBench) altered(ctx context.Context, header http.Header, body []byte) selftestStep {
	if b.preset.SignedInBody {
		return selftestStep{Name: "altered signature", Verdict: "n/a", Note: "the signature is part of the body"}
	}
	var last demoAnswer
	for name, values := range header {
		if len(b.header[name]) > 0 {
			continue
		}
		other := header.Clone()
		other[name] = []string{alter(values[0])}
		if last = b.send(ctx, other, body); last.status == http.StatusUnauthorized {
			break
		}
	}
	return judged("altered signature", last, "401")
}

// alter changes the last letter or digit but one.
func alter(value string) string {
	at := max(0, len(value)-2)
	if value == "" || value[at] == 'x' {
		return value + "y"
	}
	return value[:at] + "x" + value[at+1:]
}

// stale was signed a day ago.
func (b *selftestBench) stale(ctx context.Context) selftestStep {
	timed := b.preset.Tolerance > 0
	if b.integration.HMAC != nil {
		timed = b.integration.HMAC.Timestamp.Header != ""
	}
	if !timed {
		return selftestStep{Name: "stale", Verdict: "n/a", Note: "this sender signs no time, or accepts any"}
	}
	header, body, err := b.signAt(time.Now().Add(-24 * time.Hour))
	if err != nil {
		return selftestStep{Name: "stale", Verdict: "n/a", Note: err.Error()}
	}
	return judged("stale", b.send(ctx, header, body), "401")
}

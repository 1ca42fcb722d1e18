package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// signedRequest is what sign printed, as a raw request.
func signedRequest(r *rig, scope, route, body string, args ...string) string {
	r.t.Helper()
	r.write("body", body)
	header := r.must(append([]string{"sign", "--integration", scope, "--body", r.path("body")}, args...)...)
	return "POST " + route + " HTTP/1.1\r\nHost: x\r\n" + strings.ReplaceAll(header, "\n", "\r\n") + "\r\n" + body
}

func TestWhatSignPrintsVerifies(t *testing.T) {
	r := newRig(t)
	for provider, body := range map[string]string{
		"stripe": `{"id":"evt-1","type":"t-1"}`, "github": `{"a":1}`, "shopify": `{"a":1}`,
		"slack": `{"type":"t-1","event_id":"evt-1"}`, "standard-webhooks": `{"type":"t-1"}`,
	} {
		t.Run(provider, func(t *testing.T) {
			secret := firstKey
			if provider == "standard-webhooks" {
				secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
			}
			r.write("key", secret+"\n")
			r.configure(fmt.Sprintf("integrations:\n  - {account: acme, name: x, route: /x, provider: %s, credentials: [{id: k, secret: {file: key}}]}\n", provider))
			request := signedRequest(r, "acme/x", "/x", body, "--event-id", "evt-1", "--event-type", "t-1")

			for _, against := range [][]string{{"--integration", "acme/x"}, {"--provider", provider, "--secret-file", r.path("key")}} {
				status, out := r.command(request, append([]string{"verify", "--json"}, against...)...)
				var got verdict
				if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 || got.Verdict != "verified" || got.Reason != nil ||
					got.EventID == nil || *got.EventID != "evt-1" || got.EventIDSigned != preset(t, provider).IDSigned {
					t.Errorf("%v: exit %d: %s", against, status, out)
				}
			}
			status, out := r.command(request+" ", "verify", "--json", "--integration", "acme/x")
			var got verdict
			if err := json.Unmarshal([]byte(out), &got); err != nil || status != 1 || got.Verdict != "rejected" || got.Reason == nil {
				t.Errorf("tampered: exit %d: %s", status, out)
			}
		})
	}
}

func TestVerifyJudgesAtATime(t *testing.T) {
	r := newRig(t)
	r.write("key", firstKey)
	r.configure("integrations:\n  - {account: acme, name: x, route: /x, provider: stripe, credentials: [{id: k, secret: {file: key}}]}\n")
	r.write("request", signedRequest(r, "acme/x", "/x", `{"id":"evt-1"}`))
	verify := func(at string) int {
		status, _ := r.command("", "verify", "--integration", "acme/x", "--request", r.path("request"), "--at", at)
		return status
	}
	now := time.Now()
	for at, want := range map[string]int{
		now.Format(time.RFC3339):                 0,
		fmt.Sprint(now.Unix()):                   0,
		fmt.Sprint(now.Add(time.Hour).Unix()):    1,
		now.Add(-time.Hour).Format(time.RFC3339): 1,
		"yesterday":                              2,
		"-5":                                     2,
	} {
		if got := verify(at); got != want {
			t.Errorf("at %s: exit %d, want %d", at, got, want)
		}
	}
}

func TestCapturesWithBareLineEnds(t *testing.T) {
	r := newRig(t)
	r.write("key", firstKey)
	body := "{\"id\":\"evt-1\",\n\n\"x\":\"\r\n\"}"
	r.configure("integrations:\n  - {account: acme, name: x, route: /x, provider: stripe, credentials: [{id: k, secret: {file: key}}]}\n")
	request := signedRequest(r, "acme/x", "/x", body)
	head, _, _ := strings.Cut(request, "\r\n\r\n")
	bare := strings.ReplaceAll(head, "\r\n", "\n") + "\n\n" + body
	sized := head + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	for name, text := range map[string]string{"as sent": request, "bare": bare, "with a length": sized} {
		if status, out := r.command(text, "verify", "--integration", "acme/x"); status != 0 {
			t.Errorf("%s: exit %d: %s", name, status, out)
		}
	}
	for name, text := range map[string]string{"nothing": "", "no head's end": "POST /x HTTP/1.1\n", "no request": "hello\n\n",
		"short": head + "\r\nContent-Length: 1000\r\n\r\n" + body} {
		if status, out := r.command(text, "verify", "--integration", "acme/x"); status != 2 {
			t.Errorf("%s: exit %d: %s", name, status, out)
		}
	}
}

func TestSignPrintsACommand(t *testing.T) {
	r := newRig(t)
	r.write("it's a body", `{"id":"evt-1"}`)
	out := r.must("sign", "--integration", "acme/orders", "--body", r.path("it's a body"), "--curl")
	for _, want := range []string{"curl -i -X POST", "-H 'X-Signature: ", `it'\''s a body'`, "'http://" + r.env["SIDECAR_LISTEN"] + "/hooks/orders'"} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing says %q in\n%s", want, out)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte("POST /x?a=1 HTTP/1.1\r\nHost: h\r\nX-A: b\r\n\r\nbody"))
	f.Add([]byte("POST / HTTP/1.1\nHost: h\nContent-Length: 2\n\nab"))
	f.Add([]byte("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := parseRequest(raw, time.Unix(0, 0))
		if err == nil && (got.Method == "" || got.Header == nil || len(got.Body) > len(raw)) {
			t.Fatalf("%q is read as %+v", raw, got)
		}
	})
}

package verify

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crypto/tls"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	topic   = "arn:aws:sns:us-west-2:123456789012:orders"
	certURL = "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-1.pem"
)

// amazon is a topic's key, and a TLS server in the place of Amazon's host.
type amazon struct {
	key    *rsa.PrivateKey
	pem    []byte
	client *http.Client
	asked  atomic.Int32
	answer func(w http.ResponseWriter, r *http.Request)
}

// topicKey is made once, as that takes long.
var topicKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func newAmazon(t *testing.T) *amazon {
	t.Helper()
	key := topicKey()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sns"},
		NotBefore: noon.Add(-time.Hour), NotAfter: noon.Add(48 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	a := &amazon{key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	a.answer = func(w http.ResponseWriter, _ *http.Request) { w.Write(a.pem) }
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.asked.Add(1)
		a.answer(w, r)
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	a.client = &http.Client{Transport: transport}
	return a
}

func (a *amazon) config() Config {
	return Config{
		Scope: "acme/sns", Provider: "sns", Fetch: a.client, Require: map[string][]string{"/TopicArn": {topic}},
		Credentials: []Credential{{ID: "amazon", Fetch: true}},
	}
}

// message is a signed envelope; fields replace those of a notification.
func (a *amazon) message(t *testing.T, fields map[string]string) *delivery.Delivery {
	t.Helper()
	envelope := snsMessage{
		"Type": "Notification", "MessageId": "m-1", "TopicArn": topic, "Message": "hello\nworld", "Timestamp": "2026-11-30T12:00:00.000Z",
		"SignatureVersion": "2", "SigningCertURL": certURL,
	}
	for name, value := range fields {
		envelope[name] = value
	}
	text, rejection := envelope.signed()
	if rejection != nil {
		t.Fatal(rejection)
	}
	signature, err := rsa.SignPKCS1v15(rand.Reader, a.key, crypto.SHA256, sha256Sum([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	envelope["Signature"] = base64.StdEncoding.EncodeToString(signature)
	body, err := json.Marshal(envelope)
	if err != nil {
		t.Fatal(err)
	}
	return &delivery.Delivery{Method: "POST", Target: "/in", Header: http.Header{"Content-Type": {"text/plain"}}, Body: body}
}

func confirmation() map[string]string {
	return map[string]string{
		"Type": "SubscriptionConfirmation", "Token": "abc", "SubscribeURL": "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=abc",
	}
}

func TestCertificateIsFetchedOnce(t *testing.T) {
	a := newAmazon(t)
	v := mustNew(t, a.config())
	for range 3 {
		proof, err := v.Authenticate(a.message(t, nil), noon)
		if err != nil || proof.EventID != "m-1" || !proof.IDSigned || proof.CredentialID != "amazon" {
			t.Fatalf("%+v, %v", proof, err)
		}
	}
	if n := a.asked.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	if _, err := v.Authenticate(a.message(t, nil), noon.Add(25*time.Hour)); err != nil || a.asked.Load() != 2 {
		t.Errorf("a day later: %v, fetched %d times", err, a.asked.Load())
	}
	_, err := v.Authenticate(a.message(t, nil), noon.Add(49*time.Hour))
	if reason, _ := reasonOf(t, err); reason != CertificateRefused {
		t.Errorf("expired certificate: %v", err)
	}
}

func TestFetchesAreBounded(t *testing.T) {
	a := newAmazon(t)
	a.answer = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) }
	v := mustNew(t, a.config())
	for i := range 50 {
		url := fmt.Sprintf("https://sns.us-west-2.amazonaws.com/made-up-%d.pem", i)
		_, err := v.Authenticate(a.message(t, map[string]string{"SigningCertURL": url}), noon)
		if err != ErrUnavailable {
			t.Fatalf("error %v", err)
		}
	}
	if n := a.asked.Load(); n > maxFetchesAtOnce {
		t.Errorf("50 made-up URLs led to %d fetches", n)
	}
	a.answer = func(w http.ResponseWriter, _ *http.Request) { w.Write(a.pem) }
	if _, err := v.Authenticate(a.message(t, nil), noon.Add(certificateRetry)); err != nil {
		t.Errorf("after a while: %v", err)
	}
}

// TestAStrangersFetchHoldsUpNobody: while a made-up URL is slow, a known certificate is used, and its own URL is waited for.
func TestAStrangersFetchHoldsUpNobody(t *testing.T) {
	a := newAmazon(t)
	v := mustNew(t, a.config())
	genuine := a.message(t, nil)
	if _, err := v.Authenticate(genuine, noon); err != nil {
		t.Fatal(err)
	}
	arrived, release := make(chan struct{}), make(chan struct{})
	a.answer = func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		w.Write(a.pem)
	}
	slow := a.message(t, map[string]string{"SigningCertURL": "https://sns.us-west-2.amazonaws.com/slow.pem"})
	results := make(chan error, 2)
	deliver := func() {
		_, err := v.Authenticate(slow, noon)
		results <- err
	}
	go deliver()
	<-arrived
	if _, err := v.Authenticate(genuine, noon); err != nil {
		t.Errorf("a known certificate: %v", err)
	}
	other := a.message(t, map[string]string{"SigningCertURL": "https://sns.us-west-2.amazonaws.com/other.pem"})
	if _, err := v.Authenticate(other, noon); err != ErrUnavailable {
		t.Errorf("another URL meanwhile: %v", err)
	}
	go deliver()
	close(release)
	for range 2 {
		if err := <-results; err != nil {
			t.Errorf("the slow URL: %v", err)
		}
	}
}

func TestACertificateOutlivesAFailedRenewal(t *testing.T) {
	a := newAmazon(t)
	v := mustNew(t, a.config())
	if _, err := v.Authenticate(a.message(t, nil), noon); err != nil {
		t.Fatal(err)
	}
	a.answer = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) }
	if _, err := v.Authenticate(a.message(t, nil), noon.Add(30*time.Hour)); err != nil || a.asked.Load() != 2 {
		t.Errorf("%v, fetched %d times", err, a.asked.Load())
	}
}

func TestManyCertificatesAreForgotten(t *testing.T) {
	a := newAmazon(t)
	v := mustNew(t, a.config())
	certs := v.scheme.(*sns).certs
	for i := range 3 * maxCertificates {
		url := fmt.Sprintf("https://sns.us-west-2.amazonaws.com/%d.pem", i)
		if _, err := certs.get(url, noon.Add(time.Duration(i)*certificateRetry)); err != nil {
			t.Fatal(err)
		}
	}
	if len(certs.kept) > maxCertificates {
		t.Errorf("%d certificates are kept", len(certs.kept))
	}
}

func TestWhatIsFetchedIsChecked(t *testing.T) {
	for name, answer := range map[string]func(a *amazon) func(http.ResponseWriter, *http.Request){
		"no certificate": func(*amazon) func(http.ResponseWriter, *http.Request) {
			return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }
		},
		"too long": func(a *amazon) func(http.ResponseWriter, *http.Request) {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Write(a.pem)
				fmt.Fprint(w, strings.Repeat("\n", maxCertificateSize))
			}
		},
		"redirect": func(a *amazon) func(http.ResponseWriter, *http.Request) {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/elsewhere.pem" {
					w.Write(a.pem)
					return
				}
				http.Redirect(w, r, "/elsewhere.pem", http.StatusFound)
			}
		},
	} {
		a := newAmazon(t)
		a.answer = answer(a)
		_, err := mustNew(t, a.config()).Authenticate(a.message(t, nil), noon)
		if err != ErrUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnlyAmazonsURLsAreAsked(t *testing.T) {
	a := newAmazon(t)
	v := mustNew(t, a.config())
	for _, url := range []string{
		"", "http://sns.us-west-2.amazonaws.com/a.pem", "https://sns.us-west-2.amazonaws.com/a.txt",
		"https://sns.us-west-2.amazonaws.com.attacker.example/a.pem", "https://attacker.example/sns.us-west-2.amazonaws.com/a.pem",
		"https://sns.us-west-2.amazonaws.com@attacker.example/a.pem", "https://sns.us-west-2.amazonaws.com:8443/a.pem",
		"https://xsns.us-west-2.amazonaws.com/a.pem", "https://s3.us-west-2.amazonaws.com/a.pem", "https://sns.us-west-2.amazonaws.com/a.pem?x=1",
		"https://sns.us-west-2.amazonaws.com/a.pem#.pem", "https://sns.a.b.amazonaws.com/a.pem", "https://sns.us-west-2.amazonaws.com\n/a.pem",
		// Buckets called sns, and other services' names.
		"https://sns.s3-us-west-2.amazonaws.com/a.pem", "https://sns.s3-website-us-west-2.amazonaws.com/a.pem", "https://sns.s3.amazonaws.com/a.pem",
		"https://sns.s3-fips-us-gov-west-1.amazonaws.com/a.pem", "https://sns.s3-accelerate.amazonaws.com/a.pem", "https://sns.compute-1.amazonaws.com/a.pem",
		"https://sns.amazonaws.com/a.pem", "https://sns.us-west-2.amazonaws.com.cn.attacker.example/a.pem",
		// Other spellings of one certificate.
		"https://SNS.us-west-2.amazonaws.com/a.pem", "https://sns.US-WEST-2.amazonaws.com/a.pem", "HTTPS://sns.us-west-2.amazonaws.com/a.pem",
		"https://sns.us-west-2.amazonaws.com:443/a.pem", "https://sns.us-west-2.amazonaws.com/%61.pem", "https://sns.us-west-2.amazonaws.com//a.pem",
		"https://sns.us-west-2.amazonaws.com/./a.pem", "https://sns.us-west-2.amazonaws.com./a.pem", "https://sns.us-west-2.amazonaws.com/a.pem?",
	} {
		_, err := v.Authenticate(a.message(t, map[string]string{"SigningCertURL": url}), noon)
		if reason, _ := reasonOf(t, err); reason != CertificateRefused {
			t.Errorf("%q: %v", url, err)
		}
	}
	if a.asked.Load() != 0 {
		t.Error("something was fetched")
	}
}

func TestAllOfAmazonsRegionsAreAsked(t *testing.T) {
	for _, host := range []string{
		"us-east-1.amazonaws.com", "eu-central-2.amazonaws.com", "ap-southeast-7.amazonaws.com", "us-gov-west-1.amazonaws.com",
		"us-iso-east-1.amazonaws.com", "us-isob-east-1.amazonaws.com", "mx-central-1.amazonaws.com", "cn-north-1.amazonaws.com.cn",
		"cn-northwest-1.amazonaws.com.cn",
	} {
		if !snsCertificateURL("https://sns." + host + "/SimpleNotificationService-0123456789abcdef.pem") {
			t.Errorf("a certificate from %s is refused", host)
		}
	}
}

// Strangers who do not know the topic get nothing fetched, so that they hold up nobody's certificate.
func TestNothingIsFetchedForOtherTopics(t *testing.T) {
	a := newAmazon(t)
	v := mustNew(t, a.config())
	for i := range 3 * maxFetchesAtOnce {
		url := fmt.Sprintf("https://sns.us-west-2.amazonaws.com/made-up-%d.pem", i)
		for _, arn := range []string{topic + "-other", ""} {
			_, err := v.Authenticate(a.message(t, map[string]string{"SigningCertURL": url, "TopicArn": arn}), noon)
			if reason, event := reasonOf(t, err); reason != RequirementUnmet || event {
				t.Errorf("topic %q: %v", arn, err)
			}
		}
	}
	if n := a.asked.Load(); n != 0 {
		t.Errorf("%d fetches", n)
	}
	if _, err := v.Authenticate(a.message(t, nil), noon); err != nil {
		t.Errorf("a genuine delivery: %v", err)
	}
}

func TestTopicIsRequired(t *testing.T) {
	a := newAmazon(t)
	cfg := a.config()
	for name, require := range map[string]map[string][]string{
		"nothing": nil, "a type only": {"/Type": {"Notification"}}, "a message only": {"/MessageId": {"m-1"}, "/Message": {"hello"}},
	} {
		cfg.Require = require
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "require: /TopicArn is missing") {
			t.Errorf("requiring %s: %v", name, err)
		}
	}
	cfg.Require = map[string][]string{"/TopicArn": {topic}, "/Type": {"Notification"}}
	mustNew(t, cfg)
	cfg.Require = map[string][]string{"/UnsubscribeURL": {"x"}}
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "require./UnsubscribeURL") {
		t.Errorf("requiring what is not signed: %v", err)
	}
	_, err := mustNew(t, a.config()).Authenticate(a.message(t, map[string]string{"TopicArn": topic + "-other"}), noon)
	if reason, event := reasonOf(t, err); reason != RequirementUnmet || event {
		t.Errorf("other topic: %v", err)
	}
}

func TestSubscriptionIsConfirmed(t *testing.T) {
	a := newAmazon(t)
	visited := ""
	a.answer = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("Action") == "ConfirmSubscription" {
			visited = r.URL.Query().Get("Token")
		}
		w.Write(a.pem)
	}
	cfg := a.config()
	cfg.Handshake = HandshakePass
	asked := a.message(t, confirmation())
	proof, err := mustNew(t, cfg).Authenticate(asked, noon)
	if err != nil || proof.Control == nil || proof.Control.Answer != nil || visited != "" {
		t.Errorf("passed on: %+v, %v, visited %q", proof.Control, err, visited)
	}
	cfg.Handshake = HandshakeAnswer
	v := mustNew(t, cfg)
	if verdict := v.Explain(asked, noon); verdict.Verdict != "control" || visited != "" {
		t.Errorf("explained: %+v, visited %q", verdict, visited)
	}
	if _, err := v.Authenticate(a.message(t, merge(confirmation(), "TopicArn", topic+"-other")), noon); err == nil || visited != "" {
		t.Errorf("other topic: %v, visited %q", err, visited)
	}
	proof, err = v.Authenticate(asked, noon)
	if err != nil || proof.Control == nil || proof.Control.Answer.Status != http.StatusOK || visited != "abc" {
		t.Errorf("answered: %+v, %v, visited %q", proof.Control, err, visited)
	}
	a.answer = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }
	proof, err = v.Authenticate(asked, noon)
	if err != nil || proof.Control.Answer.Status != http.StatusServiceUnavailable {
		t.Errorf("Amazon fails: %+v, %v", proof.Control, err)
	}
	elsewhere := a.message(t, merge(confirmation(), "SubscribeURL", "https://attacker.example/"))
	before := a.asked.Load()
	if proof, err = v.Authenticate(elsewhere, noon); err != nil || proof.Control.Answer != nil || a.asked.Load() != before {
		t.Errorf("elsewhere: %+v, %v", proof.Control, err)
	}
}

func merge(fields map[string]string, name, value string) map[string]string {
	fields[name] = value
	return fields
}

func TestEnvelopeIsReadStrictly(t *testing.T) {
	a := newAmazon(t)
	v := mustNew(t, a.config())
	for name, change := range map[string]func(string) string{
		"a field twice":     func(s string) string { return strings.Replace(s, `{`, `{"MessageId":"m-2",`, 1) },
		"another ID":        func(s string) string { return strings.Replace(s, "m-1", "m-2", 1) },
		"an ID of a number": func(s string) string { return strings.Replace(s, `"m-1"`, `1`, 1) },
		"no ID":             func(s string) string { return strings.Replace(s, `"MessageId"`, `"Other"`, 1) },
		"unknown type":      func(s string) string { return strings.Replace(s, `"Notification"`, `"Other"`, 1) },
		"no version":        func(s string) string { return strings.Replace(s, `"SignatureVersion":"2"`, `"x":""`, 1) },
		"older version": func(s string) string {
			return strings.Replace(s, `"SignatureVersion":"2"`, `"SignatureVersion":"1"`, 1)
		},
		"no JSON":            func(s string) string { return s + "x" },
		"an empty body":      func(string) string { return "" },
		"no signature":       func(s string) string { return strings.Replace(s, `"Signature"`, `"X"`, 1) },
		"signature, escaped": func(s string) string { return strings.Replace(s, `"Signature":"`, `"Signature":"\r`, 1) },
		"a subject":          func(s string) string { return strings.Replace(s, `{`, `{"Subject":"x",`, 1) },
		"a null subject twice": func(s string) string {
			return strings.Replace(s, `{`, `{"Subject":null,"Subject":null,`, 1)
		},
	} {
		d := a.message(t, nil)
		d.Body = []byte(change(string(d.Body)))
		if proof, err := v.Authenticate(d, noon); err == nil {
			t.Errorf("%s: %+v", name, proof)
		} else if _, event := reasonOf(t, err); event {
			t.Errorf("%s: the signature counts: %v", name, err)
		}
	}
}

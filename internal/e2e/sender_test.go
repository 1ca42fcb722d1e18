package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	route  = "/hooks/orders"
	secret = "e2e-secret-canary-0123456789abcdef0123"
	keyID  = "orders-1"
)

// integration is the generic scheme with the ID under the signature; more lines are added at its level.
func integration(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	write(t, file, secret+"\n")
	yaml := fmt.Sprintf(`integrations:
  - account: acme
    name: orders
    route: %s
    provider: hmac
    credentials:
      - {id: %s, secret: {file: %q}}
    hmac:
      algorithm: sha256
      header: X-Signature
      prefix: "sha256="
      encoding: hex
      signed: "{timestamp}.{body}"
      timestamp: {header: X-Timestamp, unit: s}
      tolerance: 5m
      secret_encoding: raw
    event:
      id: {json: /id}
      type: {json: /type}
`, route, keyID, file)
	for _, line := range lines {
		yaml += "    " + line + "\n"
	}
	return yaml
}

// short lets a test see an attempt time out or a lease run out. Where nothing should, a busy machine needs the usual times.
func short(lines ...string) []string { return append([]string{"timeout: 4s", "lease: 8s"}, lines...) }

func payload(event string) string {
	return fmt.Sprintf(`{"id":%q,"type":"order.paid","amount":1250}`, event)
}

// answer is what a sender heard.
type answer struct {
	status  int
	receipt string
	body    string
	code    string
	header  http.Header
}

// String is the status, the receipt, and the problem's code or the body.
func (a answer) String() string {
	said := []string{strconv.Itoa(a.status)}
	if a.receipt != "" {
		said = append(said, a.receipt)
	}
	if a.code != "" {
		return strings.Join(append(said, a.code), " ")
	}
	return strings.Join(append(said, a.body), " ")
}

// send delivers an event, signed now.
func send(t *testing.T, s *sidecar, event string) answer {
	t.Helper()
	a, err := try(s, payload(event), true)
	if err != nil {
		t.Fatalf("%s got no answer: %v", event, err)
	}
	return a
}

// senders of a test share connections like a real sender's.
var senders = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func try(s *sidecar, body string, signed bool) (answer, error) {
	request, err := http.NewRequest(http.MethodPost, "http://"+s.public+route, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if signed {
		sign(request, body)
	}
	response, err := senders.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	a := answer{status: response.StatusCode, receipt: response.Header.Get("Sidecar-Receipt"), body: string(text), header: response.Header}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json") {
		var problem struct{ Code string }
		json.Unmarshal(text, &problem)
		a.code = problem.Code
	}
	return a, err
}

func sign(request *http.Request, body string) {
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "." + body))
	request.Header.Set("X-Timestamp", stamp)
	request.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
}

// expect delivers an event and compares what came back, as answer.String writes it.
func expect(t *testing.T, s *sidecar, event, want string) {
	t.Helper()
	if got := send(t, s, event).String(); got != want {
		t.Errorf("%s: %s, want %s", event, got, want)
	}
}

// settles delivers an event until it is no longer in flight, and compares.
func settles(t *testing.T, s *sidecar, event, want string) {
	t.Helper()
	await(t, event, func() error {
		if got := send(t, s, event).String(); got != want {
			return fmt.Errorf("%s, want %s", got, want)
		}
		return nil
	})
}

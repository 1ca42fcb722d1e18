package verify

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	maxCertificates    = 16               // kept at once
	certificateLife    = 24 * time.Hour   // before one is fetched again
	certificateRetry   = 30 * time.Second // after a failure, and between fetches of different URLs
	certificateTimeout = 5 * time.Second
	maxCertificateSize = 64 << 10
	maxFetchesAtOnce   = 4 // per certificateRetry
)

var errFetch = errors.New("certificate not available")

// certificates fetches certificates from Amazon's hosts and keeps them. The URLs come from deliveries that have proved
// nothing yet, so fetches are few, short and small, whatever arrives, and nobody waits for the fetch of another URL. Safe
// for concurrent use.
type certificates struct {
	client *http.Client

	mu       sync.Mutex // guards what is below
	kept     map[string]kept
	started  []time.Time   // of the last fetches
	fetching string        // the URL that is being fetched; empty: none
	fetched  chan struct{} // closed when that fetch has ended
}

// kept is what is known of a URL until it is to be fetched again. The certificate stays in use where that fails.
type kept struct {
	cert  *x509.Certificate // nil: never fetched
	until time.Time
}

// newCertificates never follows redirects: the host that was checked is the host that is asked.
func newCertificates(client *http.Client) *certificates {
	bounded := http.Client{}
	if client != nil {
		bounded = *client
	}
	bounded.Timeout = certificateTimeout
	bounded.Jar = nil
	bounded.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &certificates{client: &bounded, kept: map[string]kept{}}
}

// maxURL bounds what is matched for a stranger, in bytes.
const maxURL = 2048

// amazonHost is SNS in any of Amazon's regions. sns.s3-us-west-2.amazonaws.com is none: it is a bucket that somebody called sns.
const amazonHost = `^https://sns\.[a-z]{2,4}(-[a-z]+){1,2}-[0-9]{1,2}\.amazonaws\.com(\.cn)?/`

// Where SNS has its certificates, and where it has itself confirmed.
var (
	certificateAddress  = regexp.MustCompile(amazonHost + `[A-Za-z0-9_-]+\.pem$`)
	confirmationAddress = regexp.MustCompile(amazonHost + `[!-~]*$`)
)

// snsCertificateURL tells whether a URL is one of Amazon's for certificates, in the only spelling that it has: under others
// a stranger could have one certificate fetched and kept many times.
func snsCertificateURL(text string) bool {
	return len(text) <= maxURL && certificateAddress.MatchString(text)
}

// get gives the certificate at a URL that snsCertificateURL accepts.
func (c *certificates) get(url string, now time.Time) (*x509.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.fetching == url {
		wait := c.fetched
		c.mu.Unlock()
		<-wait // at most certificateTimeout
		c.mu.Lock()
	}
	known, found := c.kept[url]
	if (!found || !now.Before(known.until)) && c.fetching == "" && c.allowed(now) {
		known = c.renew(url, known, now)
	}
	if known.cert == nil {
		return nil, errFetch
	}
	return known.cert, nil
}

// renew fetches without the lock, so that what is kept can be used meanwhile.
func (c *certificates) renew(url string, known kept, now time.Time) kept {
	c.fetching, c.fetched = url, make(chan struct{})
	c.mu.Unlock()
	cert, err := c.fetch(url)
	c.mu.Lock()
	known.until = now.Add(certificateRetry)
	if err == nil {
		known = kept{cert, now.Add(certificateLife)}
	}
	c.keep(url, known)
	c.fetching = ""
	close(c.fetched)
	return known
}

// allowed counts fetches, so that made-up URLs lead to few.
func (c *certificates) allowed(now time.Time) bool {
	var recent []time.Time
	for _, at := range c.started {
		if now.Sub(at) < certificateRetry {
			recent = append(recent, at)
		}
	}
	c.started = recent
	if len(recent) >= maxFetchesAtOnce {
		return false
	}
	c.started = append(c.started, now)
	return true
}

// keep makes room by dropping failures first, then what ends first.
func (c *certificates) keep(url string, value kept) {
	for len(c.kept) >= maxCertificates {
		victim := ""
		for name, other := range c.kept {
			best := c.kept[victim]
			failed := other.cert == nil && best.cert != nil
			if victim == "" || failed || (other.cert == nil) == (best.cert == nil) && other.until.Before(best.until) {
				victim = name
			}
		}
		delete(c.kept, victim)
	}
	c.kept[url] = value
}

func (c *certificates) fetch(url string) (*x509.Certificate, error) {
	body, err := c.read(url, maxCertificateSize)
	if err != nil {
		return nil, err
	}
	cert, _, err := rsaCertificate(body)
	return cert, err
}

func (c *certificates) read(url string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), certificateTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, errFetch
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, errFetch // the client's error holds the URL, which a stranger may have written
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil || response.StatusCode != http.StatusOK || int64(len(body)) > limit {
		return nil, errFetch
	}
	return body, nil
}

// snsConfirm visits the URL of a verified confirmation. Where that fails the answer is an error, so that Amazon tries again.
func snsConfirm(c controlRequest) *delivery.Response {
	url, _ := c.document.pointer("/SubscribeURL")
	s, ok := c.scheme.(*sns)
	if !ok || len(url) > maxURL || !confirmationAddress.MatchString(url) {
		return nil
	}
	if _, err := s.certs.read(url, 1<<20); err != nil {
		return answerText(http.StatusServiceUnavailable, "", "")
	}
	return emptyOK(c)
}

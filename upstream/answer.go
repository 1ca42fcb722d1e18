package upstream

import (
	"fmt"
	"io"
	"net/http"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// receive reads the answer to its clean end. Errors wrap ErrIncomplete.
func (t *try) receive(c *conn) (answer delivery.Response, reusable bool, err error) {
	response, err := c.readFinal(t.attempt.Delivery.Method)
	if err != nil {
		return answer, false, err
	}
	answer.Status = response.StatusCode
	answer.Body, answer.Omitted, err = t.attempt.readBody(response, t.attempt.maxResponse(t.config.MaxResponse))
	if err != nil {
		return answer, false, fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	reusable = c.keepable(response, t.config.IdleTimeout)
	answer.Header = response.Header
	stripAnswer(answer.Header, t.attempt.Delivery.Method)
	return answer, reusable, nil
}

// readFinal passes over interim answers.
func (c *conn) readFinal(method string) (*http.Response, error) {
	for range maxInterim {
		response, err := c.readHead(method)
		switch {
		case err != nil:
			return nil, err
		case response.StatusCode == http.StatusSwitchingProtocols || response.StatusCode > 599:
			return nil, fmt.Errorf("%w: status %d", ErrIncomplete, response.StatusCode)
		case response.StatusCode >= 200:
			return response, nil
		}
	}
	return nil, fmt.Errorf("%w: more than %d interim answers", ErrIncomplete, maxInterim)
}

// freeBytes of an answer's body are taken without asking. On an announcement alone no more is reserved.
const freeBytes = 16 << 10

// readBody reads a body to its end and keeps it, unless it has more than limit bytes or the attempt must not hold it.
func (a *Attempt) readBody(response *http.Response, limit int64) (body []byte, omitted bool, err error) {
	if response.ContentLength == 0 || response.Body == http.NoBody {
		return nil, false, nil
	}
	if response.ContentLength > limit {
		return nil, true, discard(response.Body)
	}
	most, size := limit+1, int64(512) // the one more lets the last Read find the end
	if response.ContentLength > 0 {
		most = response.ContentLength + 1
		size = min(most, freeBytes)
	}
	body = make([]byte, 0, size)
	for {
		if len(body) == cap(body) {
			size = min(2*int64(cap(body)), most)
			if !a.hold(size - max(int64(cap(body)), freeBytes)) {
				return nil, true, discard(response.Body)
			}
			body = append(make([]byte, 0, size), body...)
		}
		n, err := response.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err != nil && err != io.EOF:
			return nil, false, err
		case int64(len(body)) > limit:
			return nil, true, discard(response.Body)
		case err == io.EOF:
			return body, false, nil
		}
	}
}

func discard(body io.Reader) error {
	_, err := io.Copy(io.Discard, body)
	return err
}

// stripAnswer removes what belongs to the connection. Whoever writes the answer knows its length.
func stripAnswer(header http.Header, method string) {
	for _, name := range connectionNamed(header) {
		delete(header, name)
	}
	for name := range header {
		if hopByHop(name) {
			delete(header, name)
		}
	}
	if method != http.MethodHead {
		delete(header, "Content-Length")
	}
}

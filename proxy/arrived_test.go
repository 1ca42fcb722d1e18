package proxy

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// finite is a connection on which nothing more comes.
type finite struct {
	rest   string
	waited bool // somebody has asked for more
}

func (f *finite) Read(p []byte) (int, error) {
	if f.rest == "" {
		f.waited = true
		return 0, io.ErrNoProgress
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// early tells that a stream's first request, or the rest of one behind whole ones, counts as arrived although net/http
// waits for more of its body.
func early(stream string) bool {
	conn := &finite{rest: stream}
	reader := bufio.NewReader(conn)
	var f framing
	for read := 0; ; {
		// The handler of a request is asked when net/http has its header section, which it reads up to 4096 bytes ahead.
		r, err := http.ReadRequest(reader)
		if err != nil {
			return false
		}
		if seen := len(stream) - len(conn.rest); seen > read {
			if !f.follow([]byte(stream[read:seen])) {
				return false
			}
			read = seen
		}
		whole := f.whole()
		_, err = io.Copy(io.Discard, r.Body)
		if conn.waited && r.ContentLength != 0 && whole {
			return true
		}
		if err != nil || conn.waited {
			return false
		}
	}
}

// Whatever the line ends are, whole is only what net/http reads to its end without waiting for the sender.
func TestNothingHasArrivedThatIsWaitedFor(t *testing.T) {
	ends := []string{"\r\n", "\n", "\r\r\n", ""}
	for _, before := range []string{"", sizedRequest, chunkedRequest} {
		for _, trailer := range []string{"", "X-T: 1", "X-T: 1\nX-U: 2", "X-T: 1\r\n folded"} {
			for _, next := range []string{"", "G", "GET / HTTP/1.1\nHost: x\n\n", plainRequest, sizedRequest, "\n", "\r\n"} {
				for i := range len(ends) * len(ends) * len(ends) * len(ends) {
					end := func() string {
						chosen := ends[i%len(ends)]
						i /= len(ends)
						return chosen
					}
					stream := before + "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello" + end() + "0" + end()
					if trailer != "" {
						stream += trailer + end()
					}
					if stream += end() + next; early(stream) {
						t.Errorf("waits for more of %q", strings.TrimPrefix(stream, before))
					}
				}
			}
		}
	}
}

func FuzzNothingHasArrivedThatIsWaitedFor(f *testing.F) {
	for _, seed := range []string{sizedRequest, chunkedRequest, sizedRequest + plainRequest, strings.ReplaceAll(chunkedRequest, "\r\n", "\n")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		if early(stream) {
			t.Errorf("waits for more of %q", stream)
		}
	})
}

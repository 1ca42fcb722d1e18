package upstream

import (
	"bufio"
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Whatever a sender's header is, the attempt is one well-formed request, and what is ours was said by us.
func FuzzHead(f *testing.F) {
	f.Add("Sidecar_scope", "evil", "Connection", "Sidecar-Scope", "{}")
	f.Add("idempotency_KEY", "a\r\nX: y", "X-Forwarded-For", "1.2.3.4", "")
	f.Add("Transfer-Encoding", "chunked", "Content-Length", "7", "0\r\n\r\n")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2, body string) {
		header := http.Header{}
		for name, value := range map[string]string{name1: value1, name2: value2} {
			if validName(name) && validValue(value) {
				header.Add(name, value)
			}
		}
		a := attempt(header, body)
		wire := append(head(nil).attempt(&a, "app:80"), body...)
		reader := bufio.NewReader(bytes.NewReader(wire))
		request, err := http.ReadRequest(reader)
		if err != nil {
			t.Fatalf("%q: %v", wire, err)
		}
		arrived := new(bytes.Buffer)
		if _, err := arrived.ReadFrom(request.Body); err != nil || arrived.String() != body || reader.Buffered() > 0 {
			t.Fatalf("body %q arrived as %q, %v, %d bytes left", body, arrived, err, reader.Buffered())
		}
		for name, want := range map[string]string{"idempotency-key": "evt-1", "sidecar-scope": "acme/orders", "sidecar-attempt": "3", "traceparent": a.TraceParent} {
			if got := alike(request.Header, name); !slices.Equal(got, []string{want}) {
				t.Fatalf("%s arrived as %q", name, got)
			}
		}
	})
}

func alike(header http.Header, folded string) []string {
	var values []string
	for name, v := range header {
		if foldName(name) == folded {
			values = append(values, v...)
		}
	}
	return values
}

func validName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("()<>@,;:\\\"/[]?={}", c) >= 0 {
			return false
		}
	}
	return name != ""
}

// validValue is what net/http lets in.
func validValue(value string) bool {
	return strings.IndexFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) < 0
}

// Whatever an application says, it is an answer within the limits or an error.
func FuzzAnswer(f *testing.F) {
	for _, answer := range []string{
		okay, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nbody", "HTTP/1.1 101 X\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nbody",
	} {
		f.Add([]byte(answer), "POST")
		f.Add([]byte(answer), "HEAD")
	}
	f.Fuzz(func(t *testing.T, wire []byte, method string) {
		c := &conn{reader: bufio.NewReader(bytes.NewReader(wire))}
		a := Attempt{Delivery: &delivery.Delivery{Method: method}}
		try := try{Upstream: &Upstream{config: Config{MaxResponse: 100, IdleTimeout: 1}}, attempt: &a}
		answer, reusable, err := try.receive(c)
		if err != nil {
			return
		}
		if answer.Status < 200 || answer.Status > 599 || len(answer.Body) > 100 || answer.Header == nil || answer.Omitted && len(answer.Body) > 0 {
			t.Fatalf("answer %+v", answer)
		}
		if reusable && c.reader.Buffered() > 0 {
			t.Fatalf("%d bytes are left for the next answer", c.reader.Buffered())
		}
	})
}

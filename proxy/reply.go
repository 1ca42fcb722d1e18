package proxy

import (
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// The headers that are ours on an answer.
const (
	headerReceipt  = "Sidecar-Receipt"
	headerBody     = "Sidecar-Body"
	headerReplayed = "Idempotent-Replayed"

	ourPrefix = "Sidecar-"
)

// reply is the answer to a request on a guarded path, and what the record will say of it.
type reply struct {
	status  int
	header  http.Header // may be shared: it is copied, never changed
	body    []byte
	receipt string // Sidecar-Receipt; empty: none
	// replayed tells that the response was recorded earlier.
	replayed bool
	omitted  bool // the response's body is not at hand
	retry    time.Duration
	// pass hands the request to the application as on an open path; nothing else is set but the outcome.
	pass bool

	outcome Outcome
	code    string // of the problem
	reason  string
	err     error // our own fault
}

func refusal(r reply) *reply { return &r }

// write sends the answer. A request whose body was not read to its end costs the connection.
func (x *exchange) write(answer reply) {
	header := x.w.Header()
	maps.Copy(header, answer.header)
	stripOurs(header)
	if x.r.Method != http.MethodHead {
		header.Del("Content-Length")
	}
	if _, said := header["Content-Type"]; !said {
		header["Content-Type"] = nil // keeps net/http from guessing one
	}
	if answer.receipt != "" {
		header.Set(headerReceipt, answer.receipt)
	}
	if answer.replayed {
		header.Set(headerReplayed, "true")
	}
	if answer.omitted {
		stripContent(header)
		header.Set(headerBody, "omitted")
	}
	if answer.retry > 0 {
		header.Set("Retry-After", strconv.FormatInt(seconds(answer.retry), 10))
	}
	if x.unread {
		x.writeAndDrain(answer)
		return
	}
	if len(answer.body) > largeAnswer {
		defer x.hurry()()
	}
	send(x.w, answer)
}

// largeAnswer is what a socket surely takes at once, without anybody reading.
const largeAnswer = 64 << 10

// hurry lets a sender that does not take its answer hold what the exchange holds only for a while. The caller defers what
// it returns: the connection's next answer has all the time again.
func (x *exchange) hurry() func() {
	control := http.NewResponseController(x.w)
	if control.SetWriteDeadline(time.Now().Add(x.config.AnswerTime)) != nil {
		return func() {}
	}
	return func() {
		_ = control.Flush() // the sender is gone, or has it
		_ = control.SetWriteDeadline(time.Time{})
	}
}

// send writes the answer's status and body. A length that is set already is of an answer to HEAD.
func send(w http.ResponseWriter, answer reply) {
	switch header := w.Header(); {
	case !bodyAllowed(answer.status):
		header.Del("Content-Length")
	case header.Get("Content-Length") == "":
		header.Set("Content-Length", strconv.Itoa(len(answer.body)))
	}
	w.WriteHeader(answer.status)
	if len(answer.body) > 0 && bodyAllowed(answer.status) {
		w.Write(answer.body) //nolint:errcheck // the sender is gone; what counts is recorded
	}
}

// bodyAllowed tells whether HTTP lets a final status have a body.
func bodyAllowed(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// stripOurs removes what only we may say from an answer of the application.
func stripOurs(header http.Header) {
	for name := range header {
		folded := strings.ReplaceAll(name, "_", "-")
		if len(folded) >= len(ourPrefix) && strings.EqualFold(folded[:len(ourPrefix)], ourPrefix) || strings.EqualFold(folded, headerReplayed) {
			delete(header, name)
		}
	}
}

// stripContent removes what describes a body that is not sent: an empty one cannot be unpacked, and has another digest.
func stripContent(header http.Header) {
	for _, name := range []string{"Content-Encoding", "Content-Md5", "Content-Digest", "Digest"} {
		delete(header, name)
	}
}

// seconds rounds up: a sender that comes a moment too early would only be sent away again.
func seconds(d time.Duration) int64 {
	return int64((d + time.Second - 1) / time.Second)
}

// How much of a refused body is read after the answer, for how long in all, and for how long without a byte: a sender
// that only listens when it has sent everything would otherwise see a reset instead of the answer.
const (
	drainBytes = 64 << 20
	drainTime  = 30 * time.Second
	drainPause = 3 * time.Second
)

// writeAndDrain answers at once, and then lets a sender that is still sending finish.
func (x *exchange) writeAndDrain(answer reply) {
	control := http.NewResponseController(x.w)
	if x.r.ProtoMajor == 1 {
		x.w.Header().Set("Connection", "close")
	}
	_ = control.EnableFullDuplex() // HTTP/2 needs none
	send(x.w, answer)
	if control.Flush() != nil || !x.reading && x.r.Header.Get("Expect") != "" {
		return // a sender that waits for 100 sends nothing
	}
	drain(control, x.r.Body)
}

// drain reads what still comes. Each byte buys the sender another pause.
func drain(control *http.ResponseController, body io.Reader) {
	end := time.Now().Add(drainTime)
	buffer := make([]byte, 8<<10)
	for left := drainBytes; left > 0; {
		deadline := time.Now().Add(drainPause)
		if deadline.After(end) {
			deadline = end
		}
		if control.SetReadDeadline(deadline) != nil {
			return
		}
		n, err := body.Read(buffer)
		if err != nil {
			return
		}
		left -= n
	}
}

// recorded turns a response of the ledger into a reply.
func recorded(response *delivery.Response, receipt string, outcome Outcome) reply {
	return reply{
		status:   response.Status,
		header:   response.Header,
		body:     response.Body,
		omitted:  response.Omitted,
		receipt:  receipt,
		replayed: true,
		outcome:  outcome,
	}
}

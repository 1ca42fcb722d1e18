package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// drained is a sender's connection as drain sees it: it notes the deadlines, and how much was read.
type drained struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
	refuses   bool
	read      int
	left      int
}

func (d *drained) SetReadDeadline(at time.Time) error {
	if d.refuses {
		return http.ErrNotSupported
	}
	d.deadlines = append(d.deadlines, at)
	return nil
}

func (d *drained) Read(p []byte) (int, error) {
	n := min(len(p), d.left)
	if n == 0 {
		return 0, io.EOF
	}
	d.read += n
	d.left -= n
	return n, nil
}

func TestASenderThatGoesOnSendingIsHeardOut(t *testing.T) {
	start := time.Now()
	d := &drained{ResponseRecorder: httptest.NewRecorder(), left: 1 << 20}
	drain(http.NewResponseController(d), d)
	if d.left > 0 {
		t.Errorf("%d bytes are left", d.left)
	}
	if len(d.deadlines) < 100 {
		t.Errorf("%d deadlines for a megabyte: no byte buys time", len(d.deadlines))
	}
	for _, at := range d.deadlines {
		if at.Before(start.Add(drainPause)) || at.After(time.Now().Add(drainPause)) {
			t.Fatalf("a deadline of %s", at.Sub(start))
		}
	}
}

func TestHearingOutHasAnEnd(t *testing.T) {
	endless := &drained{ResponseRecorder: httptest.NewRecorder(), left: 1 << 40}
	drain(http.NewResponseController(endless), endless)
	if endless.read < drainBytes || endless.read > drainBytes+1<<20 {
		t.Errorf("%d bytes were read", endless.read)
	}
	boundless := &drained{ResponseRecorder: httptest.NewRecorder(), left: 1, refuses: true}
	drain(http.NewResponseController(boundless), boundless)
	if boundless.read > 0 {
		t.Error("read without a deadline")
	}
}

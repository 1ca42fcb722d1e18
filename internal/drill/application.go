package drill

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// application records what reaches it. What it does is in the event's ID: "hold…" hangs in its first run, "hang…" in all.
type application struct {
	url    string
	server *http.Server

	mu      sync.Mutex
	runs    map[string][]string      // attempts by idempotency key
	changed chan struct{}            // closed and made anew when a run begins
	gates   map[string]chan struct{} // closed to end what hangs, by idempotency key
}

func startApplication() (*application, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &application{
		url: "http://" + listener.Addr().String(), runs: map[string][]string{},
		changed: make(chan struct{}), gates: map[string]chan struct{}{},
	}
	a.server = &http.Server{Handler: a, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = a.server.Serve(listener) }() // it ends with stop
	return a, nil
}

func (a *application) stop() { _ = a.server.Close() }

// free ends what hangs of an event, now and from now on.
func (a *application) free(e event) { close(a.gate(e.key())) }

func (a *application) gate(key string) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gates[key] == nil {
		a.gates[key] = make(chan struct{})
	}
	return a.gates[key]
}

// attempts are the numbers under which an event has reached the application.
func (a *application) attempts(e event) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.runs[e.key()])
}

// begun waits until an event has reached the application so often.
func (a *application) begun(ctx context.Context, e event, runs int) error {
	for {
		a.mu.Lock()
		count, changed := len(a.runs[e.key()]), a.changed
		a.mu.Unlock()
		if count >= runs {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s has reached the application %d times and not %d", e, count, runs)
		}
	}
}

// ServeHTTP does its work for every request that it gets, as an application does that knows nothing of retries.
func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	key := r.Header.Get("Idempotency-Key")
	run := a.begin(key, r.Header.Get("Sidecar-Attempt"))
	id := key[strings.LastIndexByte(key, '/')+1:]
	if strings.HasPrefix(id, "hang") || strings.HasPrefix(id, "hold") && run == 1 {
		select {
		case <-a.gate(key):
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintf(w, "%s run %d", key, run)
}

func (a *application) begin(key, attempt string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs[key] = append(a.runs[key], attempt)
	close(a.changed)
	a.changed = make(chan struct{})
	return len(a.runs[key])
}

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// demoApp is an application that knows nothing of webhooks' retries: it does its work for every request that it gets.
type demoApp struct {
	url    string
	page   *demoPage
	server *http.Server

	mu       sync.Mutex
	runs     map[string]int             // by event
	attempts map[string]int             // by event: the last one's number
	keys     map[string]map[string]bool // by event: the idempotency keys that it came with
	held     chan struct{}              // closed when a held event has arrived
}

func startDemoApp(ctx context.Context, page *demoPage) (*demoApp, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	app := &demoApp{
		url: "http://" + listener.Addr().String(), page: page, runs: map[string]int{}, attempts: map[string]int{},
		keys: map[string]map[string]bool{}, held: make(chan struct{}),
	}
	app.server = &http.Server{Handler: app, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = app.server.Serve(listener) }() // it ends with stop
	return app, nil
}

func (a *demoApp) stop() { _ = a.server.Close() }

// count is how often an event has run.
func (a *demoApp) count(event string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.runs[event]
}

// attempt is the last number under which an event has run.
func (a *demoApp) attempt(event string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.attempts[event]
}

// oneKey tells that an event came with the same idempotency key each time.
func (a *demoApp) oneKey(event string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.keys[event]) == 1
}

// ServeHTTP does what an application does; what it does is written in the event's name.
func (a *demoApp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		a.page.app("%s %s: an ordinary request, answers 200", r.Method, r.URL.Path)
		fmt.Fprintln(w, "hello from the application")
		return
	}
	event := key[strings.LastIndexByte(key, '/')+1:]
	attempt, _ := strconv.Atoi(r.Header.Get("Sidecar-Attempt"))
	a.mu.Lock()
	a.runs[event]++
	a.attempts[event] = attempt
	if a.keys[event] == nil {
		a.keys[event] = map[string]bool{}
	}
	a.keys[event][key] = true
	run := a.runs[event]
	a.mu.Unlock()
	status := a.work(r.Context(), event, run)
	if r.Context().Err() != nil {
		a.page.app("did the work of %s, and nobody is there to hear it", event)
		return
	}
	a.page.app("runs %s, attempt %d, %d bytes: answers %d", event, attempt, len(body), status)
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	fmt.Fprintf(w, "booked %s in run %d\n", event, run)
}

// work takes its time, fails the first time, or hangs, as the event's name says.
func (a *demoApp) work(ctx context.Context, event string, run int) int {
	switch {
	case strings.Contains(event, "slow"):
		pause(ctx, 300*time.Millisecond)
	case strings.Contains(event, "fails") && run == 1:
		return http.StatusInternalServerError
	case strings.Contains(event, "crash") && run == 1:
		a.page.app("begins %s and works, and works …", event)
		close(a.held)
		pause(ctx, 30*time.Second)
	}
	return http.StatusOK
}

// pause sleeps unless the caller goes away.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

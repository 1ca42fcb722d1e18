package main

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Bounds of what is kept of the life of credentials.
const (
	lifeRecent  = 50   // events that the status shows
	lifeUnsaved = 1000 // events that wait for a ledger out of reach; older ones stay in the log
	lifeLook    = 20 * time.Second
	lifeTimeout = 10 * time.Second
	lifeLast    = time.Second // for the last changes, when the process ends; it is below lastWait
)

// life follows the credentials in force, and leaves evidence of every change: in the log at once, in the ledger when it
// can be reached, which no delivery waits for. What the ledger knows of earlier processes counts too: a credential that
// was revoked stays so.
type life struct {
	book    dedupe.CredentialBook
	replica string
	log     *slog.Logger
	active  *active
	looked  chan struct{} // there may be something to save

	mu      sync.Mutex
	set     *config.Set
	start   credentialStates // when the process began
	known   credentialStates
	unsaved []dedupe.CredentialEvent
	recent  []dedupe.CredentialEvent
}

func newLife(book dedupe.CredentialBook, replica string, log *slog.Logger, a *active) *life {
	return &life{book: book, replica: replica, log: log, active: a, looked: make(chan struct{}, 1)}
}

// follow is told the set in force, whenever it may be another one. The first one is compared with the ledger later.
func (l *life) follow(set *config.Set) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set = set
	l.compare()
}

// broughtBack notes that a file was refused because it wants these to count again.
func (l *life) broughtBack(names []config.Revocation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := make([]dedupe.CredentialEvent, len(names))
	for n, name := range names {
		events[n] = dedupe.CredentialEvent{
			Scope: name.Scope, ID: name.ID, Change: dedupe.CredentialBroughtBack, Status: dedupe.CredentialRevoked,
			Fingerprint: l.known[name].fingerprint,
		}
	}
	l.note(events)
}

// compare notes what happened since the last time. l.mu is held.
func (l *life) compare() {
	states := statesOf(l.set, time.Now())
	if l.known == nil {
		l.start, l.known = states, states
		return
	}
	l.note(states.since(l.known))
	l.known = states
}

// note leaves evidence. l.mu is held.
func (l *life) note(events []dedupe.CredentialEvent) {
	for _, e := range events {
		e.Replica = l.replica
		level := slog.LevelInfo
		if e.Change == dedupe.CredentialBroughtBack {
			level = slog.LevelError
		}
		l.log.Log(context.Background(), level, "credential", "change", e.Change, "scope", e.Scope, "credential", e.ID,
			"credential_status", e.Status, "fingerprint", e.Fingerprint)
		l.unsaved = append(l.unsaved, e)
		e.At = time.Now().UTC()
		l.recent = append(l.recent, e)
	}
	l.unsaved = l.unsaved[max(0, len(l.unsaved)-lifeUnsaved):]
	l.recent = l.recent[max(0, len(l.recent)-lifeRecent):]
	if len(events) > 0 {
		select {
		case l.looked <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// events are the newest ones of this process, newest first.
func (l *life) events() []dedupe.CredentialEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	newest := slices.Clone(l.recent)
	slices.Reverse(newest)
	return newest
}

// run keeps the ledger up to date until ctx ends, and returns nil then. What it had no time for it saves at the end: the
// next process would not know of a revocation that is gone from the file by then.
func (l *life) run(ctx context.Context) error {
	ticker := time.NewTicker(lifeLook)
	defer ticker.Stop()
	remembered := false
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, lifeLook) {
		remembered = remembered || l.remember(ctx)
		if remembered {
			l.save(ctx, lifeTimeout)
		}
		soon := ticker.C
		if !remembered {
			soon = time.After(pause)
		}
		select {
		case <-ctx.Done():
			if remembered {
				l.save(context.WithoutCancel(ctx), lifeLast)
			}
			return nil
		case <-soon:
			l.look()
		case <-l.looked:
		}
	}
}

// look finds what time alone has changed.
func (l *life) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compare()
}

// save tells the ledger what it does not know. After an error some of it may be told twice, which is better than not.
func (l *life) save(ctx context.Context, timeout time.Duration) {
	l.mu.Lock()
	events := slices.Clone(l.unsaved)
	l.mu.Unlock()
	if len(events) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := l.book.RecordCredentials(ctx, events); err != nil {
		l.log.DebugContext(ctx, "the changes of credentials could not be recorded yet", "error", err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsaved = l.unsaved[min(len(events), len(l.unsaved)):]
}

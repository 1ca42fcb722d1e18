package main

import (
	"context"
	"slices"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
)

// keepRevoked remembers names that never count again. a.changing is held, or nothing runs yet.
func (a *active) keepRevoked(names []config.Revocation) {
	if a.revoked == nil {
		a.revoked = map[config.Revocation]struct{}{}
	}
	for _, name := range names {
		a.revoked[name] = struct{}{}
	}
}

func (a *active) wasRevoked(name config.Revocation) bool {
	_, was := a.revoked[name]
	return was
}

// revokedNames are the names that never count again, in order.
func (a *active) revokedNames() []string {
	a.changing.Lock()
	defer a.changing.Unlock()
	names := make([]string, 0, len(a.revoked))
	for name := range a.revoked {
		names = append(names, string(name.Scope)+" "+name.ID)
	}
	slices.Sort(names)
	return names
}

// refuseRevoked complains about a set that brings revoked credentials back.
func (a *active) refuseRevoked(set *config.Set) error {
	names, err := set.BroughtBack(a.wasRevoked)
	if err != nil && a.life != nil {
		a.life.broughtBack(names)
	}
	return err
}

// revokeAgain is told what earlier processes saw revoked. Where the file that this one began with has such a credential
// live, it is dropped, and the file counts as invalid from then on: the next file that says so is refused as a whole.
func (a *active) revokeAgain(ctx context.Context, names []config.Revocation) {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.keepRevoked(names)
	last := a.state.Load()
	_, err := last.set.BroughtBack(a.wasRevoked)
	if err == nil {
		return
	}
	next := *last
	next.problems = problemLines(err)
	if last.invalid.IsZero() {
		next.invalid = time.Now()
	}
	a.drop(ctx, &next, names)
	a.store(&next)
	a.log.ErrorContext(ctx, "the configuration brings revoked credentials back: they stay revoked", "problems", next.problems)
}

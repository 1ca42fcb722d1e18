package seal

import (
	"context"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// How much a rotation takes at once.
const (
	defaultRows  = 500
	defaultBytes = 4 << 20
)

// Rotation brings everything that is kept under the first key, or, where that is off, out of every seal. It goes through
// the store in small batches, rests between them for as long as they took, and replaces only what is still as it was read.
// It may be broken off anywhere and run again, and several may run at once.
type Rotation struct {
	Vault     dedupe.Vault // as it is stored, not as it is opened
	Namespace string
	Keys      *Keys
	DryRun    bool // only count
	Rows      int  // looked at in one batch; 0: 500
	Bytes     int  // beyond which a batch ends; 0: 4 MiB
	// Progress is told after every batch what was done so far; nil: nobody is.
	Progress func(Report)
}

// Report is what a rotation found and did.
type Report struct {
	Requests Tally
	Results  Tally
}

// Left is how much could not be opened, or was in somebody's hands.
func (r *Report) Left() int { return r.Requests.left() + r.Results.left() }

// Tally counts one kind. What is found is counted by the key it was sealed with; the zero ID stands for what was not
// sealed, or names no key.
type Tally struct {
	Found     map[dedupe.KeyID]int
	Unopened  map[dedupe.KeyID]int // of those: no key, or damaged
	Due       int                  // of those: to be rewritten
	Rewritten int
	Changed   int // changed or went while it was on its way; whoever changed it sealed it
	Held      int // locked by somebody for too long, or refused by the store
}

func newTally() Tally {
	return Tally{Found: map[dedupe.KeyID]int{}, Unopened: map[dedupe.KeyID]int{}}
}

// Count is how many were found.
func (t *Tally) Count() int {
	count := 0
	for _, found := range t.Found {
		count += found
	}
	return count
}

func (t *Tally) left() int {
	left := t.Held
	for _, count := range t.Unopened {
		left += count
	}
	return left
}

// Run goes through the whole store once. What it returns besides an error is what was done until then.
func (r Rotation) Run(ctx context.Context) (Report, error) {
	if r.Rows == 0 {
		r.Rows = defaultRows
	}
	if r.Bytes == 0 {
		r.Bytes = defaultBytes
	}
	report := Report{Requests: newTally(), Results: newTally()}
	tell := func() {
		if r.Progress != nil {
			r.Progress(report)
		}
	}
	err := r.walk(ctx, dedupe.KeptRequests, &report.Requests, tell)
	if err == nil {
		err = r.walk(ctx, dedupe.KeptResults, &report.Results, tell)
	}
	return report, err
}

func (r *Rotation) walk(ctx context.Context, kind dedupe.VaultKind, t *Tally, tell func()) error {
	for cursor := ""; ; {
		began := time.Now()
		page, err := r.Vault.Kept(ctx, kind, cursor, r.Rows, r.Bytes)
		if err != nil || page.Next == "" {
			return err
		}
		if err := r.rewrite(ctx, kind, r.due(page.Items, t), t); err != nil {
			return err
		}
		tell()
		if err := rest(ctx, time.Since(began)); err != nil {
			return err
		}
		cursor = page.Next
	}
}

// rest leaves the store to others for a while.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// due is what of a page is to be rewritten, as it shall be.
func (r *Rotation) due(items []dedupe.VaultItem, t *Tally) []dedupe.VaultItem {
	wanted, sealing := r.Keys.Sealing()
	var due []dedupe.VaultItem
	for i := range items {
		item := &items[i]
		by, sealed := sealedWith(item)
		t.Found[by]++
		if sealed && !r.open(item) {
			t.Unopened[by]++
			continue
		}
		if sealed == sealing && by == wanted {
			continue
		}
		if sealing {
			r.seal(item)
		}
		due = append(due, *item)
	}
	t.Due += len(due)
	return due
}

// sealedWith is the key that an item is sealed with, and whether it is sealed at all.
func sealedWith(item *dedupe.VaultItem) (by dedupe.KeyID, sealed bool) {
	var value []byte
	if item.Job != nil {
		sealed, value = item.Job.IsSealed(), item.Job.Body
	} else {
		sealed, value = dedupe.IsSealed(item.Response), item.Response.Body
	}
	if sealed {
		by, _ = dedupe.SealedBy(value)
	}
	return by, sealed
}

// open opens an item; false where that cannot be done.
func (r *Rotation) open(item *dedupe.VaultItem) bool {
	var why *dedupe.SealedError
	if item.Job != nil {
		item.Job, why = openRequest(r.Keys, r.label(forRequest, item), item.Job)
	} else {
		item.Response, why = openBody(r.Keys, r.label(forBody, item), item.Response)
	}
	return why == nil
}

func (r *Rotation) seal(item *dedupe.VaultItem) {
	if item.Job != nil {
		item.Job = sealRequest(r.Keys, r.label(forRequest, item), item.Job)
	} else {
		item.Response = sealBody(r.Keys, r.label(forBody, item), item.Response)
	}
}

func (r *Rotation) label(p purpose, item *dedupe.VaultItem) *label {
	return &label{purpose: p, namespace: r.Namespace, key: item.Key}
}

// rewrite replaces a batch, or, where that is refused as a whole, one by one.
func (r *Rotation) rewrite(ctx context.Context, kind dedupe.VaultKind, items []dedupe.VaultItem, t *Tally) error {
	if r.DryRun || len(items) == 0 {
		return nil
	}
	made, err := r.Vault.Rewrite(ctx, kind, items)
	switch refused := errors.Is(err, dedupe.ErrBatch) || errors.Is(err, dedupe.ErrRow); {
	case refused && len(items) == 1:
		t.Held++
		return nil
	case refused:
		for i := range items {
			if err := r.rewrite(ctx, kind, items[i:i+1], t); err != nil {
				return err
			}
		}
		return nil
	case err != nil:
		return err
	}
	for _, done := range made {
		if done {
			t.Rewritten++
		} else {
			t.Changed++
		}
	}
	return nil
}

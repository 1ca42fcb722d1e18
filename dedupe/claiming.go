package dedupe

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// maxRounds bounds how often a claim reads again because a row changed under it. Whoever changed it has decided
	// about the event, so the second round nearly always ends.
	maxRounds = 8
	// maxTries bounds how often a claim asks a store that fails: with its pauses about a second.
	maxTries = 6
	// maxUnderway is how old a claim may be when its owner learns of it; one that took longer is looked at again. A lease
	// is at least 5 s longer than the attempt.
	maxUnderway = 4 * time.Second
)

var (
	errContended = errors.New("the receipt is changing")
	errNoState   = errors.New("the receipt is in no state that there is: sidecar audit verify tells more")
)

// Claim implements Ledger.
func (k *Keeper) Claim(ctx context.Context, r Request) (Decision, error) {
	switch {
	case r.Policy.Lease <= 0:
		return Decision{}, errors.New("a claim needs a lease")
	case r.Accept && r.Job == nil:
		return Decision{}, errors.New("what is to be accepted needs a request to keep")
	}
	if r.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Wait)
		defer cancel()
	}
	row := r.newRow(newToken())
	for range maxRounds {
		began := time.Now()
		v, err := k.ask(ctx, &r, &row)
		if err != nil {
			return Decision{}, err
		}
		made, err := k.carryOut(ctx, v)
		if err != nil {
			return Decision{}, err
		}
		if made && (v.decision.Kind != Fresh || time.Since(began) < maxUnderway) {
			return v.decision, nil
		}
	}
	return Decision{}, errContended
}

// newRow is the receipt as it is if the delivery is the first one.
func (r *Request) newRow(token Token) NewRow {
	row := NewRow{
		Key:         Key{Scope: r.Scope, EventID: r.EventID},
		Fingerprint: r.Fingerprint, Binding: r.Binding, CredentialID: r.CredentialID, EventType: r.EventType,
		Object: r.Object, Trace: r.Trace, State: Claimed, Token: token, Lease: r.Policy.Lease,
		OnExpiry: r.Policy.onExpiry(1),
	}
	if r.Accept {
		row.State, row.Lease, row.OnExpiry, row.Job = Queued, 0, 0, r.Job()
	}
	return row
}

// ask inserts the row, or reads what is there and applies the rules to it.
func (k *Keeper) ask(ctx context.Context, r *Request, row *NewRow) (verdict, error) {
	found, err := k.insert(ctx, *row)
	if err != nil {
		return verdict{}, fmt.Errorf("claim: %w", err)
	}
	if found.Inserted {
		return r.first(*row), nil
	}
	v := decide(r, row.Token, found)
	v.from(row, found.Row)
	if err := v.decision.unanswerable(); err != nil {
		return verdict{}, fmt.Errorf("claim: %w", err)
	}
	return v, nil
}

// from has the claim remember why the row was as it was found, also when a later look finds this claim itself.
func (v *verdict) from(row *NewRow, found Row) {
	if found.Token != row.Token {
		row.FromReason = found.Reason
	}
	if v.move != nil {
		v.move.FromReason = row.FromReason
	}
}

// unanswerable is why there is no decision: it would be a result that cannot be opened, without which a conflict stands, or
// somebody wrote a state that is none.
func (d *Decision) unanswerable() error {
	if d.Kind == Ended && d.State != Closed {
		return errNoState
	}
	if d.Sealed != nil && d.Kind != Conflict {
		return d.Sealed
	}
	return nil
}

// first is the verdict for an event that nobody had seen.
func (r *Request) first(row NewRow) verdict {
	if row.State == Queued {
		return verdict{decision: Decision{Kind: AlreadyQueued, State: Queued, Reason: Accepted, Trace: row.Trace, First: true}}
	}
	return verdict{decision: Decision{
		Kind: Fresh, State: Claimed, Attempt: 1, Trace: row.Trace,
		Claim: Claim{
			Scope: row.Scope, EventID: row.EventID, Token: row.Token, Attempt: 1, Trace: row.Trace,
			CredentialID: row.CredentialID,
		},
	}}
}

// insert asks again with the same token while the store fails: if an earlier try was applied after all, the row found
// carries that token.
func (k *Keeper) insert(ctx context.Context, row NewRow) (Found, error) {
	for try := 0; ; try++ {
		found, err := k.claims.do(ctx, row)
		if err == nil || try+1 >= maxTries || !again(ctx, err, try) {
			return found, err
		}
	}
}

// carryOut makes the verdict's move. False asks to look again: the row was no longer as found, or it is unknown whether
// the move was made, which the next look tells by the token.
func (k *Keeper) carryOut(ctx context.Context, v verdict) (bool, error) {
	if v.move == nil {
		return true, nil
	}
	made, err := k.move(ctx, *v.move)
	if err == nil {
		return made, nil
	}
	if !again(ctx, err, 0) {
		return false, fmt.Errorf("claim: %w", err)
	}
	return false, nil
}

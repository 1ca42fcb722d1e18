package dedupe

import (
	"context"
	"fmt"
)

// Sweep implements Desk.
func (k *Keeper) Sweep(ctx context.Context) (Swept, error) {
	rows, err := k.store.Expired(ctx, k.grace, k.sweep)
	if err != nil {
		return Swept{}, fmt.Errorf("sweep: %w", err)
	}
	swept := Swept{More: len(rows) >= k.sweep}
	if swept.Expired, err = k.expire(ctx, rows); err != nil {
		return swept, fmt.Errorf("sweep: %w", err)
	}
	swept.Forgotten, swept.Jobs, err = k.store.Forget(ctx, k.sweep)
	if err != nil {
		return swept, fmt.Errorf("sweep: %w", err)
	}
	swept.More = swept.More || swept.Forgotten >= k.sweep || swept.Jobs >= k.sweep
	return swept, nil
}

// expire settles claims whose owner never reported. It returns how many; a claim that was settled meanwhile is none.
func (k *Keeper) expire(ctx context.Context, rows []Row) (int, error) {
	calls := make([]*call[Move, bool], len(rows))
	for i := range rows {
		calls[i] = k.moves.join(k.expiry(&rows[i]))
	}
	expired := 0
	var failed error
	for _, c := range calls {
		made, err := c.wait(ctx)
		if err != nil {
			failed = err
		}
		if made {
			expired++
		}
	}
	return expired, failed
}

// expiry is what the claim itself said should follow. A new token tells the owner, should it come back, that somebody else
// decided.
func (k *Keeper) expiry(row *Row) Move {
	move := Move{
		Key: row.Key, FromState: Claimed, FromToken: row.Token, To: row.OnExpiry, Token: newToken(),
		Attempt: row.Attempt, Reason: LeaseExpired,
	}
	if move.To == Dead {
		move.Reason, move.JobFor = k.causeOfDeath(row), k.retention(row.Scope).DeadLetter
	}
	if move.To == Retryable {
		move.Expires = k.retention(row.Scope).Receipt
	}
	move.Evidence = &Evidence{
		From: Claimed, To: move.To, Attempt: row.Attempt, Reason: move.Reason, Actor: k.replica,
	}
	return move
}

// causeOfDeath tells which rule made the claim say that its expiry is the end: quarantine, or else the last attempt.
func (k *Keeper) causeOfDeath(row *Row) Reason {
	policy, known := k.policy(row.Scope)
	if known && policy.InDoubt != Quarantine && policy.Limit.usedUp(row.Attempt, 0) == MaxAttempts {
		return MaxAttempts
	}
	return Quarantined
}

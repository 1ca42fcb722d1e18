package dedupe

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Sweep implements Desk. What fails of it keeps nothing else from being done.
func (k *Keeper) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	if err := errors.Join(k.expireClaims(ctx, &swept), k.forget(ctx, &swept)); err != nil {
		return swept, fmt.Errorf("sweep: %w", err)
	}
	return swept, nil
}

func (k *Keeper) expireClaims(ctx context.Context, swept *Swept) error {
	rows, err := k.store.Expired(ctx, k.grace, k.sweep)
	if err != nil {
		return err
	}
	swept.More = len(rows) >= k.sweep
	swept.Expired, err = k.expire(ctx, rows)
	return err
}

func (k *Keeper) forget(ctx context.Context, swept *Swept) (err error) {
	if !k.forgets.due() || !k.ready() {
		return nil
	}
	if swept.Forgotten, swept.Jobs, err = k.store.Forget(ctx, k.sweep); err != nil {
		return err
	}
	if swept.Forgotten >= k.sweep || swept.Jobs >= k.sweep {
		swept.More = true
	} else {
		k.forgets.done()
	}
	return nil
}

// pacer lets something be done at most every so often, by time that has passed: a clock that jumps neither stops it nor
// drives it. Safe for concurrent use.
type pacer struct {
	every time.Duration
	since func() time.Duration // some moment; it never goes back
	next  atomic.Int64         // since then, in ns
}

// newPacer counts by the process's monotonic time.
func newPacer(every time.Duration) *pacer {
	start := time.Now()
	return &pacer{every: every, since: func() time.Duration { return time.Since(start) }}
}

func (p *pacer) due() bool { return int64(p.since()) >= p.next.Load() }

func (p *pacer) done() { p.next.Store(int64(p.since() + p.every)) }

// expire settles claims whose owner never reported. It returns how many; a claim that was settled meanwhile is none.
func (k *Keeper) expire(ctx context.Context, rows []Row) (int, error) {
	moves := make([]Move, len(rows))
	for i := range rows {
		moves[i] = k.expiry(&rows[i])
	}
	expired := 0
	var failed error
	for _, c := range k.moves.joinAll(moves) {
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
	if move.To == Queued {
		k.expireWork(row, &move)
	}
	if move.To == Dead {
		move.JobFor = k.retention(row.Scope).DeadLetter
		if move.Reason == LeaseExpired {
			move.Reason = k.causeOfDeath(row)
		}
	}
	if move.To == Retryable {
		move.Expires = k.retention(row.Scope).Receipt
	}
	move.Evidence = &Evidence{
		From: Claimed, To: move.To, Attempt: row.Attempt, Reason: move.Reason, Actor: k.replica,
	}
	return move
}

// expireWork lets a worker's job wait as after any other failure, or ends it where its age is over: a job that kills its
// workers never gets to settle.
func (k *Keeper) expireWork(row *Row, move *Move) {
	policy, known := k.policy(row.Scope)
	if !known {
		return
	}
	if policy.Retry.usedUp(0, row.LeaseUntil.Sub(row.Created)) == MaxAge {
		move.To, move.Reason = Dead, MaxAge
		return
	}
	move.After = policy.Backoff.after(row.Attempt)
}

// causeOfDeath tells which rule made the claim say that its expiry is the end: quarantine, or else the last attempt.
func (k *Keeper) causeOfDeath(row *Row) Reason {
	policy, known := k.policy(row.Scope)
	if row.HasJob {
		policy = policy.Worked()
	}
	if known && policy.InDoubt != Quarantine && policy.Limit.usedUp(row.Attempt, 0) == MaxAttempts {
		return MaxAttempts
	}
	return Quarantined
}

package dedupe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Quota says how many jobs of a scope a worker would take now.
type Quota struct {
	Scope  delivery.Scope
	Most   int
	Size   int64 // bytes that the worker thinks each job's body has
	Free   int64 // bytes that all jobs of one Take may have together for another of this scope's to be among them
	Policy Policy
}

// Work is a job that is claimed: the caller must Settle it before the lease ends, with its Policy.
type Work struct {
	Claim        Claim
	Job          *Job
	EventType    string
	CredentialID string
	Policy       Policy
	Waited       time.Duration // since its time had come
	Taken        time.Time     // by this process's clock, no later than the lease began
}

// Taken is what one Take brought.
type Taken struct {
	Works []Work
	Held  []delivery.Scope // every paused scope
	More  bool             // jobs may be due beyond the quotas
}

// Take claims up to most jobs that are due, in turns over the scopes, in the order of quotas, so that a scope with many does
// not hold up the others. A paused scope's jobs are left alone, and so are, for a while, those whose row somebody locks, and
// scopes with many of them. What it returns besides an error is claimed all the same.
func (k *Keeper) Take(ctx context.Context, quotas []Quota, most int) (Taken, error) {
	asked := time.Now()
	due, err := k.due(ctx, quotas, most)
	if err != nil {
		return Taken{}, fmt.Errorf("take: %w", err)
	}
	taken := Taken{Held: due.Held}
	due.drop(func(row Row) bool { return slices.Contains(due.Held, row.Scope) || k.refusals.has(row.Key) })
	chosen := inTurns(due, quotas, most)
	taken.More = len(chosen) < len(due.Rows)
	claims := k.claimDue(ctx, chosen, due.Now)
	taken.More = taken.More || len(claims) < len(chosen) // another worker was faster: look again
	taken.Works, err = k.load(ctx, claims)
	for i := range taken.Works {
		taken.Works[i].Taken = asked
	}
	return taken, err
}

// due asks for one row more than wanted, to learn whether there is more, and for as many as will be passed over.
func (k *Keeper) due(ctx context.Context, quotas []Quota, most int) (Due, error) {
	scopes := make([]delivery.Scope, 0, len(quotas))
	limit := 0
	for _, quota := range quotas {
		if passed := k.refusals.of(quota.Scope); quota.Most > 0 && most > 0 && passed < maxRefused {
			scopes, limit = append(scopes, quota.Scope), max(limit, min(quota.Most, most)+passed)
		}
	}
	return k.store.Due(ctx, scopes, limit+1)
}

// drop leaves out rows.
func (d *Due) drop(which func(Row) bool) { d.Rows = slices.DeleteFunc(d.Rows, which) }

// candidate is a row that is to be claimed, and for which policy.
type candidate struct {
	row    Row
	policy Policy
}

// inTurns chooses up to most rows: one of each scope, then the next of each, until quotas, their bytes or rows are used up.
func inTurns(due Due, quotas []Quota, most int) []candidate {
	waiting := make(map[delivery.Scope][]Row, len(quotas))
	for _, row := range due.Rows {
		waiting[row.Scope] = append(waiting[row.Scope], row)
	}
	var chosen []candidate
	bytes := int64(0)
	for turn, went := 0, true; went && len(chosen) < most; turn++ {
		went = false
		for _, quota := range quotas {
			rows := waiting[quota.Scope]
			if turn >= min(quota.Most, len(rows)) || len(chosen) == most || bytes+quota.Size > quota.Free {
				continue
			}
			bytes += quota.Size
			chosen, went = append(chosen, candidate{row: rows[turn], policy: quota.Policy.Worked()}), true
		}
	}
	return chosen
}

// lockPatience is how long claims are waited for after the store refused the first one. Those that have no answer by then
// wait for locks, too, or behind such; the others need not.
const lockPatience = time.Second

// claimDue makes the moves and returns the works whose claim was made, without their jobs. Where that stays unknown, the
// lease will end by itself.
func (k *Keeper) claimDue(ctx context.Context, chosen []candidate, now time.Time) []Work {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	moves := make([]Move, len(chosen))
	for i := range chosen {
		moves[i] = chosen[i].move()
	}
	made := make([]bool, len(chosen))
	for i, claim := range replies(ctx, k.moves.joinAll(moves)) {
		switch {
		case refused(claim.err):
			k.refusals.add(moves[i].Key)
			time.AfterFunc(lockPatience, leave)
		case claim.err != nil:
			made[i] = k.tookAfterAll(ctx, moves[i], claim.err)
		default:
			made[i] = claim.answer
		}
	}
	works := make([]Work, 0, len(chosen))
	for i := range chosen {
		if made[i] {
			works = append(works, chosen[i].work(moves[i], now))
		}
	}
	return works
}

// tookAfterAll finds out whether a claim was made whose answer was lost, by its token.
func (k *Keeper) tookAfterAll(ctx context.Context, move Move, err error) bool {
	for try := 0; try < maxTries && again(ctx, err, try); try++ {
		var row Row
		row, err = k.read(ctx, move.Key)
		if err == nil || errors.Is(err, ErrNotFound) {
			return err == nil && row.State == Claimed && row.Token == move.Token
		}
	}
	return false
}

func (c *candidate) move() Move {
	attempt := c.row.Attempt + 1
	return Move{
		Key: c.row.Key, FromState: Queued, FromToken: c.row.Token, To: Claimed, Token: newToken(), Attempt: attempt,
		Lease: c.policy.Lease, OnExpiry: c.policy.onWorkExpiry(attempt), CredentialID: c.row.CredentialID,
	}
}

func (c *candidate) work(move Move, now time.Time) Work {
	return Work{
		Claim: Claim{
			Scope: move.Scope, EventID: move.EventID, Token: move.Token, Attempt: move.Attempt,
			Age: max(0, now.Sub(c.row.Created)), Trace: c.row.Trace,
			CredentialID: c.row.CredentialID, Told: c.row.moved(),
		},
		EventType: c.row.EventType, CredentialID: c.row.CredentialID, Policy: c.policy,
		Waited: max(0, now.Sub(c.row.NextAttempt)),
	}
}

// load brings the jobs of claimed works. An event that has lost its request, which nothing here does, becomes dead.
func (k *Keeper) load(ctx context.Context, works []Work) ([]Work, error) {
	keys := make([]Key, len(works))
	for i := range works {
		keys[i] = Key{Scope: works[i].Claim.Scope, EventID: works[i].Claim.EventID}
	}
	jobs, err := k.requests(ctx, keys)
	if err != nil {
		k.giveAllBack(works)
		return nil, fmt.Errorf("take: %w", err)
	}
	loaded := works[:0]
	var back []*call[Move, bool]
	for i := range works {
		works[i].Job = jobs[i]
		switch {
		case jobs[i] == nil:
			err = errors.Join(err, k.Settle(ctx, works[i].Claim, Settlement{To: Dead, Reason: RequestLost}))
		case jobs[i].Sealed != nil:
			back = append(back, k.putBack(&works[i]))
		default:
			loaded = append(loaded, works[i])
		}
	}
	for _, c := range back {
		_, lost := c.wait(ctx)
		err = errors.Join(err, lost)
	}
	return loaded, err
}

// putBack ends a claim whose request cannot be opened: nothing was sent, so it does not count and waits as for an
// application out of reach, until its age is over.
func (k *Keeper) putBack(w *Work) *call[Move, bool] {
	s := settling{p: w.Policy, c: w.Claim, age: w.Claim.Age}
	move := s.failed(Settlement{Reason: Unsealable}).move(w.Claim)
	move.Evidence.Actor = k.replica
	return k.moves.join(move)
}

func (k *Keeper) requests(ctx context.Context, keys []Key) ([]*Job, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	for try := 0; ; try++ {
		jobs, err := k.store.Requests(ctx, keys)
		if err == nil || try+1 >= maxTries || !again(ctx, err, try) {
			return jobs, err
		}
	}
}

func (k *Keeper) giveAllBack(works []Work) {
	for i := range works {
		c := works[i].Claim
		k.requeue(Key{Scope: c.Scope, EventID: c.EventID}, c.Token, c.Attempt, c.CredentialID)
	}
}

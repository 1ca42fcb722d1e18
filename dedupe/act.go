package dedupe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Reopen implements Desk.
func (k *Keeper) Reopen(ctx context.Context, scope delivery.Scope, id delivery.EventID, by Act) error {
	_, err := k.act(ctx, Key{Scope: scope, EventID: id}, Applied, func(row Row) Move {
		return Move{To: Retryable, Reason: Reopened, Expires: k.retention(scope).Receipt}
	}, by)
	return err
}

// Replay implements Desk.
func (k *Keeper) Replay(ctx context.Context, scope delivery.Scope, id delivery.EventID, by Act) (State, error) {
	return k.act(ctx, Key{Scope: scope, EventID: id}, Dead, func(row Row) Move {
		if row.HasJob && k.worker {
			return Move{To: Queued, Reason: Replayed}
		}
		return Move{To: Retryable, Reason: Replayed, Expires: k.retention(scope).Receipt}
	}, by)
}

// Close implements Desk.
func (k *Keeper) Close(ctx context.Context, scope delivery.Scope, id delivery.EventID, status int, by Act) error {
	_, err := k.act(ctx, Key{Scope: scope, EventID: id}, Dead, func(row Row) Move {
		return Move{To: Closed, Reason: ClosedByHand, Status: status, DropJob: true, Expires: k.retention(scope).Receipt}
	}, by)
	return err
}

// actPatience is how long a person's act is tried: somebody waits for the answer, and can look what came of it.
const actPatience = 15 * time.Second

// act makes one transition for a person. A token of its own tells an act whose commit was unknown from that of somebody
// who was faster.
func (k *Keeper) act(ctx context.Context, key Key, from State, to func(Row) Move, by Act) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, actPatience)
	defer cancel()
	token := newToken()
	for try := 0; ; try++ {
		state, err := k.actOnce(ctx, key, from, token, func(row Row) Move { return to(row).by(row, token, by) })
		switch {
		case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrState):
			return state, err
		case !again(ctx, err, try):
			return 0, fmt.Errorf("act: %w", err)
		}
	}
}

// actOnce reads the row and makes the move, or finds that an earlier try has made it.
func (k *Keeper) actOnce(ctx context.Context, key Key, from State, token Token, to func(Row) Move) (State, error) {
	row, err := k.read(ctx, key)
	switch {
	case err != nil:
		return 0, err
	case row.Token == token:
		return row.State, nil
	case row.State != from:
		return 0, ErrState
	}
	move := to(row)
	made, err := k.move(ctx, move)
	if err == nil && !made {
		err = errContended // read again: somebody was faster
	}
	return move.To, err
}

// by completes a person's move.
func (m Move) by(row Row, token Token, by Act) Move {
	m.Key, m.FromState, m.FromToken, m.Token, m.Attempt = row.Key, row.State, row.Token, token, row.Attempt
	m.Evidence = &Evidence{
		From: row.State, To: m.To, Attempt: row.Attempt, Reason: m.Reason, Status: m.Status,
		Actor: by.Actor, Note: by.Reason,
	}
	return m
}

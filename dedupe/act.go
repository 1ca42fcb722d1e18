package dedupe

import (
	"context"

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

// act makes one transition for a person. A token of its own tells an act whose commit was unknown from that of somebody
// who was faster.
func (k *Keeper) act(ctx context.Context, key Key, from State, to func(Row) Move, by Act) (State, error) {
	token := newToken()
	for try := 0; ; try++ {
		row, err := k.read(ctx, key)
		switch {
		case err == ErrNotFound:
			return 0, err
		case err == nil && row.Token == token:
			return row.State, nil
		case err == nil && row.State != from:
			return 0, ErrState
		case err == nil:
			var made bool
			move := to(row).by(row, token, by)
			if made, err = k.move(ctx, move); made {
				return move.To, nil
			}
		}
		if err != nil && !again(ctx, err, try) {
			return 0, err
		}
	}
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

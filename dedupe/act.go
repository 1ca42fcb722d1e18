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

// act makes one transition for a person.
func (k *Keeper) act(ctx context.Context, key Key, from State, to func(Row) Move, by Act) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, actPatience)
	defer cancel()
	a := acting{k: k, key: key, from: from, to: to, by: by, token: newToken()}
	for try := 0; ; try++ {
		state, err := a.once(ctx)
		switch {
		case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrState):
			return state, err
		case !again(ctx, err, try):
			return 0, fmt.Errorf("act: %w", err)
		}
	}
}

// acting is one person's act on its way. It is about the row as it was first read: if another token is there later,
// somebody else has decided about the event, and whatever state it is in again is not the one that the person has seen.
type acting struct {
	k     *Keeper
	key   Key
	from  State
	to    func(Row) Move
	by    Act
	token Token // of its own, which tells an act whose commit was unknown

	first *Row
	tried *Move // may have been made
}

// once reads the row and makes the move, or finds that an earlier try has made it.
func (a *acting) once(ctx context.Context) (State, error) {
	row, err := a.k.read(ctx, a.key)
	if err != nil {
		return 0, err
	}
	if a.first == nil {
		a.first = &row
	}
	switch {
	case row.Token == a.token:
		return row.State, nil
	case row.Token != a.first.Token:
		return a.overtaken(ctx)
	case row.State != a.from:
		return 0, ErrState
	}
	move := a.to(row).by(row, a.token, a.by)
	made, err := a.k.move(ctx, move)
	switch {
	case err != nil:
		a.tried = &move
	case !made:
		err = errContended // read again: somebody was faster
	}
	return move.To, err
}

// overtaken tells an act that was done, and from which somebody has gone on already, from one that came too late. Who
// took the token away has left no trace of it in the row, but the evidence is there.
func (a *acting) overtaken(ctx context.Context) (State, error) {
	if a.tried == nil {
		return 0, ErrState
	}
	evidence, _, err := a.k.store.Evidence(ctx, a.key)
	if err != nil {
		return 0, err
	}
	own := a.tried.Evidence.Content(a.key)
	for i := range evidence {
		if e := &evidence[i]; e.Content(a.key) == own && !e.At.Before(a.first.Changed) {
			return a.tried.To, nil
		}
	}
	return 0, ErrState
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

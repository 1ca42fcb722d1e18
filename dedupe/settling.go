package dedupe

import (
	"context"
	"errors"
	"fmt"
)

// Settle implements Ledger.
func (k *Keeper) Settle(ctx context.Context, c Claim, s Settlement) error {
	move := s.move(c)
	for try := 0; ; try++ {
		err := k.settle(ctx, move)
		if err == nil || errors.Is(err, ErrClaimLost) {
			return err
		}
		if !again(ctx, err, try) {
			return fmt.Errorf("settle: %w", err)
		}
	}
}

// settle makes the move once, or finds out that an earlier try has made it.
func (k *Keeper) settle(ctx context.Context, move Move) error {
	made, err := k.move(ctx, move)
	if made || err != nil {
		return err
	}
	row, err := k.read(ctx, move.Key)
	switch {
	case err == nil && move.done(row):
		return nil
	case err == nil || errors.Is(err, ErrNotFound):
		return ErrClaimLost
	}
	return err
}

// done tells that the row is as the move wanted it, by this move's own token.
func (m *Move) done(row Row) bool {
	return row.Token == m.Token && row.State == m.To && row.Reason == m.Reason && row.Attempt == m.Attempt &&
		row.Status == m.Status
}

// move is the settlement as a transition, fenced by the claim's token.
func (s Settlement) move(c Claim) Move {
	m := Move{
		Key:       Key{Scope: c.Scope, EventID: c.EventID},
		FromState: Claimed, FromToken: c.Token, Token: c.Token,
		To: s.To, Reason: s.Reason, Attempt: c.Attempt,
		After: s.After, Expires: s.Expires, Job: s.Job, JobFor: s.JobFor, DropJob: s.To == Applied,
	}
	if s.Response != nil {
		m.Status = s.Response.Status
	}
	if s.To == Applied {
		m.Response = s.Response
	}
	if !s.Counts {
		m.Attempt--
	}
	if s.To != Applied || c.Attempt > 1 || c.Told {
		m.Evidence = &Evidence{
			From: Claimed, To: s.To, Attempt: c.Attempt, Reason: s.Reason, Status: m.Status, CredentialID: c.CredentialID,
		}
	}
	return m
}

// read returns one row or ErrNotFound.
func (k *Keeper) read(ctx context.Context, key Key) (Row, error) {
	rows, err := k.store.Read(ctx, []Key{key})
	if err != nil {
		return Row{}, err
	}
	if len(rows) == 0 {
		return Row{}, ErrNotFound
	}
	return rows[0], nil
}

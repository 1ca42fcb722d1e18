package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Insert implements dedupe.Store.
func (s *Store) Insert(ctx context.Context, rows []dedupe.NewRow) ([]dedupe.Found, error) {
	answers := make([]dedupe.Found, len(rows))
	if len(rows) == 0 {
		return answers, nil
	}
	err := s.transact(ctx, len(rows), func(tx *sql.Tx, now time.Time) error {
		insertion := insertion{s: s, tx: tx, now: now}
		for i := range rows {
			found, err := insertion.add(ctx, &rows[i])
			if err != nil {
				return err
			}
			answers[i] = found
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// insertion is one batch of new rows.
type insertion struct {
	s   *Store
	tx  *sql.Tx
	now time.Time
}

func (n *insertion) add(ctx context.Context, row *dedupe.NewRow) (dedupe.Found, error) {
	id, err := n.insert(ctx, row)
	if errors.Is(err, sql.ErrNoRows) {
		return n.existing(ctx, row)
	}
	if err == nil && row.Job != nil {
		err = putJob(ctx, n.tx.StmtContext(ctx, n.s.statements.upsertJob), id, row.Job, 0)
	}
	return dedupe.Found{Inserted: true, Now: n.now}, err
}

func (n *insertion) insert(ctx context.Context, row *dedupe.NewRow) (int64, error) {
	attempt, reason, next := 1, dedupe.NoReason, int64(0)
	if row.State == dedupe.Queued {
		attempt, reason, next = 0, dedupe.Accepted, n.now.UnixMicro()
	}
	var id int64
	err := n.tx.StmtContext(ctx, n.s.statements.insertReceipt).QueryRowContext(ctx,
		row.Scope, row.EventID, row.Fingerprint[:], orNull(row.Binding), row.CredentialID, blob(row.EventType),
		blob(row.Object), blob(row.Trace), row.State, reason, attempt, row.Token[:], row.OnExpiry,
		n.now.UnixMicro(), n.now.UnixMicro(), until(n.now, row.Lease), next,
	).Scan(&id)
	return id, err
}

// existing is the row with the ID, or else the one with the binding.
func (n *insertion) existing(ctx context.Context, row *dedupe.NewRow) (dedupe.Found, error) {
	byID := n.tx.StmtContext(ctx, n.s.statements.selectReceipt)
	existing, err := scanRow(byID.QueryRowContext(ctx, row.Scope, row.EventID))
	if errors.Is(err, sql.ErrNoRows) {
		bound := n.tx.StmtContext(ctx, n.s.statements.selectBound)
		existing, err = scanRow(bound.QueryRowContext(ctx, row.Scope, row.Binding[:]))
	}
	return dedupe.Found{Row: existing, Now: n.now}, err
}

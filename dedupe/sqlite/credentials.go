package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

var _ dedupe.CredentialBook = (*Store)(nil)

// RecordCredentials implements dedupe.CredentialBook.
func (s *Store) RecordCredentials(ctx context.Context, events []dedupe.CredentialEvent) error {
	const add = `INSERT INTO credential_events (at, scope, credential, change, status, fingerprint, replica)
		VALUES (?, ?, ?, ?, ?, ?, ?)`
	return s.transact(ctx, len(events), func(tx *sql.Tx, now time.Time) error {
		for _, e := range events {
			_, err := tx.ExecContext(ctx, add, now.UnixMicro(), e.Scope, e.ID, e.Change, e.Status, e.Fingerprint, e.Replica)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// CredentialEvents implements dedupe.CredentialBook.
func (s *Store) CredentialEvents(ctx context.Context, limit int) ([]dedupe.CredentialEvent, error) {
	const query = `SELECT at, scope, credential, change, status, fingerprint, replica FROM credential_events
		ORDER BY id DESC LIMIT ?`
	return s.credentialEvents(ctx, query, limit)
}

// LastOfCredentials implements dedupe.CredentialBook.
func (s *Store) LastOfCredentials(ctx context.Context) ([]dedupe.CredentialEvent, error) {
	const query = `SELECT at, scope, credential, change, status, fingerprint, replica FROM credential_events
		WHERE id IN (SELECT max(id) FROM credential_events GROUP BY scope, credential)`
	return s.credentialEvents(ctx, query)
}

func (s *Store) credentialEvents(ctx context.Context, query string, args ...any) ([]dedupe.CredentialEvent, error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var events []dedupe.CredentialEvent
	for rows.Next() {
		var e dedupe.CredentialEvent
		var at int64
		if err := rows.Scan(&at, &e.Scope, &e.ID, &e.Change, &e.Status, &e.Fingerprint, &e.Replica); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		e.At = instant(at)
		events = append(events, e)
	}
	return events, errors.Join(rows.Err(), rows.Close())
}

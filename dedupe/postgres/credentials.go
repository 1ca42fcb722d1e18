package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	recordCredentialsSQL = `INSERT INTO {schema}.credential_events (at, scope, credential, change, status, fingerprint, replica)
SELECT now(), i.scope, i.credential, i.change, i.status, i.fingerprint, i.replica
FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[]) WITH ORDINALITY
  AS i(scope, credential, change, status, fingerprint, replica, place) ORDER BY i.place`

	credentialEventsSQL = `SELECT e.at, e.scope, e.credential, e.change, e.status, e.fingerprint, e.replica
FROM {schema}.credential_events e ORDER BY e.id DESC LIMIT $1`

	lastOfCredentialsSQL = `SELECT DISTINCT ON (e.scope, e.credential)
  e.at, e.scope, e.credential, e.change, e.status, e.fingerprint, e.replica
FROM {schema}.credential_events e ORDER BY e.scope, e.credential, e.id DESC`
)

var _ dedupe.CredentialBook = (*Store)(nil)

// RecordCredentials implements dedupe.CredentialBook.
func (s *Store) RecordCredentials(ctx context.Context, events []dedupe.CredentialEvent) error {
	if len(events) == 0 {
		return nil
	}
	var columns [6][][]byte
	for _, e := range events {
		for i, text := range []string{string(e.Scope), e.ID, string(e.Change), string(e.Status), e.Fingerprint, e.Replica} {
			columns[i] = append(columns[i], bytesOf(text))
		}
	}
	return s.run(ctx, call{
		guard: scanGuard, sql: s.sql.recordCredentials, rows: len(events),
		args: []any{columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]},
	})
}

// CredentialEvents implements dedupe.CredentialBook.
func (s *Store) CredentialEvents(ctx context.Context, limit int) ([]dedupe.CredentialEvent, error) {
	return s.credentialEvents(ctx, s.sql.credentialEvents, limit)
}

// LastOfCredentials implements dedupe.CredentialBook.
func (s *Store) LastOfCredentials(ctx context.Context) ([]dedupe.CredentialEvent, error) {
	return s.credentialEvents(ctx, s.sql.lastOfCredentials)
}

func (s *Store) credentialEvents(ctx context.Context, sql string, args ...any) ([]dedupe.CredentialEvent, error) {
	var events []dedupe.CredentialEvent
	err := s.run(ctx, call{
		guard: scanGuard, sql: sql, args: args,
		begin: func() { events = nil },
		scan: func(rows pgx.Rows) error {
			var e dedupe.CredentialEvent
			var scope, id, change, status, fingerprint, replica []byte
			err := rows.Scan(&e.At, &scope, &id, &change, &status, &fingerprint, &replica)
			e.Scope, e.ID, e.Change = delivery.Scope(scope), string(id), dedupe.CredentialChange(change)
			e.Status, e.Fingerprint, e.Replica = dedupe.CredentialStatus(status), string(fingerprint), string(replica)
			events = append(events, e)
			return err
		},
	})
	return events, err
}

package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

const selectEvidence = `SELECT at, until, from_state, to_state, attempt, reason, status, actor, note, credential, sum, checkpoint
	FROM evidence WHERE receipt = ? ORDER BY id`

// querier is the database, or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// told reads the evidence of a receipt.
func told(ctx context.Context, from querier, receipt int64) ([]dedupe.Evidence, error) {
	rows, err := from.QueryContext(ctx, selectEvidence, receipt)
	if err != nil {
		return nil, err
	}
	var all []dedupe.Evidence
	for rows.Next() {
		var e dedupe.Evidence
		var at, until int64
		var actor, note, credential, sum []byte
		err := rows.Scan(&at, &until, &e.From, &e.To, &e.Attempt, &e.Reason, &e.Status, &actor, &note, &credential, &sum, &e.Checkpoint)
		if err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		e.At, e.Until, e.Actor, e.Note = instant(at), instant(until), string(actor), string(note)
		e.CredentialID, e.Sum = string(credential), sumOf(sum)
		all = append(all, e)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// sumOf reads a stored sum. One of another length is none of ours, and becomes one that equals none.
func sumOf(stored []byte) dedupe.Sum {
	switch len(stored) {
	case 0:
		return dedupe.Sum{}
	case sha256.Size:
		return dedupe.Sum(stored)
	default:
		return sha256.Sum256(stored)
	}
}

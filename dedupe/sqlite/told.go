package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

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
		err := rows.Scan(&at, &until, anyState{&e.From}, anyState{&e.To}, &e.Attempt, &e.Reason, &e.Status, &actor, &note, &credential, &sum, &e.Checkpoint)
		if err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		e.At, e.Until, e.Actor, e.Note = instant(at), ended(until), string(actor), string(note)
		e.CredentialID, e.Sum = string(credential), dedupe.SumOf(sum)
		all = append(all, e)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// ended is when a receipt may be forgotten; zero: not. The greatest number, which nobody writes, is another end.
func ended(until int64) time.Time { return instant(min(until, math.MaxInt64-1)) }

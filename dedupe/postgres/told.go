package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// evidenceColumns are what toldRow.columns reads, of evidence called e.
const evidenceColumns = `e.at, e.until, e.from_state, e.to_state, e.attempt, e.reason_id, e.status, e.checkpoint,
    e.actor, e.note, e.credential, e.sum`

// toldRow is a row of evidence as it is stored. Everything is NULL where an outer join found none.
type toldRow struct {
	at, until                    pgtype.Timestamptz
	from, to, status             pgtype.Int2
	attempt, reason              pgtype.Int4
	checkpoint                   pgtype.Int8
	actor, note, credential, sum []byte
}

func (r *toldRow) columns() []any {
	return []any{&r.at, &r.until, &r.from, &r.to, &r.attempt, &r.reason, &r.status, &r.checkpoint, &r.actor, &r.note,
		&r.credential, &r.sum}
}

func (r *toldRow) reasonID() nameID { return nameID{reasonName, r.reason.Int32} }

func (r *toldRow) tell(known map[nameID]name) dedupe.Evidence {
	told := dedupe.Evidence{
		At: r.at.Time, Until: ended(r.until), From: dedupe.StateOf(int64(r.from.Int16)), To: dedupe.StateOf(int64(r.to.Int16)),
		Attempt: int(r.attempt.Int32),
		Reason:  reasonNamed(r.reasonID(), known), Status: int(r.status.Int16), Actor: string(r.actor),
		Note: string(r.note), CredentialID: string(r.credential), Checkpoint: r.checkpoint.Int64, Sum: dedupe.SumOf(r.sum),
	}
	return told
}

// reasonNamed is the reason with an ID. One whose name somebody deleted is none of ours.
func reasonNamed(id nameID, known map[nameID]name) dedupe.Reason {
	if reason := known[id].a; reason != "" || id.id == 0 {
		return dedupe.Reason(reason)
	}
	return "unknown"
}

// ended is when a receipt may be forgotten; zero: not. An end before all time, which nobody writes, is another one.
func ended(until pgtype.Timestamptz) time.Time {
	switch until.InfinityModifier {
	case pgtype.Infinity:
		return time.Time{}
	case pgtype.NegativeInfinity:
		return time.Unix(0, 0).UTC()
	default:
		return until.Time
	}
}

// told tells rows of evidence in the ledger's words, in the same order.
func (s *Store) told(ctx context.Context, rows []toldRow) ([]dedupe.Evidence, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ids := make([]nameID, len(rows))
	for i := range rows {
		ids[i] = rows[i].reasonID()
	}
	known, err := s.names.tellAll(ctx, ids)
	if err != nil {
		return nil, err
	}
	list := make([]dedupe.Evidence, len(rows))
	for i := range rows {
		list[i] = rows[i].tell(known)
	}
	return list, nil
}

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// rowColumns are what stored.scan reads, of a receipt called r.
const rowColumns = `r.state, r.created, r.changed, r.due, r.scope_id, r.origin_id, r.reason_id, r.attempt, r.status,
    r.on_expiry, r.job, r.token, r.fingerprint, r.event_id, r.trace, r.binding, r.object, r.head, r.body`

// stored is a receipt as it is stored. Everything is NULL where an outer join found none.
type stored struct {
	state                                                         *int16
	created, changed, due                                         pgtype.Timestamptz
	scope, origin, reason, attempt                                pgtype.Int4
	status, onExpiry, job                                         pgtype.Int2
	token, fingerprint, event, trace, binding, object, head, body []byte

	answer int       // whose row it is, in a batch
	now    time.Time // when it was read
}

// scan reads a row; first are the columns before it.
func (r *stored) scan(rows pgx.Rows, first ...any) error {
	return rows.Scan(append(first, &r.state, &r.created, &r.changed, &r.due, &r.scope, &r.origin, &r.reason, &r.attempt,
		&r.status, &r.onExpiry, &r.job, &r.token, &r.fingerprint, &r.event, &r.trace, &r.binding, &r.object, &r.head,
		&r.body)...)
}

// rows tells stored rows in the ledger's words, in the same order.
func (s *Store) rows(ctx context.Context, list []stored) ([]dedupe.Row, error) {
	if len(list) == 0 {
		return nil, nil
	}
	ids := make([]nameID, 0, 3*len(list))
	for i := range list {
		named := list[i].nameIDs()
		ids = append(ids, named[:]...)
	}
	wanted, err := s.names.tellAll(ctx, ids)
	if err != nil {
		return nil, err
	}
	told := make([]dedupe.Row, len(list))
	for i := range list {
		list[i].tell(&told[i], wanted)
	}
	return told, nil
}

func (r *stored) nameIDs() [3]nameID {
	return [3]nameID{{scopeName, r.scope.Int32}, {originName, r.origin.Int32}, {reasonName, r.reason.Int32}}
}

func (r *stored) tell(row *dedupe.Row, known map[nameID]name) {
	ids := r.nameIDs()
	origin := known[ids[1]]
	*row = dedupe.Row{
		Key:          dedupe.Key{Scope: delivery.Scope(known[ids[0]].a), EventID: delivery.EventID(r.event)},
		CredentialID: origin.a, EventType: origin.b, Object: string(r.object), Trace: unpackTrace(r.trace),
		State: dedupe.StateOf(int64(*r.state)), Reason: reasonNamed(ids[2], known), Attempt: int(r.attempt.Int32),
		Created: r.created.Time, Changed: r.changed.Time, Status: int(r.status.Int16), HasJob: r.job.Int16 == 1,
	}
	copy(row.Fingerprint[:], r.fingerprint)
	copy(row.Binding[:], r.binding)
	copy(row.Token[:], r.token)
	r.tellDue(row)
	row.Response = keptResponse(row.Status, r.head, r.body)
}

// tellDue says what the one column for the end of a state means in this state.
func (r *stored) tellDue(row *dedupe.Row) {
	switch row.State {
	case dedupe.Claimed:
		row.LeaseUntil, row.OnExpiry = r.due.Time, dedupe.State(r.onExpiry.Int16)
	case dedupe.Queued:
		row.NextAttempt = r.due.Time
	default:
		if r.due.InfinityModifier == pgtype.Finite {
			row.Expires = r.due.Time
		}
	}
}

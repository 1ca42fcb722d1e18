package sqlite

import (
	"database/sql"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// columns is what scanRow reads, in its order.
const columns = `scope, event_id, fingerprint, binding, credential_id, event_type, object, trace, state, reason, attempt,
	token, on_expiry, created, changed, lease_until, next_attempt, expires, status, response_header, response_body, omitted <> 0,
	EXISTS (SELECT 1 FROM jobs WHERE jobs.receipt = receipts.id)`

// scanner is one row of a result.
type scanner interface{ Scan(...any) error }

func scanRow(from scanner) (dedupe.Row, error) {
	var row dedupe.Row
	var fingerprint, binding, eventType, object, trace, token, header, body []byte
	var created, changed, lease, next, expires int64
	var omitted bool
	err := from.Scan(&row.Scope, &row.EventID, &fingerprint, &binding, &row.CredentialID, &eventType, &object, &trace,
		&row.State, &row.Reason, &row.Attempt, &token, &row.OnExpiry, &created, &changed, &lease, &next, &expires,
		&row.Status, &header, &body, &omitted, &row.HasJob)
	if err != nil {
		return dedupe.Row{}, err
	}
	copy(row.Fingerprint[:], fingerprint)
	copy(row.Binding[:], binding)
	copy(row.Token[:], token)
	row.EventType, row.Object, row.Trace = string(eventType), string(object), string(trace)
	row.Created, row.Changed, row.LeaseUntil = instant(created), instant(changed), instant(lease)
	row.NextAttempt, row.Expires = instant(next), instant(expires)
	if header != nil {
		row.Response = response(row.Status, header, body, omitted)
	}
	return row, nil
}

func scanRows(from *sql.Rows) ([]dedupe.Row, error) {
	defer from.Close()
	var rows []dedupe.Row
	for from.Next() {
		row, err := scanRow(from)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, from.Err()
}

func response(status int, header, body []byte, omitted bool) *delivery.Response {
	fields, err := decodeHeader(header)
	if err != nil {
		return dedupe.DamagedResponse(status)
	}
	return &delivery.Response{Status: status, Header: fields, Body: body, Omitted: omitted}
}

// instant reads microseconds; 0 is the zero time.
func instant(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// until is a moment after now in microseconds, or 0 for no span.
func until(now time.Time, span time.Duration) int64 {
	if span <= 0 {
		return 0
	}
	return now.Add(span).UnixMicro()
}

// orNull keeps a binding that is not there out of the index.
func orNull(binding [32]byte) []byte {
	if binding == [32]byte{} {
		return nil
	}
	return binding[:]
}

// blob is never NULL.
func blob[T string | []byte](value T) []byte {
	if len(value) == 0 {
		return []byte{}
	}
	return []byte(value)
}

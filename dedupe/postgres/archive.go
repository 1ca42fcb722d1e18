package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	// In the order of a chain, which a clock that was set back does not change.
	evidenceSQL = `SELECT ` + evidenceColumns + `, r.chain
FROM (
    SELECT * FROM {schema}.receipts q WHERE q.scope_id = $1 AND q.event_id = $2 LIMIT 1
) r LEFT JOIN LATERAL (
    SELECT * FROM {schema}.evidence e WHERE e.scope_id = r.scope_id AND e.event_id = r.event_id ORDER BY e.id
) e ON true
ORDER BY e.id`

	// A reference is a hash that no index knows: the price of small rows. A name is not hashed with the ID as one string.
	findSQL = `SELECT ` + rowColumns + `
FROM {schema}.receipts r JOIN {schema}.names s ON s.kind = 1 AND s.id = r.scope_id
WHERE left(encode(sha256(int8send(length(s.a)) || s.a || int8send(length(r.event_id)) || r.event_id), 'hex'), 16) = $1`

	listSelect = `SELECT ` + rowColumns + `
FROM {schema}.receipts r
WHERE ($1::integer = 0 OR r.scope_id = $1) AND (cardinality($2::smallint[]) = 0 OR r.state = ANY ($2))`
	listOrder = `
ORDER BY r.changed, r.scope_id, r.event_id LIMIT $3 OFFSET $4`

	listSQL        = listSelect + listOrder
	listWaitingSQL = listSelect + ` AND r.state IN (2, 5)` + listOrder
	listClaimedSQL = listSelect + ` AND r.state = 1` + listOrder
	listQueuedSQL  = listSelect + ` AND r.state = 3` + listOrder

	// Three look-ups in three small indexes. Attempts do not make an event young again that waits for the next one.
	attentionSQL = `SELECT o.scope_id, o.state, count(*), (extract(epoch FROM now() - min(o.since)) * 1000000)::bigint
FROM (SELECT scope_id, state, changed AS since FROM {schema}.receipts WHERE state = 1
      UNION ALL SELECT scope_id, state, created FROM {schema}.receipts WHERE state = 3
      UNION ALL SELECT scope_id, state, CASE state WHEN 2 THEN created ELSE changed END FROM {schema}.receipts WHERE state IN (2, 5)) o
GROUP BY o.scope_id, o.state`
)

// defaultLimit is of Filter.Limit.
const defaultLimit = 100

// Evidence implements dedupe.Archive.
func (s *Store) Evidence(ctx context.Context, key dedupe.Key) ([]dedupe.Evidence, dedupe.Sum, error) {
	scopes, events, err := s.keys(ctx, []dedupe.Key{key})
	if err != nil {
		return nil, dedupe.Sum{}, err
	}
	var list []toldRow
	var head []byte
	err = s.run(ctx, call{
		guard: lookupGuard, sql: s.sql.evidence, args: []any{scopes[0], events[0]},
		begin: func() { list, head = nil, nil },
		scan: func(rows pgx.Rows) error {
			var row toldRow
			err := rows.Scan(append(row.columns(), &head)...)
			if row.at.Valid {
				list = append(list, row)
			}
			return err
		},
	})
	if err != nil {
		return nil, dedupe.Sum{}, err
	}
	told, err := s.told(ctx, list)
	return told, dedupe.SumOf(head), err
}

// Find implements dedupe.Archive. It reads the whole ledger.
func (s *Store) Find(ctx context.Context, reference string) ([]dedupe.Row, error) {
	return s.query(ctx, scanGuard, s.sql.find, reference)
}

// List implements dedupe.Archive.
func (s *Store) List(ctx context.Context, f dedupe.Filter) ([]dedupe.Row, error) {
	scope, known, err := s.filterScope(ctx, f.Scope)
	if err != nil || !known {
		return nil, err
	}
	states := make([]int16, len(f.States))
	for i, state := range f.States {
		states[i] = int16(state)
	}
	limit := f.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	guard, sql := s.listing(f.States)
	return s.query(ctx, guard, sql, scope, states, int64(limit), int64(max(0, f.Offset)))
}

// listing chooses a statement that a small index serves, if all states that are asked for are in it.
func (s *Store) listing(states []dedupe.State) (guard, sql string) {
	within := func(index ...dedupe.State) bool {
		return len(states) > 0 &&
			!slices.ContainsFunc(states, func(state dedupe.State) bool { return !slices.Contains(index, state) })
	}
	switch {
	case within(dedupe.Retryable, dedupe.Dead):
		return lookupGuard, s.sql.listWaiting
	case within(dedupe.Claimed):
		return lookupGuard, s.sql.listClaimed
	case within(dedupe.Queued):
		return lookupGuard, s.sql.listQueued
	default:
		return scanGuard, s.sql.list
	}
}

// filterScope is the ID of a scope, 0 for none. One that the ledger does not know has no receipts.
func (s *Store) filterScope(ctx context.Context, scope delivery.Scope) (id int32, known bool, err error) {
	if scope == "" {
		return 0, true, nil
	}
	ids, err := s.names.find(ctx, scopeOf(scope))
	id, known = ids[scopeOf(scope)]
	return id, known && err == nil, err
}

// Attention implements dedupe.Archive.
func (s *Store) Attention(ctx context.Context) ([]dedupe.Attention, error) {
	var list []dedupe.Attention
	var ids []nameID
	err := s.run(ctx, call{
		guard: lookupGuard, sql: s.sql.attention,
		begin: func() { list, ids = nil, nil },
		scan: func(rows pgx.Rows) error {
			var one dedupe.Attention
			var state int16
			var age int64
			scope := nameID{kind: scopeName}
			err := rows.Scan(&scope.id, &state, &one.Count, &age)
			one.State, one.Oldest = dedupe.State(state), time.Duration(age)*time.Microsecond
			list, ids = append(list, one), append(ids, scope)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	scopes, err := s.names.tellAll(ctx, ids)
	for i, id := range ids {
		list[i].Scope = delivery.Scope(scopes[id].a)
	}
	return list, err
}

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	scopesSQL = `SELECT n.a FROM {schema}.names n WHERE n.kind = 1 ORDER BY n.a`

	// Each scope that has rows is looked up once, not each row.
	straysSQL = `WITH RECURSIVE r(id) AS (
    (SELECT q.scope_id FROM {schema}.receipts q ORDER BY q.scope_id LIMIT 1)
    UNION ALL SELECT (SELECT q.scope_id FROM {schema}.receipts q WHERE q.scope_id > r.id ORDER BY q.scope_id LIMIT 1)
    FROM r WHERE r.id IS NOT NULL
), e(id) AS (
    (SELECT q.scope_id FROM {schema}.evidence q ORDER BY q.scope_id LIMIT 1)
    UNION ALL SELECT (SELECT q.scope_id FROM {schema}.evidence q WHERE q.scope_id > e.id ORDER BY q.scope_id LIMIT 1)
    FROM e WHERE e.id IS NOT NULL
), c(id) AS (
    (SELECT q.scope_id FROM {schema}.checkpoints q ORDER BY q.scope_id LIMIT 1)
    UNION ALL SELECT (SELECT q.scope_id FROM {schema}.checkpoints q WHERE q.scope_id > c.id ORDER BY q.scope_id LIMIT 1)
    FROM c WHERE c.id IS NOT NULL
)
SELECT count(*) FROM (SELECT id FROM r UNION SELECT id FROM e UNION SELECT id FROM c) s
WHERE s.id IS NOT NULL AND (SELECT n.id FROM {schema}.names n WHERE n.kind = 1 AND n.id = s.id LIMIT 1) IS NULL`

	// There is always a row.
	endsSQL = `SELECT coalesce(c.number, 0), c.at, coalesce(c.oldest, 0), c.previous, c.sum, ''::bytea,
    coalesce((SELECT e.checkpoint FROM {schema}.evidence e
        WHERE e.scope_id = $1 AND e.checkpoint > 0 ORDER BY e.checkpoint LIMIT 1), 0),
    coalesce((SELECT e.checkpoint FROM {schema}.evidence e
        WHERE e.scope_id = $1 AND e.checkpoint > 0 ORDER BY e.checkpoint DESC LIMIT 1), 0)
FROM (SELECT 1) one LEFT JOIN (
    SELECT * FROM {schema}.checkpoints c WHERE c.scope_id = $1 ORDER BY c.number DESC LIMIT 1
) c ON true`

	chainSQL = `SELECT c.number, c.at, c.oldest, c.previous, c.sum, c.leaves FROM {schema}.checkpoints c
WHERE c.scope_id = $1 AND c.number >= $2 ORDER BY c.number LIMIT $3`

	// There is always a row, to tell the time. It is told when the rows are looked at: what is not there by then may have been
	// forgotten after the transaction began.
	markedFrom = `SELECT clock_timestamp(), m.id, m.event_id, m.until, m.sum, coalesce(m.orphan, false)
FROM (SELECT 1) one LEFT JOIN (
    SELECT e.id, e.event_id, e.until, e.sum,
        (SELECT r.state FROM {schema}.receipts r WHERE r.scope_id = e.scope_id AND r.event_id = e.event_id LIMIT 1) IS NULL
        AND NOT ` + leftOver + ` AS orphan
    FROM {schema}.evidence e
    WHERE e.scope_id = $1 AND e.id > $2 AND `
	markedRest = ` ORDER BY e.id LIMIT $3
) m ON true ORDER BY m.id`
	unmarkedSQL = markedFrom + `e.checkpoint = 0 AND e.sum <> ''::bytea` + markedRest
	markedSQL   = markedFrom + `e.checkpoint = $4 AND e.checkpoint > 0` + markedRest

	// The recorded response is left out.
	historySQL = `SELECT ` + evidenceColumns + `, r.chain, r.state, r.created, r.changed, r.due, r.scope_id, r.origin_id, r.reason_id,
    r.attempt, r.status, r.on_expiry, r.job, r.token, r.fingerprint, r.event_id, r.trace, r.binding, r.object,
    ''::bytea, ''::bytea
FROM (
    SELECT * FROM {schema}.receipts q WHERE q.scope_id = $1 AND q.event_id > $2 ORDER BY q.event_id LIMIT $3
) r LEFT JOIN LATERAL (
    SELECT * FROM {schema}.evidence e WHERE e.scope_id = r.scope_id AND e.event_id = r.event_id ORDER BY e.id
) e ON true
ORDER BY r.event_id, e.id`
)

var _ dedupe.Histories = (*Store)(nil)

// Scopes implements dedupe.Histories.
func (s *Store) Scopes(ctx context.Context) ([]delivery.Scope, error) {
	return s.scopes(ctx, s.sql.scopes)
}

// Strays implements dedupe.Histories.
func (s *Store) Strays(ctx context.Context) (count int64, err error) {
	err = s.run(ctx, call{guard: lookupGuard, sql: s.sql.strays, scan: func(rows pgx.Rows) error { return rows.Scan(&count) }})
	return count, err
}

// Ends implements dedupe.Trail.
func (s *Store) Ends(ctx context.Context, scope delivery.Scope) (dedupe.Ends, error) {
	var ends dedupe.Ends
	id, err := s.scopeID(ctx, scope)
	if err != nil {
		return ends, err
	}
	err = s.run(ctx, call{guard: lookupGuard, sql: s.sql.ends, args: []any{id}, scan: func(rows pgx.Rows) error {
		return scanCheckpoint(rows, scope, &ends.Newest, &ends.First, &ends.Last)
	}})
	return ends, err
}

// Chain implements dedupe.Trail.
func (s *Store) Chain(ctx context.Context, scope delivery.Scope, from int64, limit int) ([]dedupe.Checkpoint, error) {
	id, err := s.scopeID(ctx, scope)
	if err != nil {
		return nil, err
	}
	var chain []dedupe.Checkpoint
	err = s.run(ctx, call{
		guard: lookupGuard, sql: s.sql.chain, args: []any{id, from, int64(limit)},
		begin: func() { chain = nil },
		scan: func(rows pgx.Rows) error {
			var c dedupe.Checkpoint
			err := scanCheckpoint(rows, scope, &c)
			chain = append(chain, c)
			return err
		},
	})
	return chain, err
}

// scanCheckpoint reads a checkpoint; more are the columns behind it.
func scanCheckpoint(rows pgx.Rows, scope delivery.Scope, c *dedupe.Checkpoint, more ...any) error {
	var at pgtype.Timestamptz
	var previous, sum []byte
	err := rows.Scan(append([]any{&c.Number, &at, &c.Oldest, &previous, &sum, &c.Leaves}, more...)...)
	c.Scope, c.At = scope, at.Time.UTC()
	if previous != nil {
		c.Previous, c.Sum = dedupe.SealOf(previous), dedupe.SealOf(sum)
	}
	return err
}

// Marked implements dedupe.Trail.
func (s *Store) Marked(ctx context.Context, scope delivery.Scope, number, after int64, limit int) (dedupe.Sealables, error) {
	id, err := s.scopeID(ctx, scope)
	if err != nil {
		return dedupe.Sealables{}, err
	}
	sql, args := s.sql.unmarked, []any{id, after, int64(limit)}
	if number > 0 {
		sql, args = s.sql.marked, append(args, number)
	}
	var marked dedupe.Sealables
	err = s.run(ctx, call{
		guard: lookupGuard, sql: sql, args: args,
		begin: func() { marked = dedupe.Sealables{} },
		scan: func(rows pgx.Rows) error {
			row, found, err := scanSealable(rows, &marked.Now)
			if found {
				marked.Rows = append(marked.Rows, row)
			}
			return err
		},
	})
	return marked, err
}

func scanSealable(rows pgx.Rows, now *time.Time) (row dedupe.Sealable, found bool, err error) {
	var id pgtype.Int8
	var until pgtype.Timestamptz
	var event, sum []byte
	err = rows.Scan(now, &id, &event, &until, &sum, &row.Orphan)
	row.ID, row.EventID, row.Until, row.Sum = id.Int64, delivery.EventID(event), ended(until), dedupe.SumOf(sum)
	return row, id.Valid, err
}

// History implements dedupe.Histories.
func (s *Store) History(ctx context.Context, scope delivery.Scope, after delivery.EventID, limit int) ([]dedupe.History, error) {
	id, err := s.scopeID(ctx, scope)
	if err != nil {
		return nil, err
	}
	var page history
	err = s.run(ctx, call{
		guard: lookupGuard, sql: s.sql.history, args: []any{id, bytesOf(string(after)), int64(limit)},
		begin: func() { page = history{} }, scan: page.scan,
	})
	if err != nil {
		return nil, err
	}
	return page.tell(ctx, s)
}

// history is a page of receipts, and the rows of evidence of all of them.
type history struct {
	receipts []stored
	heads    []dedupe.Sum
	told     []toldRow
	owners   []int // whose the rows of evidence are
}

func (h *history) scan(rows pgx.Rows) error {
	var receipt stored
	var told toldRow
	var head []byte
	if err := receipt.scan(rows, append(told.columns(), &head)...); err != nil {
		return err
	}
	last := len(h.receipts) - 1
	if last < 0 || string(h.receipts[last].event) != string(receipt.event) {
		h.receipts, h.heads = append(h.receipts, receipt), append(h.heads, dedupe.SumOf(head))
		last++
	}
	if told.at.Valid {
		h.told, h.owners = append(h.told, told), append(h.owners, last)
	}
	return nil
}

func (h *history) tell(ctx context.Context, s *Store) ([]dedupe.History, error) {
	rows, err := s.rows(ctx, h.receipts)
	if err != nil {
		return nil, err
	}
	told, err := s.told(ctx, h.told)
	if err != nil {
		return nil, err
	}
	page := make([]dedupe.History, len(rows))
	for i := range rows {
		page[i].Row, page[i].Head = rows[i], h.heads[i]
	}
	for i, owner := range h.owners {
		page[owner].Evidence = append(page[owner].Evidence, told[i])
	}
	return page, nil
}

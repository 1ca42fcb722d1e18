package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// A page is read in the order of the primary key. Its rows are cut off behind the first that brings them to so many bytes;
// until then a value that is stored apart is not fetched.
const (
	keptRequestsSQL = `SELECT p.scope_id, p.event_id, p.request FROM (
    SELECT j.*, sum(length(j.request)) OVER (ORDER BY j.scope_id, j.event_id) AS upto FROM (
        SELECT j.scope_id, j.event_id, j.request FROM {schema}.jobs j
        WHERE (j.scope_id, j.event_id) > ($1::integer, $2::bytea) ORDER BY j.scope_id, j.event_id LIMIT $3
    ) j
) p WHERE p.upto - length(p.request) < $4 ORDER BY p.scope_id, p.event_id`

	keptResultsSQL = `SELECT p.scope_id, p.event_id, p.status, p.head, p.body FROM (
    SELECT r.*, sum(length(r.body)) OVER (ORDER BY r.scope_id, r.event_id) AS upto FROM (
        SELECT r.scope_id, r.event_id, r.status, r.head, r.body FROM {schema}.receipts r
        WHERE (r.scope_id, r.event_id) > ($1::integer, $2::bytea) ORDER BY r.scope_id, r.event_id LIMIT $3
    ) r
) p WHERE p.upto - length(p.body) < $4 ORDER BY p.scope_id, p.event_id`

	// What was changed meanwhile has another hash and stays.
	rewriteRequestsSQL = `UPDATE {schema}.jobs j SET request = i.request
FROM unnest($1::integer[], $2::bytea[], $3::bytea[], $4::bytea[]) WITH ORDINALITY AS i(scope_id, event_id, version, request, n)
WHERE j.scope_id = i.scope_id AND j.event_id = i.event_id AND sha256(j.request) = i.version
RETURNING i.n`

	rewriteResultsSQL = `UPDATE {schema}.receipts r SET head = i.head, body = i.body
FROM unnest($1::integer[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[]) WITH ORDINALITY
    AS i(scope_id, event_id, version, head, body, n)
WHERE r.scope_id = i.scope_id AND r.event_id = i.event_id
    AND sha256(int8send(length(r.head)) || r.head || r.body) = i.version
RETURNING i.n`
)

var errCursor = errors.New("postgres: a cursor that Kept did not return")

// Kept implements dedupe.Vault.
func (s *Store) Kept(ctx context.Context, kind dedupe.VaultKind, after string, limit, bytes int) (dedupe.VaultPage, error) {
	scope, event, err := placeOf(after)
	if err != nil {
		return dedupe.VaultPage{}, err
	}
	page := vaultPage{kind: kind}
	sql := s.sql.keptRequests
	if kind == dedupe.KeptResults {
		sql = s.sql.keptResults
	}
	err = s.run(ctx, call{
		guard: lookupGuard, sql: sql, args: []any{scope, event, int64(limit), int64(max(1, bytes))},
		begin: func() { page = vaultPage{kind: kind} }, scan: page.scan,
	})
	if err != nil {
		return dedupe.VaultPage{}, err
	}
	told, err := s.names.tellAll(ctx, page.scopes)
	for i := range page.items {
		page.items[i].Scope = delivery.Scope(told[page.scopes[i]].a)
	}
	return dedupe.VaultPage{Items: page.items, Next: page.next}, err
}

// placeOf reads a cursor: the key of the last row that was looked at, with its scope as the database knows it.
func placeOf(cursor string) (scope int32, event []byte, err error) {
	if cursor == "" {
		return math.MinInt32, []byte{}, nil
	}
	raw, err := hex.DecodeString(cursor)
	if err != nil || len(raw) < 4 {
		return 0, nil, errCursor
	}
	return int32(binary.BigEndian.Uint32(raw)), raw[4:], nil
}

// vaultPage is a page as it is read.
type vaultPage struct {
	kind   dedupe.VaultKind
	items  []dedupe.VaultItem
	scopes []nameID // of the items
	next   string
}

func (p *vaultPage) scan(rows pgx.Rows) error {
	var scope int32
	var item dedupe.VaultItem
	var event []byte
	var kept bool
	var err error
	if p.kind == dedupe.KeptRequests {
		kept, err = p.scanRequest(rows, &scope, &event, &item)
	} else {
		kept, err = p.scanResult(rows, &scope, &event, &item)
	}
	if err != nil {
		return err
	}
	p.next = hex.EncodeToString(append(binary.BigEndian.AppendUint32(nil, uint32(scope)), event...))
	if kept {
		item.EventID = delivery.EventID(event)
		p.items, p.scopes = append(p.items, item), append(p.scopes, nameID{scopeName, scope})
	}
	return nil
}

func (p *vaultPage) scanRequest(rows pgx.Rows, scope *int32, event *[]byte, item *dedupe.VaultItem) (bool, error) {
	var packed []byte
	if err := rows.Scan(scope, event, &packed); err != nil {
		return false, err
	}
	version := sha256.Sum256(packed)
	item.Version, item.Job = version[:], keptJob(packed)
	return true, nil
}

// scanResult is false for a receipt without a recorded body.
func (p *vaultPage) scanResult(rows pgx.Rows, scope *int32, event *[]byte, item *dedupe.VaultItem) (bool, error) {
	var status int16
	var head, body []byte
	if err := rows.Scan(scope, event, &status, &head, &body); err != nil || len(head) == 0 || len(body) == 0 {
		return false, err
	}
	version := sha256.New()
	version.Write(binary.BigEndian.AppendUint64(nil, uint64(len(head))))
	version.Write(head)
	version.Write(body)
	item.Version, item.Response = version.Sum(nil), keptResponse(int(status), head, body)
	return true, nil
}

// Rewrite implements dedupe.Vault.
func (s *Store) Rewrite(ctx context.Context, kind dedupe.VaultKind, items []dedupe.VaultItem) ([]bool, error) {
	made := make([]bool, len(items))
	if len(items) == 0 {
		return made, nil
	}
	keys := make([]dedupe.Key, len(items))
	var versions, heads, values [][]byte
	for i := range items {
		keys[i] = items[i].Key
		versions = append(versions, items[i].Version)
		if kind == dedupe.KeptRequests {
			values = append(values, packJob(items[i].Job))
			continue
		}
		heads, values = append(heads, packHead(items[i].Response)), append(values, items[i].Response.Body)
	}
	scopes, events, err := s.keys(ctx, keys)
	if err != nil {
		return nil, err
	}
	sql, args := s.sql.rewriteRequests, []any{scopes, events, versions, values}
	if kind == dedupe.KeptResults {
		sql, args = s.sql.rewriteResults, []any{scopes, events, versions, heads, values}
	}
	err = s.run(ctx, call{
		guard: keyGuard, sql: sql, args: args, rows: len(items), begin: func() { clear(made) },
		scan: func(rows pgx.Rows) error {
			var n int64
			err := rows.Scan(&n)
			if err == nil {
				made[n-1] = true
			}
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

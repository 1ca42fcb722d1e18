package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	selectKeptRequests = `SELECT receipts.id, scope, event_id, method, target, host, header, body FROM jobs
		JOIN receipts ON receipts.id = jobs.receipt WHERE jobs.receipt > ? ORDER BY jobs.receipt LIMIT ?`

	selectKeptResults = `SELECT id, scope, event_id, status, response_header, response_body, omitted <> 0 FROM receipts
		WHERE id > ? ORDER BY id LIMIT ?`

	selectRequestOf = `SELECT receipts.id, scope, event_id, method, target, host, header, body FROM jobs
		JOIN receipts ON receipts.id = jobs.receipt WHERE scope = ? AND event_id = ?`

	selectResultOf = `SELECT id, scope, event_id, status, response_header, response_body, omitted <> 0 FROM receipts
		WHERE scope = ? AND event_id = ?`

	rewriteRequest = `UPDATE jobs SET method = ?, target = ?, host = ?, header = ?, body = ? WHERE receipt = ?`

	rewriteResult = `UPDATE receipts SET response_header = ?, response_body = ?, omitted = ? WHERE id = ?`
)

// Kept implements dedupe.Vault. A cursor is the number of the last row that was looked at.
func (s *Store) Kept(ctx context.Context, kind dedupe.VaultKind, after string, limit, bytes int) (dedupe.VaultPage, error) {
	last := int64(0)
	if after != "" {
		var err error
		if last, err = strconv.ParseInt(after, 10, 64); err != nil {
			return dedupe.VaultPage{}, errors.New("a cursor that Kept did not return")
		}
	}
	query := selectKeptRequests
	if kind == dedupe.KeptResults {
		query = selectKeptResults
	}
	rows, err := s.db.QueryContext(ctx, query, last, limit)
	if err != nil {
		return dedupe.VaultPage{}, err
	}
	defer rows.Close()
	var page dedupe.VaultPage
	for held := 0; held < max(1, bytes) && rows.Next(); {
		id, item, size, err := scanKept(rows, kind)
		if err != nil {
			return dedupe.VaultPage{}, err
		}
		page.Next = strconv.FormatInt(id, 10)
		if size > 0 {
			page.Items, held = append(page.Items, item), held+size
		}
	}
	return page, rows.Err()
}

// scanKept reads one value and tells its size; 0: the receipt has no recorded body.
func scanKept(from scanner, kind dedupe.VaultKind) (id int64, item dedupe.VaultItem, size int, err error) {
	if kind == dedupe.KeptRequests {
		var method, target, host, header, body []byte
		if err = from.Scan(&id, &item.Scope, &item.EventID, &method, &target, &host, &header, &body); err != nil {
			return 0, item, 0, err
		}
		item.Version = versionOf(method, target, host, header, body)
		item.Job = kept(method, target, host, header, body)
		return id, item, 1 + len(body), nil
	}
	var status int
	var header, body []byte
	var omitted bool
	err = from.Scan(&id, &item.Scope, &item.EventID, &status, &header, &body, &omitted)
	if err != nil || header == nil || len(body) == 0 {
		return id, item, 0, err
	}
	item.Version = versionOf(header, body, strconv.AppendBool(nil, omitted))
	item.Response = response(status, header, body, omitted)
	return id, item, len(body), nil
}

func versionOf(parts ...[]byte) []byte {
	sum := delivery.HashParts(parts...)
	return sum[:]
}

// kept is a request of its columns.
func kept(method, target, host, header, body []byte) *dedupe.Job {
	fields, err := decodeHeader(header)
	if err != nil {
		return dedupe.DamagedJob()
	}
	return &dedupe.Job{Method: string(method), Target: string(target), Host: string(host), Header: fields, Body: body}
}

// Rewrite implements dedupe.Vault.
func (s *Store) Rewrite(ctx context.Context, kind dedupe.VaultKind, items []dedupe.VaultItem) ([]bool, error) {
	made := make([]bool, len(items))
	if len(items) == 0 {
		return made, nil
	}
	err := s.transact(ctx, len(items), func(tx *sql.Tx, _ time.Time) error {
		for i := range items {
			var err error
			if made[i], err = rewrite(ctx, tx, kind, &items[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// rewrite replaces one value that is still as it was.
func rewrite(ctx context.Context, tx *sql.Tx, kind dedupe.VaultKind, item *dedupe.VaultItem) (bool, error) {
	query := selectRequestOf
	if kind == dedupe.KeptResults {
		query = selectResultOf
	}
	id, was, size, err := scanKept(tx.QueryRowContext(ctx, query, item.Scope, item.EventID), kind)
	if errors.Is(err, sql.ErrNoRows) || err == nil && (size == 0 || !bytes.Equal(was.Version, item.Version)) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if kind == dedupe.KeptRequests {
		j := item.Job
		_, err = tx.ExecContext(ctx, rewriteRequest, blob(j.Method), blob(j.Target), blob(j.Host), encodeHeader(j.Header), blob(j.Body), id)
		return true, err
	}
	r := item.Response
	_, err = tx.ExecContext(ctx, rewriteResult, encodeHeader(r.Header), r.Body, r.Omitted, id)
	return true, err
}

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// prefillBatch is how many receipts one transaction adds.
const prefillBatch = 250_000

// prefill copies the one applied receipt of a namespace until there are count more, with IDs that are spread evenly over
// all IDs in ascending order, which is quick, and with fingerprints and tokens of their own.
func (v *services) prefill(s *stage, namespace string, count int) {
	schema, began := "sidecar_"+namespace, time.Now()
	statement := prefillStatement(v.columns(s, schema), schema)
	for from := 0; from < count; from += prefillBatch {
		_, err := v.conn.Exec(s.ctx, statement, pgx.QueryExecModeSimpleProtocol, int64(from), int64(min(from+prefillBatch, count)-1), int64(count))
		s.must("prefilling", err)
	}
	for _, statement := range []string{"VACUUM (ANALYZE) " + schema + ".receipts", "CHECKPOINT"} {
		_, err := v.conn.Exec(s.ctx, statement, pgx.QueryExecModeSimpleProtocol)
		s.must(statement, err)
	}
	s.say("%s: %d receipts prefilled in %.0f s\n", namespace, count, time.Since(began).Seconds())
}

func (v *services) columns(s *stage, schema string) []string {
	rows, err := v.conn.Query(s.ctx, `SELECT column_name::text FROM information_schema.columns
		WHERE table_schema = $1 AND table_name = 'receipts' ORDER BY ordinal_position`, schema)
	s.must("the columns of the receipts", err)
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	s.must("the columns of the receipts", err)
	return columns
}

// prefillStatement takes the numbers of the first and the last receipt, and how many there will be: $1, $2, $3.
func prefillStatement(columns []string, schema string) string {
	// The nth of N IDs begins with the hexadecimal digits of n/N of 2^64, taken as a signed number.
	const high = `lpad(to_hex((CASE WHEN n < $3 / 2 THEN n ELSE n - $3 END) * (9223372036854775807 / $3 * 2)), 16, '0')`
	own := map[string]string{
		"event_id":    `convert_to('evt_' || ` + high + ` || substr(md5(n::text), 1, 8), 'UTF8')`,
		"token":       `decode(md5('token' || n), 'hex')`,
		"fingerprint": `sha256(convert_to(n::text, 'UTF8'))`,
	}
	return copying(columns, schema, own)
}

// copying is a statement that copies the first receipt for each n from $1 to $2, but for some columns.
func copying(columns []string, schema string, own map[string]string) string {
	values := make([]string, len(columns))
	for i, column := range columns {
		values[i] = "one." + column
		if value, found := own[column]; found {
			values[i] = value
		}
	}
	return fmt.Sprintf(`INSERT INTO %[1]s.receipts (%[2]s) SELECT %[3]s
		FROM generate_series($1::bigint, $2::bigint) AS n, (SELECT * FROM %[1]s.receipts ORDER BY created LIMIT 1) AS one`,
		schema, strings.Join(columns, ", "), strings.Join(values, ", "))
}

// prefillAging copies the one applied receipt of a namespace in the order of time, from and up to a time when they may be
// forgotten, with IDs in no order. The numbers from to from+count-1 must not have been used before.
func (v *services) prefillAging(s *stage, namespace string, from, count int, since, until time.Time) {
	schema := "sidecar_" + namespace
	statement := copying(v.columns(s, schema), schema, map[string]string{
		"event_id":    `convert_to('evt_' || substr(md5('event' || n), 1, 24), 'UTF8')`,
		"token":       `decode(md5('token' || n), 'hex')`,
		"fingerprint": `sha256(convert_to(n::text, 'UTF8'))`,
		"due":         `$3::timestamptz + (n - $4::bigint) * $5::bigint * interval '1 microsecond'`,
	})
	each := until.Sub(since).Microseconds() / int64(max(1, count))
	for at := from; at < from+count; at += prefillBatch {
		last := min(at+prefillBatch, from+count) - 1
		_, err := v.conn.Exec(s.ctx, statement, pgx.QueryExecModeSimpleProtocol, int64(at), int64(last), since, int64(from), each)
		s.must("prefilling", err)
	}
}

package postgres

import (
	"encoding/base32"
	"encoding/binary"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// maxReceiptBytes is the promise: an applied receipt with an ID of 30 bytes, a result of 11 bytes and a content type, in
// heap and all indexes, after vacuum.
const maxReceiptBytes = 320

// Receipts are as small as promised while the ledger grows and is vacuumed as autovacuum does. IDs come in no order, as
// senders' do.
func TestReceiptIsSmall(t *testing.T) {
	const rounds, round, size = 25, 4096, 64
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	for i := range rounds {
		for j := 0; j < round; j += size {
			rows := make([]dedupe.NewRow, size)
			for k := range rows {
				rows[k] = claimed(scattered(i*round + j + k))
			}
			insert(t, s, rows...)
			move(t, s, moves(rows)...)
		}
		exec(t, conn, "VACUUM sidecar_test.receipts")
	}
	count := ask[int64](t, conn, "SELECT count(*) FROM sidecar_test.receipts")
	total := ask[int64](t, conn, "SELECT pg_total_relation_size('sidecar_test.receipts')")
	report(t, conn, float64(count))
	t.Logf("%d receipts, %.1f bytes each", count, float64(total)/float64(count))
	if total > maxReceiptBytes*count {
		t.Errorf("a receipt takes %.1f bytes, promised are %d", float64(total)/float64(count), maxReceiptBytes)
	}
}

// scattered is an ID of 30 bytes.
func scattered(n int) string {
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], uint64(n))
	sum := delivery.HashParts(number[:])
	return "evt_" + base32.StdEncoding.EncodeToString(sum[:17])[:26]
}

func report(t *testing.T, conn *pgx.Conn, count float64) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT relname, pg_relation_size(oid) FROM pg_class
		WHERE relnamespace = 'sidecar_test'::regnamespace AND relname LIKE 'receipts%' AND relkind IN ('r', 'i')
		ORDER BY 2 DESC`)
	if err != nil {
		t.Fatal(err)
	}
	var name string
	var size int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &size}, func() error {
		t.Logf("%-20s %6.1f bytes a receipt", name, float64(size)/count)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

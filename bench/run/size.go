package main

import (
	"github.com/jackc/pgx/v5"
)

const (
	sizeBatch   = 10_000 // events between two VACUUMs
	sizeBatches = 10
)

// receiptSize is what an applied receipt takes, in bytes.
type receiptSize struct {
	Receipts    int64
	Heap, Index float64 // of the receipts' table, after VACUUM
	Others      float64 // the other tables of the schema
	Rewritten   float64 // all of it after VACUUM FULL: without the room that VACUUM leaves for reuse
}

// total is everything after VACUUM.
func (r receiptSize) total() float64 { return r.Heap + r.Index + r.Others }

// measureSize fills a ledger of its own, with VACUUM coming by as autovacuum does where it keeps up. IDs come in no
// order, so pages of the index are as full as splits leave them. The events name no business object: one takes a byte more
// than its length.
func (b *bench) measureSize(program, collector string) *receiptSize {
	const namespace = "size"
	sidecar := b.sidecar(sidecarConfig{name: "sidecar for sizes", program: program, namespace: namespace, upstream: b.app.address,
		database: b.database, redis: b.redis}, collector)
	b.awaitLedger(b.generator, sidecar.address, 0)
	for i := range uint64(sizeBatches) {
		b.applyEach(b.generator, job{address: sidecar.address, connections: 64, seed: 3, first: i * sizeBatch, count: sizeBatch, nameless: true})
		b.vacuum(namespace, "ANALYZE")
	}
	sidecar.end()
	return b.size(namespace)
}

func (b *bench) vacuum(namespace, how string) {
	_, err := b.conn.Exec(b.ctx, "VACUUM ("+how+") sidecar_"+namespace+".receipts", pgx.QueryExecModeSimpleProtocol)
	b.must("VACUUM", err)
}

func (b *bench) size(namespace string) *receiptSize {
	schema := "sidecar_" + namespace
	var r receiptSize
	b.must("the receipts", b.conn.QueryRow(b.ctx, "SELECT count(*) FROM "+schema+".receipts", pgx.QueryExecModeSimpleProtocol).Scan(&r.Receipts))
	r.Heap, r.Index, r.Others = b.sizes(schema, r.Receipts)
	b.vacuum(namespace, "FULL")
	heap, index, others := b.sizes(schema, r.Receipts)
	r.Rewritten = heap + index + others
	return &r
}

// sizes are in bytes per receipt.
func (b *bench) sizes(schema string, receipts int64) (heap, index, others float64) {
	var sizes [3]int64
	b.must("the size of the ledger", b.conn.QueryRow(b.ctx, `SELECT
		pg_table_size($1::regclass), pg_indexes_size($1::regclass),
		(SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
		 WHERE c.relnamespace = $2::regnamespace AND c.relkind = 'r' AND c.oid <> $1::regclass)`,
		schema+".receipts", schema).Scan(&sizes[0], &sizes[1], &sizes[2]))
	each := func(size int64) float64 { return float64(size) / max(1, float64(receipts)) }
	return each(sizes[0]), each(sizes[1]), each(sizes[2])
}

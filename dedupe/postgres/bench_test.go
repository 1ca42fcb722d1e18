package postgres

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// BenchmarkInsertAndMove claims and settles in batches of 64, as a busy replica does, with fsync on.
func BenchmarkInsertAndMove(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) { benchmark(b, size) })
	}
}

func benchmark(b *testing.B, size int) {
	cluster := testenv.NewCluster(b, testenv.ClusterConfig{Fsync: true})
	s := open(b, cluster.Database(b), nil)
	insert(b, s, claimed("first"))
	var next atomic.Int64
	before := cluster.CPU(b)
	b.ResetTimer()
	b.SetParallelism(2)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			rows := batch(fmt.Sprintf("evt_%08x_", uint32(next.Add(1))*2654435761), 0, size)
			insert(b, s, rows...)
			move(b, s, moves(rows)...)
		}
	})
	b.StopTimer()
	events := float64(b.N * size)
	b.ReportMetric(events/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64((cluster.CPU(b)-before).Microseconds())/events, "µs-server-cpu/event")
}

// BenchmarkForget forgets receipts whose time is over, in batches as the sweeper does, with fsync on and half of them with
// evidence.
func BenchmarkForget(b *testing.B) {
	const size = 500
	cluster := testenv.NewCluster(b, testenv.ClusterConfig{Fsync: true})
	dsn := cluster.Database(b)
	s, conn := open(b, dsn, nil), connect(b, dsn)
	insert(b, s, claimed("first"))
	overdue(b, conn, 0, size*b.N)
	before := cluster.CPU(b)
	b.ResetTimer()
	for range b.N {
		if receipts, _, err := s.Forget(b.Context(), size); err != nil || receipts != size {
			b.Fatalf("forgot %d: %v", receipts, err)
		}
	}
	b.StopTimer()
	receipts := float64(b.N * size)
	b.ReportMetric(receipts/b.Elapsed().Seconds(), "receipts/s")
	b.ReportMetric(float64((cluster.CPU(b)-before).Microseconds())/receipts, "µs-server-cpu/receipt")
}

// overdue makes applied receipts whose time is over since some minutes; every second one has evidence.
func overdue(t testing.TB, conn *pgx.Conn, from, count int) {
	t.Helper()
	exec(t, conn, `INSERT INTO sidecar_test.receipts
		SELECT now(), now(), now() - interval '1 minute' * (1 + i % 1000 / 200.0), 1, 1, 0, 1, 4, 200, 0, 0,
		       decode(md5(i::text), 'hex'), sha256(int8send(i)), convert_to('over_' || md5(i::text), 'UTF8'), '', '', '', '\x01', 'ok'
		FROM generate_series($1::bigint + 1, $1::bigint + $2::bigint) i`, from, count)
	exec(t, conn, `INSERT INTO sidecar_test.evidence (at, scope_id, reason_id, attempt, from_state, to_state, status, event_id, actor, note)
		SELECT now(), 1, 1, 1, 1, 2, 503, convert_to('over_' || md5(i::text), 'UTF8'), 'replica', ''
		FROM generate_series($1::bigint + 2, $1::bigint + $2::bigint, 2) i`, from, count)
}

package postgres

import (
	"fmt"
	"sync/atomic"
	"testing"

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

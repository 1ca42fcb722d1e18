package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// services are what stands behind the proxies.
type services struct {
	database    string
	postgresPID int
	redis       string
	redisPID    int
	app         *process
	generator   string // of load: its program
	conn        *pgx.Conn
}

// startServices starts PostgreSQL as it is shipped (fsync on), Redis and the application.
func (s *stage) startServices() *services {
	cluster := testenv.NewCluster(s, testenv.ClusterConfig{Fsync: true})
	redis := testenv.NewRedis(s)
	v := &services{database: cluster.Database(s), redis: redis.URL()}
	var err error
	v.conn, err = pgx.Connect(s.ctx, v.database)
	s.must("PostgreSQL", err)
	s.Cleanup(func() { v.conn.Close(context.Background()) }) //nolint:contextcheck // the run's own may be over
	var backend int
	s.must("PostgreSQL", v.conn.QueryRow(s.ctx, "SELECT pg_backend_pid()").Scan(&backend))
	v.postgresPID, err = parentOf(backend)
	s.must("PostgreSQL's process", err)
	v.redisPID, err = redisPID(s.ctx, redis.Addr())
	s.must("Redis' process", err)
	v.generator = s.build("./bench/load", "load")
	address := s.freeAddress()
	v.app = s.launch("app", address, s.command(s.build("./bench/app", "app"), "-listen", address))
	return v
}

func parentOf(pid int) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	text := string(data)
	return strconv.Atoi(strings.Fields(text[strings.LastIndexByte(text, ')')+1:])[1])
}

func redisPID(ctx context.Context, address string) (int, error) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "INFO server\r\n"); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if text, found := strings.CutPrefix(lines.Text(), "process_id:"); found {
			return strconv.Atoi(text)
		}
	}
	return 0, fmt.Errorf("Redis does not say: %w", lines.Err())
}

// commitTime is the median time of a commit of one small row on one connection, as a client sees it.
func (v *services) commitTime(s *stage) time.Duration {
	_, err := v.conn.Exec(s.ctx, "CREATE TABLE IF NOT EXISTS commits (id uuid PRIMARY KEY, n int)")
	s.must("a table", err)
	times := make([]time.Duration, 200)
	for i := range times {
		start := time.Now()
		_, err := v.conn.Exec(s.ctx, "INSERT INTO commits VALUES (gen_random_uuid(), $1)", i)
		s.must("a commit", err)
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// receiptSize is what an applied receipt takes after VACUUM, in bytes.
type receiptSize struct {
	Receipts       int64
	Heap, Index    float64 // of the receipts' table
	Others         float64 // of the other tables of the schema
	Total          float64
	RewrittenTotal float64 // after VACUUM FULL: without the room that vacuum leaves for reuse
}

// size measures the ledger of a namespace. The IDs are in no order, so index pages are as full as splits leave them.
func (v *services) size(s *stage, namespace string) receiptSize {
	schema := "sidecar_" + namespace
	var r receiptSize
	vacuum := func(how string) (heap, index, others int64) {
		_, err := v.conn.Exec(s.ctx, "VACUUM ("+how+") "+schema+".receipts", pgx.QueryExecModeSimpleProtocol)
		s.must("VACUUM", err)
		s.must("the size of the ledger", v.conn.QueryRow(s.ctx, `SELECT
			pg_table_size($1::regclass), pg_indexes_size($1::regclass),
			(SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
			 WHERE c.relnamespace = $2::regnamespace AND c.relkind = 'r' AND c.oid <> $1::regclass)`,
			schema+".receipts", schema).Scan(&heap, &index, &others))
		return heap, index, others
	}
	s.must("the receipts", v.conn.QueryRow(s.ctx, "SELECT count(*) FROM "+schema+".receipts", pgx.QueryExecModeSimpleProtocol).Scan(&r.Receipts))
	if r.Receipts == 0 {
		s.Fatalf("there is no receipt to measure")
	}
	n := float64(r.Receipts)
	heap, index, others := vacuum("ANALYZE")
	r.Heap, r.Index, r.Others = float64(heap)/n, float64(index)/n, float64(others)/n
	r.Total = r.Heap + r.Index + r.Others
	heap, index, others = vacuum("FULL")
	r.RewrittenTotal = float64(heap+index+others) / n
	return r
}

package main

import (
	"bufio"
	"context"
	"errors"
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
func (s *stage) startServices() *services { return s.startShared().withServer(s) }

// startShared starts Redis and the application.
func (s *stage) startShared() *services {
	redis := testenv.NewRedis(s)
	v := &services{redis: redis.URL()}
	var err error
	v.redisPID, err = redisPID(s.ctx, redis.Addr())
	s.must("Redis' process", err)
	v.generator = s.build("./bench/load", "load")
	address := testenv.Address(s)
	v.app = s.launch("app", address, s.command(s.build("./bench/app", "app"), "-listen", address, "-slow", slowRoute))
	return v
}

// withServer is the same services with a PostgreSQL server of its own, so that what it uses is nobody else's.
func (v *services) withServer(s *stage) *services {
	own := *v
	own.database = testenv.NewCluster(s, testenv.ClusterConfig{Fsync: true}).Database(s)
	var err error
	own.conn, err = pgx.Connect(s.ctx, own.database)
	s.must("PostgreSQL", err)
	s.Cleanup(func() { own.conn.Close(context.Background()) }) //nolint:contextcheck // the run's own may be over
	var backend int
	s.must("PostgreSQL", own.conn.QueryRow(s.ctx, "SELECT pg_backend_pid()").Scan(&backend))
	own.postgresPID, err = parentOf(backend)
	s.must("PostgreSQL's process", err)
	return &own
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
	return 0, errors.Join(errors.New("INFO does not tell the process"), lines.Err())
}

// commits is how many transactions the database has committed so far. PostgreSQL's processes tell it with some delay.
func (v *services) commits(s *stage) float64 {
	var count int64
	s.must("the commits", v.conn.QueryRow(s.ctx, "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()").Scan(&count))
	return float64(count)
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

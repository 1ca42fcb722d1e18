// Command naive is deduplication as one would write it in an afternoon: verify, one INSERT, forward, one UPDATE, each
// request for itself. It shows what grouping and caching are worth. It is correct on the happy path only: a crash leaves
// an event claimed for ever.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

type settings struct {
	listen, upstream, database, secret string
	idle, pool                         int
}

func main() {
	var s settings
	flag.StringVar(&s.listen, "listen", "127.0.0.1:8082", "`address` to listen on")
	flag.StringVar(&s.upstream, "upstream", "http://127.0.0.1:8080", "`URL` of the application")
	flag.StringVar(&s.database, "database", "", "`URL` of PostgreSQL")
	flag.StringVar(&s.secret, "secret", "", "the sender's `secret`")
	flag.IntVar(&s.idle, "idle", 256, "idle `connections` kept to the application")
	flag.IntVar(&s.pool, "pool", 32, "`connections` to PostgreSQL")
	flag.Parse()
	fmt.Fprintln(os.Stderr, serve(context.Background(), s))
}

func serve(ctx context.Context, s settings) error {
	config, err := pgxpool.ParseConfig(s.database)
	if err != nil {
		return err
	}
	config.MaxConns, config.MinConns = int32(s.pool), int32(s.pool) //nolint:gosec // a small number
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	ledger, err := newLedger(ctx, pool)
	if err != nil {
		return err
	}
	transport := &http.Transport{MaxIdleConns: s.idle, MaxIdleConnsPerHost: s.idle, IdleConnTimeout: time.Minute}
	handler := &receiver{secret: []byte(s.secret), ledger: ledger, upstream: s.upstream, client: &http.Client{Transport: transport}}
	server := &http.Server{Addr: s.listen, Handler: handler, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

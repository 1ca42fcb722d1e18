// Command run is the benchmark: within one run it starts PostgreSQL, Redis, an application and everything that can stand
// in front of it, measures them in turn in several rounds, and tells ratios. Absolute numbers are the machine's; ratios
// within a run are the product's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// plan is how much is measured.
type plan struct {
	rounds      int
	window      time.Duration
	warm        time.Duration
	connections numbers
	only        words
	memoryLimit string
	report      string
	pool        int
	log         string

	scale   bool
	small   int
	large   int
	profile string
	backlog int
	behind  time.Duration
	expired int
}

func main() {
	p := parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := perform(ctx, os.Stdout, p)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // this is where the process ends
	}
}

func parse() plan {
	p := plan{connections: numbers{1, 64, 256}}
	flag.IntVar(&p.rounds, "rounds", 5, "how often everything is measured")
	flag.DurationVar(&p.window, "window", 2*time.Second, "length of one measurement")
	flag.DurationVar(&p.warm, "warm", 400*time.Millisecond, "load before a measurement")
	flag.Var(&p.connections, "connections", "comma-separated `numbers` of connections")
	flag.Var(&p.only, "only", "comma-separated `names` of what is measured; default everything")
	flag.StringVar(&p.memoryLimit, "memory-limit", "192MiB", "the sidecar's GOMEMLIMIT: what it takes of the chart's limit of 256 MiB")
	flag.StringVar(&p.report, "report", "", "`file` to write the report to")
	flag.IntVar(&p.pool, "pool", 32, "database connections of the naive variant")
	flag.StringVar(&p.log, "log", os.DevNull, "`file` that the sidecar logs to")
	flag.BoolVar(&p.scale, "scale", false, "compare a small ledger with a large one instead")
	flag.IntVar(&p.small, "small", 100_000, "receipts of the small ledger")
	flag.IntVar(&p.large, "large", 10_000_000, "receipts of the large ledger")
	flag.IntVar(&p.backlog, "backlog", 0, "compare working off stored events behind a backlog of so `many` with a short queue instead")
	flag.DurationVar(&p.behind, "behind", 2*time.Minute, "how long the longest measurement of -backlog runs behind one transaction")
	flag.IntVar(&p.expired, "retention", 0, "measure new events while so `many` receipts that have outlived their retention are forgotten instead")
	flag.StringVar(&p.profile, "profile", "", "write CPU profiles of the sidecar under load to this `directory` instead")
	flag.Parse()
	return p
}

// perform runs one kind of benchmark on a fresh stage and leaves nothing behind.
func perform(ctx context.Context, out io.Writer, p plan) (err error) {
	s := &stage{ctx: ctx, out: out, plan: p}
	defer func() {
		err = errors.Join(err, s.recovered(recover()))
		s.strike()
	}()
	switch {
	case p.profile != "":
		return profile(s)
	case p.scale:
		return scale(s)
	case p.backlog > 0:
		return backlog(s)
	case p.expired > 0:
		return retention(s)
	default:
		return compare(s)
	}
}

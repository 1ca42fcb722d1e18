// Command load delivers signed events over persistent connections of plain HTTP/1.1, each connection one delivery at a
// time, bounded in time or in number. It prints "measuring" when its window begins, "measured" when it ends, and one line
// of JSON with what it saw. It uses one thread, so that it takes little from what it measures.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

type settings struct {
	address, target, secret, want string
	seed, first, count, skip      uint64
	rate                          uint64
	connections, size             int
	shuffle, only, ordered        bool
	nameless                      bool
	warm, window                  time.Duration
}

// outcome is what is printed.
type outcome struct {
	Answers    int     `json:"answers"`     // in the window
	Failed     int     `json:"failed"`      // of them, not what was expected
	Example    string  `json:"example"`     // of a failure
	Delivered  uint64  `json:"delivered"`   // in all
	PerSecond  float64 `json:"per_second"`  // in the window
	P50Micros  float64 `json:"p50_micros"`  //
	P99Micros  float64 `json:"p99_micros"`  //
	LastFailed bool    `json:"last_failed"` // a connection ended with an error
}

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1) //nolint:forbidigo // this is where the process ends
	}
}

func start() error {
	var s settings
	flag.StringVar(&s.address, "address", "127.0.0.1:8700", "where to connect")
	flag.StringVar(&s.target, "target", "/webhooks/acme/payments", "request target")
	flag.StringVar(&s.secret, "secret", "", "signs the events")
	flag.StringVar(&s.want, "want", "", "the Sidecar-Receipt that every answer must have; empty: any")
	flag.Uint64Var(&s.seed, "seed", 1, "makes the IDs")
	flag.Uint64Var(&s.first, "first", 0, "number of the first event")
	flag.Uint64Var(&s.count, "count", 0, "how many events there are; 0: every delivery is another event")
	flag.Uint64Var(&s.skip, "skip", 0, "begin so many after the first")
	flag.BoolVar(&s.shuffle, "shuffle", false, "deliver the events in no order, not round and round")
	flag.BoolVar(&s.ordered, "ordered", false, "IDs rise")
	flag.BoolVar(&s.nameless, "nameless", false, "events name no business object")
	flag.Uint64Var(&s.rate, "rate", 0, "deliveries a second, evenly, as far as there are free connections; 0: as fast as answers come")
	flag.BoolVar(&s.only, "only", false, "deliver each of the events once, and end")
	flag.IntVar(&s.connections, "connections", 64, "connections, each one delivery at a time")
	flag.IntVar(&s.size, "size", 1024, "bytes of a body")
	flag.DurationVar(&s.warm, "warm", 400*time.Millisecond, "before the window")
	flag.DurationVar(&s.window, "window", 2*time.Second, "of measuring")
	flag.Parse()
	if s.only && s.count == 0 || s.connections < 1 || s.connections > 4096 || s.window > 10*time.Minute {
		return errors.New("-only needs -count; at most 4096 connections and ten minutes")
	}
	runtime.GOMAXPROCS(1)
	return deliver(context.Background(), s)
}

func deliver(ctx context.Context, s settings) error {
	r := &run{settings: s}
	clients := make([]*client, s.connections)
	for i := range clients {
		var err error
		if clients[i], err = r.connect(ctx); err != nil {
			return err
		}
	}
	if s.only {
		s.warm, s.window = 0, 10*time.Minute
	}
	r.began = time.Now()
	r.from = r.began.Add(s.warm)
	r.to = r.from.Add(s.window)
	err := r.all(clients, s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
	}
	result := r.sum(clients)
	result.LastFailed = err != nil
	return json.NewEncoder(os.Stdout).Encode(result)
}

// all lets every connection work, and says when the window begins and ends.
func (r *run) all(clients []*client, s settings) error {
	failures := make([]error, len(clients))
	var working sync.WaitGroup
	for i, c := range clients {
		working.Go(func() { failures[i] = c.work() })
	}
	if !s.only {
		<-time.After(time.Until(r.from))
		fmt.Fprintln(os.Stdout, "measuring")
		<-time.After(time.Until(r.to))
		fmt.Fprintln(os.Stdout, "measured")
	}
	working.Wait()
	if s.only {
		r.to = time.Now()
	}
	return errors.Join(failures...)
}

func (r *run) sum(clients []*client) outcome {
	var latencies []time.Duration
	result := outcome{Delivered: r.next.Load()}
	if r.settings.only {
		result.Delivered = min(result.Delivered, r.settings.count)
	}
	for _, c := range clients {
		c.conn.Close()
		latencies = append(latencies, c.tally.latencies...)
		result.Failed += c.tally.failed
		if result.Example == "" {
			result.Example = c.tally.example
		}
	}
	slices.Sort(latencies)
	result.Answers = len(latencies)
	result.PerSecond = float64(len(latencies)) / r.to.Sub(r.from).Seconds()
	result.P50Micros, result.P99Micros = quantile(latencies, 0.50), quantile(latencies, 0.99)
	return result
}

func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))].Nanoseconds()) / 1000
}

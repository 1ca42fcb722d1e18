package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

// job is one run of the load generator.
type job struct {
	address, target, want string
	connections           int
	seed                  uint64
	first, count, skip    uint64
	shuffle, only         bool
	ordered               bool          // IDs rise
	nameless              bool          // events name no business object
	rate                  uint64        // deliveries a second; 0: as fast as answers come
	window                time.Duration // 0: the plan's
}

// outcome is what the load generator saw.
type outcome struct {
	Answers    int     `json:"answers"`
	Failed     int     `json:"failed"`
	Example    string  `json:"example"`
	Delivered  uint64  `json:"delivered"`
	PerSecond  float64 `json:"per_second"`
	P50        float64 `json:"p50_micros"`
	P99        float64 `json:"p99_micros"`
	LastFailed bool    `json:"last_failed"`
}

func (j job) arguments(p plan) []string {
	window := p.window
	if j.window > 0 {
		window = j.window
	}
	arguments := []string{"-address", j.address, "-target", j.target, "-secret", secret, "-want", j.want,
		"-connections", strconv.Itoa(j.connections), "-warm", p.warm.String(), "-window", window.String()}
	for name, value := range map[string]uint64{"seed": j.seed, "first": j.first, "count": j.count, "skip": j.skip, "rate": j.rate} {
		arguments = append(arguments, "-"+name, strconv.FormatUint(value, 10))
	}
	return append(arguments, fmt.Sprintf("-shuffle=%t", j.shuffle), fmt.Sprintf("-only=%t", j.only), fmt.Sprintf("-ordered=%t", j.ordered),
		fmt.Sprintf("-nameless=%t", j.nameless))
}

// load runs the generator. Where the job has a window, the accounts of its begin and end are returned.
func (s *stage) load(program string, j job, atBegin, atEnd func()) (outcome, [2]account) {
	cmd := exec.CommandContext(s.ctx, program, j.arguments(s.plan)...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	s.must("the load", err)
	s.must("the load", cmd.Start())
	var accounts [2]account
	var result outcome
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch text := lines.Text(); text {
		case "measuring":
			accounts[0], err = readAccount()
			if atBegin != nil {
				atBegin()
			}
		case "measured":
			accounts[1], err = readAccount()
			if atEnd != nil {
				atEnd()
			}
		default:
			err = json.Unmarshal([]byte(text), &result)
		}
		s.must("the load", err)
	}
	if err := cmd.Wait(); err != nil {
		s.Fatalf("the load: %v: %s", err, complaint.String())
	}
	if result.LastFailed {
		result.Failed++
		result.Example = complaint.String()
	}
	return result, accounts
}

// apply delivers the events first to first+count-1, once each.
func (s *stage) apply(program, address string, seed, first, count uint64, connections int) {
	s.applyEach(program, job{address: address, connections: connections, seed: seed, first: first, count: count})
}

// applyEach delivers each event of a job once.
func (s *stage) applyEach(program string, j job) {
	j.target, j.only = route, true
	result, _ := s.load(program, j, nil, nil)
	if result.Failed > 0 {
		s.Fatalf("applying events: %d failed: %s", result.Failed, result.Example)
	}
}

// awaitLedger delivers one event until it is applied: a sidecar is ready before its database is.
func (s *stage) awaitLedger(program, address string, seed uint64) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		result, _ := s.load(program, job{address: address, target: route, connections: 1, seed: seed, count: 1, only: true}, nil, nil)
		if result.Failed == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("no event is applied: %s", result.Example)
		}
		s.pause(100 * time.Millisecond)
	}
}

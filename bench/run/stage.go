package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// stage is where the services of a run stand. It is a testing.TB, so that it starts the same services as the tests do;
// like a test it is given up by a panic of its own.
type stage struct {
	testing.TB // nil: nothing else of it is used
	ctx        context.Context
	out        io.Writer
	plan       plan
	cleanups   []func()
	directory  string
}

// failure is what Fatalf panics with.
type failure struct{ text string }

// Helper is part of testing.TB.
func (s *stage) Helper() {}

// Fatalf gives the run up.
func (s *stage) Fatalf(format string, args ...any) { panic(failure{fmt.Sprintf(format, args...)}) }

// Cleanup is run at the end, last come first.
func (s *stage) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

// must gives the run up where there is an error.
func (s *stage) must(what string, err error) {
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

func (s *stage) say(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// report writes a run's report, where one is wanted.
func (s *stage) report(text string) error {
	if s.plan.report == "" {
		return nil
	}
	return os.WriteFile(s.plan.report, []byte(text), 0o644) //nolint:gosec // to be read
}

// dir is a directory for the run's files.
func (s *stage) dir() string {
	if s.directory == "" {
		var err error
		s.directory, err = os.MkdirTemp("", "sidecar-bench-")
		s.must("a directory", err)
		s.Cleanup(func() { os.RemoveAll(s.directory) })
	}
	return s.directory
}

// pause waits, unless the run is interrupted.
func (s *stage) pause(d time.Duration) {
	select {
	case <-s.ctx.Done():
		s.Fatalf("interrupted")
	case <-time.After(d):
	}
}

// recovered makes an error of a given-up run.
func (s *stage) recovered(value any) error {
	switch v := value.(type) {
	case nil:
		return nil
	case failure:
		return fmt.Errorf("%s", v.text)
	default:
		s.strike()
		panic(value)
	}
}

// strike ends everything that was started.
func (s *stage) strike() {
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
	s.cleanups = nil
}

package main

import (
	"context"
	"os"
	"testing"
	"time"
)

// asSidecar makes this test program be the sidecar: what the tests drive is what ships, under the race detector.
const asSidecar = "BE_SIDECAR"

// patientBound is what a drill declares here: its sidecars look as often as others do, but share two cores with whole suites.
const patientBound = 6 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(asSidecar) != "" {
		if name := os.Getenv(brokenPromise); name != "" {
			os.Exit(beBroken(name))
		}
		p := newProgram()
		p.drillBound = patientBound
		os.Exit(p.dispatch(context.Background(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

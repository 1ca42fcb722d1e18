package main

import (
	"os"
	"testing"
)

// asSidecar makes this test program be the sidecar: what the tests drive is what ships, under the race detector.
const asSidecar = "BE_SIDECAR"

func TestMain(m *testing.M) {
	if os.Getenv(asSidecar) != "" {
		if name := os.Getenv(brokenPromise); name != "" {
			os.Exit(beBroken(name))
		}
		main()
	}
	os.Exit(m.Run())
}

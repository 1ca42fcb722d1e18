//go:build benchprofile

// This file is laid over cmd/sidecar when `make bench-profile` builds it, and is part of no other build: the program that
// is profiled is the one that ships, and the one that ships has no profiler.
package main

import (
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

// init listens for SIGUSR1, which begins a CPU profile and ends it, in the file $BENCH_PROFILE.cpu; SIGUSR2 writes what
// has been allocated to $BENCH_PROFILE.mem.
func init() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		var cpu *os.File
		for got := range signals {
			switch {
			case got == syscall.SIGUSR2:
				profileMemory()
			case cpu == nil:
				cpu = beginProfile()
			default:
				pprof.StopCPUProfile()
				cpu.Close()
				cpu = nil
			}
		}
	}()
}

func beginProfile() *os.File {
	file, err := os.Create(os.Getenv("BENCH_PROFILE") + ".cpu")
	if err != nil {
		return nil
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		file.Close()
		return nil
	}
	return file
}

func profileMemory() {
	file, err := os.Create(os.Getenv("BENCH_PROFILE") + ".mem")
	if err != nil {
		return
	}
	defer file.Close()
	_ = pprof.Lookup("allocs").WriteTo(file, 0)
}

package config

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// maxDefaultInflight is the budget for bodies where memory is plenty or nobody limits it.
const maxDefaultInflight = 256 << 20

// defaultInflight is half of the memory limit, at most 256 MiB; limit 0 means that there is none.
func defaultInflight(limit int64) int64 {
	if limit <= 0 || limit/2 > maxDefaultInflight {
		return maxDefaultInflight
	}
	return limit / 2
}

// collectorPace is how much may be allocated until the next collection, in percent of what was kept by the last one. Nearly
// all of that is gone with the delivery it was for: half as much again as by default saves a twentieth of all CPU time.
const collectorPace = 150

// PaceCollector lets the garbage collector run less often than by default, unless GOGC says otherwise.
func PaceCollector() {
	if !said("GOGC") {
		debug.SetGCPercent(collectorPace)
	}
}

// LimitHeap makes the garbage collector work harder before the control group's limit is reached: from three quarters of it
// on, unless GOMEMLIMIT says otherwise. The rest is for what is not the collector's. Without a limit it does nothing.
func LimitHeap() {
	if limit := memoryLimit(); limit > 0 && !said("GOMEMLIMIT") {
		debug.SetMemoryLimit(softLimit(limit))
	}
}

// said tells that a variable of the runtime says something. Left empty, as templates do, it says nothing to the runtime either.
func said(name string) bool { return os.Getenv(name) != "" }

func softLimit(limit int64) int64 { return limit / 4 * 3 }

// memoryLimit is what the control group allows this process in bytes; 0: no limit is known.
func memoryLimit() int64 {
	smallest := int64(0)
	for _, path := range memoryLimitFiles() {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if limit := parseMemoryLimit(text); limit > 0 && (smallest == 0 || limit < smallest) {
			smallest = limit
		}
	}
	return smallest
}

// memoryLimitFiles are those of both versions: as a container sees its own group, and as a service of the host does.
func memoryLimitFiles() []string {
	files := []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return files
	}
	for line := range strings.Lines(string(text)) {
		if path, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			files = append(files, filepath.Join("/sys/fs/cgroup", path, "memory.max"))
		}
	}
	return files
}

// parseMemoryLimit reads a limit file of either version of control groups. Version 1 writes a huge number for none.
func parseMemoryLimit(text []byte) int64 {
	trimmed := strings.TrimSpace(string(bytes.TrimRight(text, "\x00")))
	limit, err := strconv.ParseInt(trimmed, 10, 64)
	if err != nil || limit <= 0 || limit > 1<<60 {
		return 0
	}
	return limit
}

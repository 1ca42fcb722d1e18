package config

import (
	"bytes"
	"os"
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

// memoryLimit is what the control group allows this process in bytes; 0: no limit is known.
func memoryLimit() int64 {
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		return parseMemoryLimit(text)
	}
	return 0
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

package main

import (
	"os"
	"strconv"
)

// replicaName names this process in evidence, logs and metrics: the host and the process ID.
func replicaName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	return host + "-" + strconv.Itoa(os.Getpid())
}

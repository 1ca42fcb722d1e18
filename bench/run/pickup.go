package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// waits is how long stored events waited, from when they were due until a worker took them, in ms.
type waits struct {
	count          int
	p50, p99, most float64
}

// waitsOf sorts values.
func waitsOf(values []float64) waits {
	if len(values) == 0 {
		return waits{}
	}
	slices.Sort(values)
	at := func(q float64) float64 { return values[int(q*float64(len(values)-1))] }
	return waits{count: len(values), p50: at(0.50), p99: at(0.99), most: at(1)}
}

// attemptLog is a sidecar's log. It tells the wait of each attempt; the histogram of its metrics has the same values, in
// buckets that are too wide for a comparison.
type attemptLog struct{ file string }

// drop forgets what was logged so far, which also keeps a long run's log short.
func (l attemptLog) drop() error {
	if err := os.Truncate(l.file, 0); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// read tells the waits of a scope's attempts since the last drop.
func (l attemptLog) read(scope string) (waits, error) {
	file, err := os.Open(l.file)
	if err != nil {
		return waits{}, err
	}
	defer file.Close()
	return readWaits(file, scope)
}

func readWaits(r io.Reader, scope string) (waits, error) {
	var values []float64
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte(`"waited_us"`)) {
			continue
		}
		var record struct {
			Scope  string  `json:"scope"`
			Waited float64 `json:"waited_us"`
		}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			return waits{}, err
		}
		if record.Scope == scope {
			values = append(values, record.Waited/1000)
		}
	}
	return waitsOf(values), lines.Err()
}

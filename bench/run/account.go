package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is what /proc counts CPU time in: USER_HZ, which is 100 on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// account is the operating system's record of CPU time at a moment, by process.
type account struct {
	own      map[int]time.Duration // a process's own
	reaped   map[int]time.Duration // of its children that have ended
	children map[int][]int
	busy     time.Duration // of the whole machine
	at       time.Time
}

// readAccount reads /proc.
func readAccount() (account, error) {
	a := account{own: map[int]time.Duration{}, reaped: map[int]time.Duration{}, children: map[int][]int{}, at: time.Now()}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return a, err
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil { // it may have ended
			a.add(file, string(data))
		}
	}
	a.busy, err = busy()
	return a, err
}

func (a *account) add(file, stat string) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 {
		return
	}
	pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
	parent, _ := strconv.Atoi(fields[1])
	a.children[parent] = append(a.children[parent], pid)
	a.own[pid] = ticks(fields[11:13])    // utime, stime
	a.reaped[pid] = ticks(fields[13:15]) // cutime, cstime
}

func ticks(fields []string) time.Duration {
	var sum time.Duration
	for _, field := range fields {
		n, _ := strconv.ParseInt(field, 10, 64)
		sum += time.Duration(n) * tick
	}
	return sum
}

// family is the CPU time of a process and all its descendants, also of those that have ended.
func (a *account) family(pid int) time.Duration {
	sum := a.own[pid] + a.reaped[pid]
	for _, child := range a.children[pid] {
		sum += a.family(child)
	}
	return sum
}

// busy is the CPU time that the machine did not idle.
func busy() (time.Duration, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 {
		return 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	return ticks(fields[1:4]) + ticks(fields[6:9]), nil // without idle and iowait
}

// memory is a process's resident memory in KiB, of which anonymous; the rest is pages of files such as the program.
type memory struct{ Resident, Anonymous int }

func readMemory(pid int) (memory, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	var m memory
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "VmRSS:":
			m.Resident, err = strconv.Atoi(fields[1])
		case "RssAnon:":
			m.Anonymous, err = strconv.Atoi(fields[1])
		}
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

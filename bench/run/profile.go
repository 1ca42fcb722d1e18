package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// profiled are the scenarios whose sidecars the profiler is in.
var profiled = words{"new", "local", "redis", "pass"}

// profile writes a CPU profile of the sidecar for each scenario and number of connections, and tells
// where the time goes.
func profile(s *stage) error {
	if len(s.plan.only) == 0 {
		s.plan.only = profiled
	}
	s.must("the directory of the profiles", os.MkdirAll(s.plan.profile, 0o750))
	b := &bench{stage: s, services: s.startServices()}
	collector, exported := b.collector()
	b.traces = exported.Load
	program := b.buildProfiled()
	current := filepath.Join(s.dir(), "profile")
	start := func(name string) *sidecar {
		r := b.sidecar(sidecarConfig{name: name, program: program, namespace: "bench", upstream: b.app.address,
			database: b.database, redis: b.redis, extra: []string{"BENCH_PROFILE=" + current}}, collector)
		b.awaitLedger(b.generator, r.address, 0)
		return r
	}
	b.first = start("sidecar")
	if s.plan.only.has("redis") {
		b.second = start("second sidecar")
	}
	b.addScenarios()
	text := profileHead(b)
	for _, v := range b.variants {
		for _, connections := range s.plan.connections {
			text += b.profileOne(v, connections, current, program)
		}
	}
	if s.plan.report != "" {
		b.mergeProfiles(s.plan.profile)
	}
	return s.report(text)
}

// mergeProfiles makes the profile that what ships is compiled with of those that were written.
func (b *bench) mergeProfiles(dir string) {
	profiles, err := filepath.Glob(filepath.Join(dir, "*.cpu.pprof"))
	b.must("the profiles", err)
	merged, err := exec.CommandContext(b.ctx, "go", append([]string{"tool", "pprof", "-proto"}, profiles...)...).Output()
	b.must("merging the profiles", err)
	b.must("the merged profile", os.WriteFile(shippedProfile, merged, 0o644)) //nolint:gosec // to be read
}

func profileHead(b *bench) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# Where the time goes\n\nWritten by `make bench-profile`. %s.\n\n", time.Now().UTC().Format("2006-01-02 15:04 MST"))
	for _, fact := range b.facts() {
		text.WriteString("- " + fact + "\n")
	}
	text.WriteString("\nThe sidecar's CPU time for each answer by the operating system's accounting, shared out by the profiler's samples.\n" +
		"Indented lines are part of the line above them; memory, scheduling and system calls are part of everything.\n")
	return text.String()
}

// profileOne measures with the profiler on: what it reports of CPU is a little more than without.
func (b *bench) profileOne(v *variant, connections int, current, program string) string {
	b.atBegin = func() { b.must("the profiler", syscall.Kill(v.pid, syscall.SIGUSR1)) }
	b.atEnd = b.atBegin
	m := b.measure(v, connections, 0)
	b.must("the profiler", syscall.Kill(v.pid, syscall.SIGUSR2))
	b.pause(idleTime) // the profiles are being written
	target := filepath.Join(b.plan.profile, v.name+"-"+strconv.Itoa(connections))
	for _, kind := range []string{".cpu", ".mem"} {
		data, err := os.ReadFile(current + kind)
		b.must("the profile", err)
		b.must("the profile", os.WriteFile(target+kind+".pprof", data, 0o600))
	}
	out, err := exec.CommandContext(b.ctx, "go", "tool", "pprof", "-top", "-cum", "-nodecount=1000000", "-nodefraction=0", program, target+".cpu.pprof").Output()
	b.must("go tool pprof", err)
	text := places(string(out), m.proxy).text(v.title, connections, m)
	b.say("%s", text)
	return text
}

// buildProfiled compiles the sidecar with one more file that is laid over its main package.
func (b *bench) buildProfiled() string {
	root := strings.TrimSpace(said(b.ctx, "go", "list", "-m", "-f", "{{.Dir}}"))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(root, "cmd/sidecar/bench_profile_hook.go"): filepath.Join(root, "bench/profile/hook.go"),
	}})
	b.must("the overlay", err)
	file := filepath.Join(b.dir(), "overlay.json")
	b.must("the overlay", os.WriteFile(file, overlay, 0o600))
	return b.build("./cmd/sidecar", "sidecar-profiled", "-pgo", shippedProfile, "-tags", shippedTags+",benchprofile", "-overlay", file)
}

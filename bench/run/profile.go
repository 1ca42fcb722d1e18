package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// profile writes a CPU profile of the sidecar for each scenario and number of connections, and prints its head.
func profile(s *stage) error {
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
	for _, v := range b.variants {
		for _, connections := range s.plan.connections {
			b.profileOne(v, connections, current, program)
		}
	}
	return nil
}

// profileOne measures with the profiler on: what it reports of CPU is a little more than without.
func (b *bench) profileOne(v *variant, connections int, current, program string) {
	b.atBegin = func() { b.must("the profiler", syscall.Kill(v.pid, syscall.SIGUSR1)) }
	b.atEnd = b.atBegin
	m := b.measure(v, connections, 0)
	b.must("the profiler", syscall.Kill(v.pid, syscall.SIGUSR2))
	b.pause(settleTime)
	target := filepath.Join(b.plan.profile, v.name+"-"+strconv.Itoa(connections))
	for _, kind := range []string{".cpu", ".mem"} {
		data, err := os.ReadFile(current + kind)
		b.must("the profile", err)
		b.must("the profile", os.WriteFile(target+kind+".pprof", data, 0o600))
	}
	b.say("\n%s\n", m.line(v.name))
	out, err := exec.CommandContext(b.ctx, "go", "tool", "pprof", "-top", "-nodecount=25", program, target+".cpu.pprof").CombinedOutput()
	b.must("go tool pprof", err)
	b.say("%s", out)
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
	return b.build("./cmd/sidecar", "sidecar-profiled", "-tags", "benchprofile", "-overlay", file)
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// process is a program that runs until the end of the run.
type process struct {
	name    string
	address string
	cmd     *exec.Cmd
	errors  *bytes.Buffer
	done    <-chan struct{}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// launch starts a program that dies with this one.
func (s *stage) launch(name, address string, cmd *exec.Cmd) *process {
	p := &process{name: name, address: address, cmd: cmd, errors: &bytes.Buffer{}}
	if cmd.Stderr == nil {
		cmd.Stderr = p.errors
	}
	var err error
	p.done, err = testenv.Start(cmd, syscall.SIGKILL)
	s.must(name, err)
	s.Cleanup(p.end)
	s.await(p)
	return p
}

// await waits until the program accepts connections.
func (s *stage) await(p *process) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(s.ctx, "tcp", p.address)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-p.done:
			s.Fatalf("%s ended while starting: %s", p.name, p.errors)
		default:
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s does not listen: %v", p.name, err)
		}
		s.pause(20 * time.Millisecond)
	}
}

// end asks the program to end, and makes it.
func (p *process) end() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(3 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// command is a program that is ended with the run.
func (s *stage) command(program string, args ...string) *exec.Cmd {
	return exec.Command(program, args...)
} //nolint:noctx // it is ended by the stage

// build compiles a main package of this module as `make build` does.
func (s *stage) build(pkg, name string, flags ...string) string {
	target := s.dir() + "/" + name
	arguments := append([]string{"build", "-tags", shippedTags, "-trimpath", "-ldflags=-s -w", "-o", target}, flags...)
	cmd := exec.CommandContext(s.ctx, "go", append(arguments, pkg)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return target
}

// said is the first line that a program prints.
func said(ctx context.Context, program string, args ...string) string {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil && len(out) == 0 {
		return fmt.Sprint(err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

// shippedTags are those of what ships.
const shippedTags = "grpcnotrace"

// shippedProfile is what the compiler is told of where the sidecar's time goes; see `make bench-profile`.
const shippedProfile = "bench/profile/sidecar.pgo"

// buildShipped compiles the sidecar as it ships.
func (s *stage) buildShipped() string {
	return s.build("./cmd/sidecar", "sidecar", "-pgo", shippedProfile)
}

package testenv

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startPatience bounds how long a service may take to answer; generous, because the machine may be busy.
const startPatience = 60 * time.Second

// process is a running service.
type process struct {
	cmd  *exec.Cmd
	done <-chan struct{} // closed when it has ended and was reaped
}

// launch starts a service that gets sig when this process dies.
func launch(cmd *exec.Cmd, sig syscall.Signal) (*process, error) {
	done, err := Start(cmd, sig)
	return &process{cmd: cmd, done: done}, err
}

// Start starts a program that gets sig when this process dies. The channel is closed when the program has ended and was
// reaped. The signal is tied to the thread that forked, so the thread is kept until the program has ended, and given back
// then: it may have forked others, which would die with it.
func Start(cmd *exec.Cmd, sig syscall.Signal) (ended <-chan struct{}, err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = sig
	done, started := make(chan struct{}), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is of no interest: tests end services on purpose
		}
		close(done)
	}()
	return done, <-started
}

// end sends a signal and waits until the program is gone.
func (p *process) end(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig)
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // a stopped process cannot die of anything but SIGKILL
	select {
	case <-p.done:
	case <-time.After(startPatience):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// tree is the program and all its descendants.
func (p *process) tree() []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		if pid, parent, err := parentOf(stat); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	tree := []int{p.cmd.Process.Pid}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree
}

func parentOf(stat string) (pid, parent int, err error) {
	data, err := os.ReadFile(stat)
	if err != nil {
		return 0, 0, err
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, 0, fmt.Errorf("%s is cut off", stat)
	}
	pid, err = strconv.Atoi(filepath.Base(filepath.Dir(stat)))
	if err != nil {
		return 0, 0, err
	}
	parent, err = strconv.Atoi(fields[1])
	return pid, parent, err
}

func (p *process) signalTree(sig syscall.Signal) {
	for _, pid := range p.tree() {
		_ = syscall.Kill(pid, sig)
	}
}

// workDir makes a directory that is removed when this process ends, even by a panic or kill: a shell waits for the end
// of its standard input, which only this process holds open.
func workDir(owner *user.User) (string, error) {
	dir, err := os.MkdirTemp("", "sidecar-test-")
	if err != nil {
		return "", err
	}
	if owner != nil {
		uid, gid := ids(owner)
		if err := os.Chown(dir, int(uid), int(gid)); err != nil {
			return "", err
		}
	}
	return dir, removeAtEnd(dir)
}

func removeAtEnd(dir string) error {
	script := `cat >/dev/null; for try in 1 2 3 4 5 6 7 8 9; do rm -rf "$1" 2>/dev/null && exit; sleep 1; done`
	cmd := exec.Command("/bin/sh", "-c", script, "sh", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // outlives an interrupt from the terminal
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// Both live as long as this process; the pipe must not be closed by the garbage collector.
	go func() {
		_ = cmd.Wait()
		runtime.KeepAlive(stdin)
	}()
	return nil
}

// serviceUser is who runs services that refuse to run as root; nil when this process is not root.
func serviceUser(t testing.TB) *user.User {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		t.Fatalf("PostgreSQL refuses to run as root, and there is no user postgres: `make test` installs it: %v", err)
	}
	return owner
}

func ids(owner *user.User) (uid, gid uint32) {
	u, _ := strconv.ParseUint(owner.Uid, 10, 32)
	g, _ := strconv.ParseUint(owner.Gid, 10, 32)
	return uint32(u), uint32(g)
}

// as makes a command run as another user and in its directory; nil changes nothing but the directory.
func as(cmd *exec.Cmd, owner *user.User, dir string) *exec.Cmd {
	cmd.Dir = dir
	if owner != nil {
		uid, gid := ids(owner)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	}
	return cmd
}

// await polls until a service answers, its process ends or patience is over.
func await(p *process, log string, answers func() error) error {
	deadline := time.Now().Add(startPatience)
	for {
		err := answers()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("ended while starting: %w\n%s", err, tail(log))
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return errors.Join(errors.New("does not answer"), err)
		}
	}
}

// tail is the end of a service's log.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	data, _ := io.ReadAll(file)
	return string(data[max(0, len(data)-4096):])
}

// clockTick is what /proc counts CPU time in: USER_HZ, which is 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// cpu is the CPU time that a process, and those of its children that it has waited for, have used so far.
func cpu(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	var ticks int64
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		n, _ := strconv.ParseInt(field, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * clockTick
}

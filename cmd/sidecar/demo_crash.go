package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/sqlite"
	"github.com/webhook-sidecar/webhook-sidecar/internal/console"
)

// The files of the sidecars that this step starts and kills.
const (
	crashConfig = "crash.yaml"
	crashLedger = "crash.db"
)

// demoChild is a sidecar in a process of its own.
type demoChild struct {
	cmd    *exec.Cmd
	public string
	admin  string
}

func (d *demo) crash(ctx context.Context) {
	d.page.step("Crash and recovery", "A sidecar in a process of its own dies in the middle of a call. Nobody knows whether the application did the work.")
	if err := d.crashAndRecover(ctx); err != nil {
		d.page.check(false, "%v", err)
		return
	}
	d.page.shows("in flight until the lease ends, then attempt 2, same key")
	if err := d.story(ctx); err != nil {
		d.page.check(false, "the ledger cannot tell: %v", err)
	}
}

func (d *demo) crashAndRecover(ctx context.Context) error {
	event := d.stripe().event("crash-1")
	first, err := d.startChild(ctx)
	if err != nil {
		return err
	}
	defer first.kill()
	broken := make(chan demoAnswer, 1)
	go func() { broken <- d.sendTo(ctx, first.public, event) }()
	select {
	case <-d.app.held:
	case <-ctx.Done():
		return errors.New("the event did not reach the application")
	}
	first.kill()
	d.page.operator("kill -9 %d, the sidecar that holds the event", first.cmd.Process.Pid)
	answer := <-broken
	d.page.check(answer.err != nil, "its sender: %s", answer)
	second, err := d.startChild(ctx)
	if err != nil {
		return err
	}
	defer second.kill()
	d.page.operator("the sidecar starts again as process %d, with the same ledger", second.cmd.Process.Pid)
	d.takeOver(ctx, second, event)
	return second.stop()
}

// takeOver sends the event until the lease of the dead process has run out.
func (d *demo) takeOver(ctx context.Context, child *demoChild, event demoEvent) {
	waited := 0
	var answer demoAnswer
	err := await(ctx, func() error {
		answer = d.sendTo(ctx, child.public, event)
		if answer.receipt != "in_flight" {
			return nil
		}
		if waited++; waited == 1 {
			d.page.sender("retries and gets %s: the dead process holds the lease for another moment", answer)
		}
		return errors.New("still in flight")
	})
	d.page.check(err == nil && answer.status == http.StatusOK && answer.receipt == "applied" && d.app.count(event.id) == 2 &&
		d.app.attempt(event.id) == 2 && d.app.oneKey(event.id),
		"when the lease has run out the retry takes over: %s, as attempt 2 with the same Idempotency-Key", answer)
	again := d.sendTo(ctx, child.public, event)
	d.page.check(again.receipt == "replayed", "a duplicate after that: %s", again)
}

func (d *demo) sendTo(ctx context.Context, public string, event demoEvent) demoAnswer {
	header, err := d.stripe().sign(event)
	if err != nil {
		return demoAnswer{err: err}
	}
	return post(ctx, "http://"+public+d.stripe().integration.Route, header, event.body)
}

func (d *demo) startChild(ctx context.Context) (*demoChild, error) {
	log, err := os.OpenFile(d.path("crash.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	child, err := d.program.startChild(ctx, log, func(public, admin string) config.Environment {
		return d.environment(public, admin, crashConfig, crashLedger)
	})
	if err != nil {
		return nil, err
	}
	return child, await(ctx, func() error { return child.ready(ctx) })
}

// startChild runs this program in a process of its own, until ctx ends at the latest: on two free addresses, with the
// settings that environment makes of them, and with its output in log, which it closes here.
func (p *program) startChild(ctx context.Context, log *os.File, environment func(public, admin string) config.Environment) (*demoChild, error) {
	defer func() { _ = log.Close() }() // the child has it
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	child := &demoChild{}
	if child.public, err = freeAddress(ctx); err != nil {
		return nil, err
	}
	if child.admin, err = freeAddress(ctx); err != nil {
		return nil, err
	}
	child.cmd = exec.CommandContext(ctx, self, "run")
	child.cmd.Env = p.inherited(environment(child.public, child.admin))
	child.cmd.Stdout, child.cmd.Stderr = log, log
	return child, child.cmd.Start()
}

func (c *demoChild) ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.admin+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	if answer := do(request); answer.status != http.StatusOK {
		return errors.New("the second sidecar is not ready")
	}
	return nil
}

// kill ends the process as a crash does; one that has ended is left alone.
func (c *demoChild) kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}

// stop ends the process as an orchestrator does.
func (c *demoChild) stop() error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.AfterFunc(5*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("the sidecar did not end well: %w", err)
	}
	return nil
}

// freeAddress is a loopback address that was free a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address := listener.Addr().String()
	return address, listener.Close()
}

// story shows what sidecar receipts show tells of the crashed event.
func (d *demo) story(ctx context.Context) error {
	opened, err := sqlite.Open(ctx, d.path(crashLedger))
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }()
	keeper, err := dedupe.NewKeeper(dedupe.KeeperConfig{Store: opened, Replica: "demo"})
	if err != nil {
		return err
	}
	receipt, err := keeper.Receipt(ctx, "acme/stripe", "crash-1")
	if err != nil {
		return err
	}
	var told bytes.Buffer
	if err := console.Story(&told, receipt, time.Now()); err != nil {
		return err
	}
	d.page.line("   %s", d.page.style(dim, "sidecar receipts show acme/stripe crash-1 tells:"))
	for line := range strings.Lines(told.String()) {
		d.page.line("   │ %s", strings.TrimRight(line, "\n"))
	}
	return nil
}

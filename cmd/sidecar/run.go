package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
)

// errAtOnce ends a process that was asked twice to stop.
var errAtOnce = errors.New("stopped at once by a second signal")

func (p *program) run(ctx context.Context, args []string) error {
	flags := p.newFlags("run")
	if _, err := flags.parse(args, 0, 0); err != nil {
		return err
	}
	settings, err := p.settings()
	if err != nil {
		return err
	}
	config.PaceCollector()
	config.LimitHeap()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	s, err := p.newServer(ctx, settings)
	if err != nil {
		return err
	}
	return s.run(ctx, signals)
}

// run serves until a signal asks to stop and everything in flight is finished.
func (s *server) run(ctx context.Context, signals <-chan os.Signal) error {
	group, working := errgroup.WithContext(ctx)
	background, stop := context.WithCancel(working)
	defer stop()
	s.goServe(group)
	group.Go(func() error { return s.configFiles.Run(background) })
	if s.sealFile != nil {
		group.Go(func() error { return s.sealFile.Run(background) })
	}
	group.Go(func() error { return s.health.reach(background, s.upstream.Reachable) })
	group.Go(func() error { return s.prepareLedger(background) })
	group.Go(func() error { return s.sweep(background) })
	group.Go(func() error { return s.notary.Run(background) })
	group.Go(func() error { return s.active.life.run(background) })
	group.Go(func() error { return s.cache.Run(background) })
	group.Go(func() error { return s.attention.Run(background) })
	taking, stopTaking := context.WithCancel(background)
	s.stopTaking, s.worked = stopTaking, make(chan struct{})
	group.Go(func() error { return s.work(taking) })
	halted := make(chan struct{})
	group.Go(func() error {
		defer close(halted)
		defer stop()
		return s.live(working, signals)
	})
	ended := make(chan error, 1)
	go func() {
		err := group.Wait()
		s.close()
		ended <- err
	}()
	<-halted
	return s.part(working, ended)
}

// lastWait is how long the end of the process waits for what was begun in the background once every server is closed. A
// database that keeps silent would otherwise keep the process beyond the time that an orchestrator gives it.
const lastWait = 3 * time.Second

// part waits for the end of everything, but not for ever: nothing that matters is left when the servers are closed.
func (s *server) part(working context.Context, ended <-chan error) error {
	timer := time.NewTimer(lastWait)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		s.log.Warn("ends without waiting for what does not answer", "waited", lastWait.String())
		if cause := context.Cause(working); !errors.Is(cause, context.Canceled) {
			return cause
		}
		return nil
	}
}

func (s *server) goServe(group *errgroup.Group) {
	serve := func(server *http.Server, listener net.Listener) {
		if server != nil {
			group.Go(func() error { return served(server.Serve(listener)) })
		}
	}
	serve(s.public, s.listeners.public)
	serve(s.admin, s.listeners.admin)
	serve(s.probe, s.listeners.probe)
}

// live waits for the signal to stop, reloads on SIGHUP, and then drains. It also ends everything when a server broke.
func (s *server) live(ctx context.Context, signals <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			return s.halt()
		case got := <-signals:
			if got != syscall.SIGHUP {
				s.log.Info("asked to stop", "signal", got.String())
				return s.drain(ctx, signals)
			}
			for _, kick := range []chan struct{}{s.kickConfig, s.kickSeal} {
				select {
				case kick <- struct{}{}:
				default: // one is waiting already
				}
			}
		}
	}
}

// drain is unready and serves on for a while, so that balancers notice; then it finishes what is in flight.
func (s *server) drain(ctx context.Context, signals <-chan os.Signal) error {
	s.health.draining.Store(true)
	if err := s.pause(ctx, signals, time.Duration(s.settings.DrainDelay)); err != nil {
		return err
	}
	s.stopTaking()
	bounded, cancel := context.WithTimeout(ctx, s.settings.Timeout())
	defer cancel()
	finished := make(chan error, 1)
	go func() { finished <- s.finish(bounded) }()
	for {
		select {
		case err := <-finished:
			if err != nil {
				s.log.Warn("not everything in flight was finished in time; leases end what was left", "timeout", s.settings.Timeout().String())
			}
			return s.halt()
		case got := <-signals:
			if got != syscall.SIGHUP {
				return errors.Join(errAtOnce, s.halt())
			}
		}
	}
}

func (s *server) pause(ctx context.Context, signals <-chan os.Signal, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return s.halt()
		case got := <-signals:
			if got != syscall.SIGHUP {
				return errors.Join(errAtOnce, s.halt())
			}
		}
	}
}

// halt closes every server. What is still open is cut off.
func (s *server) halt() error {
	s.worker.Stop()
	_ = s.public.Close()
	_ = s.admin.Close()
	if s.probe != nil {
		_ = s.probe.Close()
	}
	return nil
}

// close ends what the servers stood on.
func (s *server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.telemetry.Shutdown(ctx); err != nil {
		s.log.Warn("not all telemetry was exported", "error", err)
	}
	s.upstream.Close()
	if s.passing != nil {
		s.passing.Close()
	}
	s.store.close()
	s.log.Info("sidecar ends")
}

// prepareLedger reaches the ledger, bringing its schema up to date where that is wanted, as soon as it can be reached.
func (s *server) prepareLedger(ctx context.Context) error {
	for pause, told := 100*time.Millisecond, false; ; pause = min(2*pause, 5*time.Second) {
		err := s.store.ping(ctx)
		if err == nil {
			s.log.Info("the ledger is ready", "ledger", describeLedger(s.settings))
			return nil
		}
		if ctx.Err() == nil && !told {
			told = true
			s.log.Error("the ledger is not ready: deliveries get 503 until it is", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

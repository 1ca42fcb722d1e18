package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// demoLimit ends a demo that hangs, so that it always tells its table.
const demoLimit = 60 * time.Second

// demo shows what the product does, with real listeners, real signatures and a real crash.
type demo struct {
	program *program
	page    *demoPage
	dir     string
	app     *demoApp
	senders []demoSender
	server  *server
	signals chan os.Signal
	ended   chan error
	base    string // URL of the sidecar's public listener
}

func (p *program) demo(ctx context.Context, args []string) error {
	flags := p.newFlags("demo [--serve]")
	serve := flags.Bool("serve", false, "stay up afterwards and print requests to try")
	if _, err := flags.parse(args, 0, 0); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sidecar-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d := &demo{program: p, page: newDemoPage(p), dir: dir}
	bounded, cancel := context.WithTimeout(ctx, demoLimit)
	defer cancel()
	if err := d.start(bounded); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.tell(bounded)
	good := d.page.table()
	if *serve {
		d.stayUp(ctx)
	}
	d.stop()
	if !good {
		return errFailed
	}
	return nil
}

// tell walks through the steps.
func (d *demo) tell(ctx context.Context) {
	d.page.opening(d.base, d.app.url, d.server.settings.Database.SQLite)
	for _, step := range []func(context.Context){
		d.firstDeliveries, d.duplicates, d.concurrency, d.tampering, d.conflict, d.failure, d.otherPaths, d.revocation, d.crash,
	} {
		step(ctx)
	}
}

// start brings the application and the sidecar up.
func (d *demo) start(ctx context.Context) error {
	var err error
	if d.app, err = startDemoApp(ctx, d.page); err != nil {
		return err
	}
	if err = d.configure(demoKeys{}); err != nil {
		return err
	}
	if err = d.serve(ctx); err != nil {
		return err
	}
	d.senders, err = d.loadSenders()
	return err
}

// serve runs the sidecar in this process, as sidecar run does.
func (d *demo) serve(ctx context.Context) error {
	log, err := os.Create(d.path("sidecar.log"))
	if err != nil {
		return err
	}
	inner := &program{in: d.program.in, out: log, err: log, environ: d.environment("127.0.0.1:0", "127.0.0.1:0", "sidecar.yaml", "demo.db")}
	settings, err := inner.settings()
	if err != nil {
		return err
	}
	if d.server, err = inner.newServer(ctx, settings); err != nil {
		return err
	}
	d.base = "http://" + d.server.listeners.public.Addr().String()
	d.signals, d.ended = make(chan os.Signal, 1), make(chan error, 1)
	go func() { d.ended <- d.server.run(context.WithoutCancel(ctx), d.signals) }()
	return await(ctx, func() error {
		if reasons := d.server.health.unready(); len(reasons) > 0 {
			return fmt.Errorf("the sidecar is not ready: %v", reasons)
		}
		return nil
	})
}

// stop ends the sidecar as SIGTERM would, then the application.
func (d *demo) stop() {
	d.signals <- syscall.SIGTERM
	select {
	case err := <-d.ended:
		if err != nil {
			d.page.line("the sidecar ended badly: %v", err)
		}
	case <-time.After(5 * time.Second):
	}
	d.app.stop()
}

// stayUp prints requests to try and waits for an interrupt.
func (d *demo) stayUp(ctx context.Context) {
	interrupted, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	d.page.invitation(d)
	<-interrupted.Done()
}

// await polls until a condition holds, and returns what it lacked where it did not in time.
func await(ctx context.Context, condition func() error) error {
	for {
		err := condition()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/internal/drill"
)

// drillProcess is a sidecar of the drill in a process of its own.
type drillProcess struct{ child *demoChild }

// Launch implements drill.Field.
func (f *drillField) Launch(ctx context.Context) (drill.Process, error) {
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
	f.launched++
	log, err := os.Create(filepath.Join(f.dir, fmt.Sprintf("launched-%d.log", f.launched)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has it
	child.cmd = exec.CommandContext(context.WithoutCancel(ctx), self, "run")
	child.cmd.Env = f.program.inherited(f.environment(child.public, child.admin, "launched.db"))
	child.cmd.Stdout, child.cmd.Stderr = log, log
	if err := child.cmd.Start(); err != nil {
		return nil, err
	}
	if err := await(ctx, func() error { return child.ready(ctx) }); err != nil {
		child.kill()
		return nil, err
	}
	return drillProcess{child}, nil
}

// URL implements drill.Process.
func (p drillProcess) URL() string { return "http://" + p.child.public }

// Kill implements drill.Process.
func (p drillProcess) Kill() { p.child.kill() }

// dropNamespace throws an application's whole ledger away.
func dropNamespace(url, namespace string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{"sidecar_" + namespace}.Sanitize()+" CASCADE")
	return err
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/internal/drill"
)

// drillProcess is a sidecar of the drill in a process of its own.
type drillProcess struct{ child *demoChild }

// Launch implements drill.Field.
func (f *drillField) Launch(ctx context.Context) (drill.Process, error) {
	f.launched++
	log, err := os.Create(filepath.Join(f.dir, fmt.Sprintf("launched-%d.log", f.launched)))
	if err != nil {
		return nil, err
	}
	child, err := f.program.startChild(context.WithoutCancel(ctx), log, func(public, admin string) config.Environment {
		return f.environment(public, admin, "launched.db")
	})
	if err != nil {
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

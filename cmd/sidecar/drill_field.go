package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/internal/drill"
)

// drillField is sidecars as sidecar run makes them, in this process and in processes of their own, on a ledger that is
// thrown away: a namespace in the given PostgreSQL, or files in a temporary folder. Nothing else of the process's own
// settings counts.
type drillField struct {
	program   *program
	dir       string
	app       string
	database  string // empty: embedded
	namespace string
	count     int

	replicas []*drillReplica
	launched int
}

// drillReplica is a sidecar in this process.
type drillReplica struct {
	server  *server
	log     *os.File
	signals chan os.Signal
	ended   chan error
}

func (p *program) newDrillField(dir, app string, replicas int) *drillField {
	f := &drillField{program: p, dir: dir, app: app, namespace: "drill_" + randomHex(), count: replicas}
	if url := p.environ["DATABASE_URL"]; url != "" && !strings.HasPrefix(url, "sqlite:") {
		f.database = url
	} else {
		f.count = 1
	}
	return f
}

func randomHex() string {
	var bytes [6]byte
	rand.Read(bytes[:]) // never fails: it ends the process instead
	return hex.EncodeToString(bytes[:])
}

// environment are the settings of a sidecar of the drill.
func (f *drillField) environment(public, admin, embedded string) config.Environment {
	env := config.Environment{
		"SIDECAR_LISTEN": public, "SIDECAR_ADMIN_LISTEN": admin, "SIDECAR_PROBE_LISTEN": "127.0.0.1:0",
		"SIDECAR_UPSTREAM": f.app, "SIDECAR_CONFIG": filepath.Join(f.dir, drill.Files), "SIDECAR_GUARD": drill.Guard,
		"SIDECAR_NAMESPACE": f.namespace, "SIDECAR_RELOAD_INTERVAL": drillInterval.String(),
		"SIDECAR_DRAIN_DELAY": "0s", "SIDECAR_SHUTDOWN_TIMEOUT": "3s",
		"DATABASE_URL": "sqlite:" + filepath.Join(f.dir, embedded),
	}
	if f.database != "" {
		env["DATABASE_URL"] = f.database
	}
	for _, name := range []string{"REDIS_URL", sealKeyVariable} {
		if value := f.program.environ[name]; value != "" {
			env[name] = value
		}
	}
	return env
}

// start brings the replicas up, one after another, so that the first one makes the schema.
func (f *drillField) start(ctx context.Context) error {
	for n := range f.count {
		if err := f.startReplica(ctx, n+1); err != nil {
			return fmt.Errorf("replica %d: %w", n+1, err)
		}
	}
	return nil
}

func (f *drillField) startReplica(ctx context.Context, number int) error {
	log, err := os.Create(filepath.Join(f.dir, fmt.Sprintf("replica-%d.log", number)))
	if err != nil {
		return err
	}
	inner := &program{in: f.program.in, out: log, err: log, environ: f.environment("127.0.0.1:0", "127.0.0.1:0", "drill.db")}
	settings, err := inner.settings()
	if err != nil {
		return err
	}
	made, err := inner.newServer(ctx, settings)
	if err == nil && f.program.alter != nil {
		err = f.program.alter(made)
	}
	if err != nil {
		return err
	}
	replica := &drillReplica{server: made, log: log, signals: make(chan os.Signal, 1), ended: make(chan error, 1)}
	f.replicas = append(f.replicas, replica)
	go func() { replica.ended <- made.run(context.WithoutCancel(ctx), replica.signals) }()
	return await(ctx, func() error { return replica.ready(ctx) })
}

// ready has no complaint once the replica serves and its ledger can be read.
func (r *drillReplica) ready(ctx context.Context) error {
	select {
	case err := <-r.ended:
		r.ended <- err
		return errors.Join(errors.New("the sidecar has ended"), err)
	default:
	}
	if reasons := r.server.health.unready(); len(reasons) > 0 {
		return fmt.Errorf("the sidecar is not ready: %v", reasons)
	}
	if err := r.server.store.ping(ctx); err != nil {
		return fmt.Errorf("the ledger is out of reach: %w", err)
	}
	return nil
}

// stop ends the replica as SIGTERM would.
func (r *drillReplica) stop() {
	r.signals <- syscall.SIGTERM
	select {
	case <-r.ended: //nolint:errcheck // how a replica of the drill ends is of no interest
	case <-time.After(10 * time.Second):
	}
	_ = r.log.Close()
}

// close ends everything and throws the ledger away.
func (f *drillField) close() {
	var stopping sync.WaitGroup
	for _, replica := range f.replicas {
		stopping.Go(replica.stop)
	}
	stopping.Wait()
	if f.database == "" {
		return
	}
	if err := dropNamespace(f.database, f.namespace); err != nil {
		fmt.Fprintf(f.program.err, "sidecar: the schema sidecar_%s could not be dropped: drop it by hand\n", f.namespace)
	}
}

// Replicas implements drill.Field.
func (f *drillField) Replicas() []string {
	bases := make([]string, len(f.replicas))
	for n, replica := range f.replicas {
		bases[n] = "http://" + replica.server.listeners.public.Addr().String()
	}
	return bases
}

// Shared implements drill.Field.
func (f *drillField) Shared() bool { return f.database != "" }

// Ledger implements drill.Field.
func (f *drillField) Ledger() string {
	if f.database == "" {
		return "embedded, in a temporary folder"
	}
	text := "PostgreSQL, schema sidecar_" + f.namespace + ", dropped afterwards"
	if f.program.environ["REDIS_URL"] != "" {
		text += "; with Redis"
	}
	return text
}

// Receipts implements drill.Field.
func (f *drillField) Receipts(ctx context.Context) ([]dedupe.Receipt, error) {
	return f.replicas[0].server.keeper.List(ctx, dedupe.Filter{Limit: 100_000})
}

// Sweep implements drill.Field. A keeper that has not swept before forgets at once.
func (f *drillField) Sweep(ctx context.Context) error {
	first := f.replicas[0].server
	keeper, err := dedupe.NewKeeper(dedupe.KeeperConfig{Store: first.store, Replica: first.replica, Policy: first.active.policy})
	if err != nil {
		return err
	}
	_, err = keeper.Sweep(ctx)
	return err
}

// Logs implements drill.Field.
func (f *drillField) Logs() ([]byte, error) {
	names, err := filepath.Glob(filepath.Join(f.dir, "*.log"))
	var all bytes.Buffer
	for _, name := range names {
		text, readErr := os.ReadFile(name)
		err = errors.Join(err, readErr)
		all.Write(text)
	}
	return all.Bytes(), err
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/rediscache"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
	"github.com/webhook-sidecar/webhook-sidecar/internal/admin"
	"github.com/webhook-sidecar/webhook-sidecar/internal/reload"
	"github.com/webhook-sidecar/webhook-sidecar/internal/telemetry"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
)

// maxWarnings bounds what a start writes to the log.
const maxWarnings = 20

// server is everything that a running sidecar is made of. build* fills it in, in the order of the fields.
type server struct {
	settings config.Settings
	log      *slog.Logger
	replica  string
	started  time.Time

	active    *active
	sealing   *sealing
	listeners *listeners
	store     *store
	keeper    *dedupe.Keeper
	cache     *rediscache.Cache
	desk      dedupe.Desk // of the keeper; what it reopens, the cache forgets
	notary    *worker.Checkpointer
	attention *telemetry.Attention
	health    *health
	telemetry *telemetry.Providers
	watch     *telemetry.Watch
	upstream  *upstream.Upstream
	passing   *upstream.Passthrough
	proxy     *proxy.Proxy
	public    *http.Server
	admin     *http.Server
	probe     *http.Server // nil: no probe listener

	configFiles, sealFile *reload.Watcher // sealFile is nil where nothing is sealed
	kickConfig, kickSeal  chan struct{}   // have them looked at now

	worker     *worker.Dispatcher
	stopTaking context.CancelFunc // the worker claims nothing more
	worked     chan struct{}      // closed when its attempts are over
}

// newServer wires the rooms. Nothing runs yet, but the listeners are open and the configuration is in force. Whatever it
// has opened by the time of an error ends with the process.
func (p *program) newServer(ctx context.Context, settings config.Settings) (*server, error) {
	s := &server{
		settings: settings, replica: replicaName(), started: time.Now(), health: &health{},
		kickConfig: make(chan struct{}, 1), kickSeal: make(chan struct{}, 1),
	}
	s.log = newLog(settings, p.out, s.replica)
	s.active = &active{file: settings.Config, lookup: p.lookupEnv, log: s.log, serve: s.serve}
	reading, set, setErr := s.active.read(ctx)
	sealing, sealReading, err := newSealing(ctx, settings.SealKeyFile, s.log)
	if err := allProblems(setErr, err); err != nil {
		return nil, err
	}
	s.sealing = sealing
	if s.listeners, err = openListeners(ctx, settings, s.log); err != nil {
		return nil, err
	}
	for _, build := range []func(context.Context) error{s.buildTelemetry, s.buildLedger, s.buildProxy, s.buildAdmin} {
		if err := build(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.follow(reading, sealReading); err != nil {
		return nil, err
	}
	if err := s.active.start(reading, set); err != nil {
		return nil, err
	}
	s.health.loaded.Store(true)
	s.greet(ctx, set)
	return s, nil
}

// follow looks after the files that were read, for what they say next.
func (s *server) follow(reading, sealReading *reload.Reading) error {
	interval := time.Duration(s.settings.ReloadInterval)
	var err error
	s.configFiles, err = reload.New(reload.Config{Interval: interval, First: reading, Apply: s.active.apply, Kick: s.kickConfig})
	if err != nil {
		return err
	}
	s.sealFile, err = s.sealing.watcher(sealReading, interval, s.kickSeal)
	return err
}

func (s *server) buildTelemetry(ctx context.Context) error {
	var err error
	telemetry.TellFaults(s.log)
	s.telemetry, err = telemetry.NewProviders(ctx, telemetry.Identity{
		Version: thisBuild().Version, Namespace: s.settings.Namespace, Replica: s.replica,
	})
	if err != nil {
		return err
	}
	if s.watch, err = telemetry.NewWatch(s.log, s.telemetry.Tracer, s.telemetry.Meter); err != nil {
		return err
	}
	return s.watchConfig()
}

func (s *server) buildLedger(ctx context.Context) error {
	tracer, err := telemetry.NewDatabase(s.telemetry.Tracer, s.telemetry.Meter)
	if err != nil {
		return err
	}
	if s.store, err = openStore(ctx, s.settings, restartPatience, tracer); err != nil {
		return err
	}
	if err := s.sealLedger(); err != nil {
		return err
	}
	s.active.life = newLife(s.store.book, s.replica, s.log, s.active)
	s.keeper, err = dedupe.NewKeeper(dedupe.KeeperConfig{
		Store: s.store, Replica: s.replica, Policy: s.active.policy, Worker: true, ForgetEvery: forgetEvery,
		Forgets: s.forgets(),
	})
	if err != nil {
		return err
	}
	s.cache, err = rediscache.New(rediscache.Config{
		Ledger: s.keeper, Namespace: s.settings.Namespace, URL: s.settings.RedisURL, Observer: s.watch,
		Sealer: seal.NewValues(s.settings.Namespace, s.sealing.ring),
	})
	if err != nil {
		return config.Problems{{Key: "REDIS_URL", Text: err.Error()}}
	}
	s.desk = s.cache.Desk(s.keeper)
	if s.attention, err = telemetry.NewAttention(s.telemetry.Meter, s.keeper); err != nil {
		return err
	}
	if err := s.buildNotary(); err != nil {
		return err
	}
	return telemetry.ObserveCache(s.telemetry.Meter, s.cache.Stats)
}

// sealLedger puts what is kept under the keys in force.
func (s *server) sealLedger() error {
	watch, err := telemetry.NewSeal(s.log, s.telemetry.Meter, s.sealing.invalidSince)
	if err != nil {
		return err
	}
	return s.store.seal(s.settings.Namespace, s.sealing.ring, watch)
}

func (s *server) buildProxy(context.Context) error {
	var err error
	c := upstream.Config{URL: s.settings.Upstream, OnError: proxy.PassFailed}
	if s.upstream, err = upstream.New(c); err != nil {
		return config.Problems{{Key: "SIDECAR_UPSTREAM", Text: err.Error()}}
	}
	if s.passing, err = upstream.NewPassthrough(c); err != nil {
		return err
	}
	if err := s.buildWorker(s.watch); err != nil {
		return err
	}
	s.proxy, err = proxy.New(proxy.Config{
		Ledger: worker.Waking{Ledger: s.cache, Dispatcher: s.worker}, Held: s.worker.Held, Watch: s.watch,
		Application: application{s.upstream, s.health}, Passthrough: s.passing, RoutesOnly: s.settings.Passthrough == "off",
		Guard: s.settings.Guard, Budget: int64(s.settings.MaxInflight),
	})
	if err != nil {
		return err
	}
	s.public = newPublicServer(s.proxy, s.log)
	return nil
}

// serve puts routes in force.
func (s *server) serve(routes []proxy.Route) error {
	return s.proxy.Serve(freshened(routes, s.refreshed, time.Duration(s.settings.CredentialMaxAge)))
}

// refreshed is when the files were last seen to say what is in force.
func (s *server) refreshed() time.Time {
	if s.configFiles == nil {
		return s.started
	}
	return s.configFiles.Refreshed()
}

func (s *server) buildAdmin(context.Context) error {
	tokens, err := adminTokens(s.settings.AdminTokenFile)
	if err != nil {
		return err
	}
	pages, err := admin.New(admin.Config{
		Receipts: s.desk, Dead: s.desk, Unready: s.health.unready, Status: s.status,
		Metrics: s.telemetry.Page(), Tokens: tokens, Credentials: s.credentialHistory, Log: s.log, About: s.aboutDeadLetters,
	})
	if err != nil {
		return err
	}
	s.admin = newAdminServer(pages.Operator(), s.log)
	if s.listeners.probe != nil {
		s.probe = newAdminServer(pages.Probes(), s.log)
	}
	return nil
}

// greet says once what this process is about to do.
func (s *server) greet(ctx context.Context, set *config.Set) {
	s.log.InfoContext(ctx, "sidecar starts", "version", thisBuild().Version, "integrations", len(set.Integrations),
		"ledger", describeLedger(s.settings), "namespace", s.settings.Namespace, "upstream", s.settings.Upstream,
		"listen", s.listeners.public.Addr().String(), "admin", s.listeners.admin.Addr().String())
	if s.settings.Database.Default {
		s.log.WarnContext(ctx, "DATABASE_URL is not set: the ledger is embedded SQLite, for this one process",
			"path", s.settings.Database.SQLite)
	}
	warnings := config.Warn(s.settings, set)
	for _, warning := range warnings[:min(len(warnings), maxWarnings)] {
		s.log.WarnContext(ctx, "configuration warning", "warning", warning.String())
	}
	if more := len(warnings) - maxWarnings; more > 0 {
		s.log.WarnContext(ctx, "more configuration warnings: sidecar check lists them all", "more", more)
	}
}

// served tells a server that was asked to stop from one that broke.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

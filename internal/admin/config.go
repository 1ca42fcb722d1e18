package admin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/console"
)

// Config is what an Admin is made of. Receipts, Dead, Unready and Status must be set.
type Config struct {
	Receipts Receipts
	Dead     DeadLetters
	// Unready tells why this process should get no traffic now; empty: it should.
	Unready func() []string
	// Status is what /api/v1/status answers, as a value that encodes as JSON.
	Status func(ctx context.Context) any
	// About is what the configuration says of a scope's dead letters; nil: nothing.
	About   func(delivery.Scope) console.About
	Metrics http.Handler // nil: 404
	// Credentials is what /api/v1/credentials answers, as a value that encodes as JSON. Nil: 404.
	Credentials func(ctx context.Context) (any, error)
	// Tokens returns the bearer tokens of the operator API, which may change. Nil: there are none, nothing can be changed,
	// and only this machine may read.
	Tokens func() ([]Token, error)
	Log    *slog.Logger // what persons changed; nil: nowhere
}

// Receipts is the part of a ledger that is read; see dedupe.Desk.
type Receipts interface {
	Receipt(ctx context.Context, scope delivery.Scope, id delivery.EventID) (dedupe.Receipt, error)
	List(ctx context.Context, f dedupe.Filter) ([]dedupe.Receipt, error)
}

// DeadLetters is the part of a ledger that persons change; see dedupe.Desk.
type DeadLetters interface {
	Replay(ctx context.Context, scope delivery.Scope, id delivery.EventID, by dedupe.Act) (dedupe.State, error)
	Close(ctx context.Context, scope delivery.Scope, id delivery.EventID, status int, by dedupe.Act) error
}

// Admin makes the handlers of the admin and probe listeners. It is safe for concurrent use.
type Admin struct {
	config Config
}

// New makes an Admin.
func New(c Config) (*Admin, error) {
	if c.Receipts == nil || c.Dead == nil || c.Unready == nil || c.Status == nil {
		return nil, errors.New("admin: receipts, dead letters, readiness and status are required")
	}
	if c.Metrics == nil {
		c.Metrics = http.NotFoundHandler()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Admin{config: c}, nil
}

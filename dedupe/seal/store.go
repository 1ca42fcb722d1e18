package seal

import (
	"context"
	"errors"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Watch is told what was wanted and could not be opened, in the goroutine that wanted it. It must be quick and safe for
// concurrent use.
type Watch interface {
	Unopened(kind dedupe.VaultKind, why *dedupe.SealedError)
}

// Config is what a Store is made of. Store, Namespace and Ring must be set.
type Config struct {
	Store     dedupe.Backend
	Namespace string // one application's ledger: part of what is sealed
	Ring      *Ring
	Watch     Watch // nil: nobody watches
}

// Store is a dedupe.Backend that seals what it keeps in another one. Its contract is the other's. Without keys it costs
// nothing, and refuses what is sealed. Safe for concurrent use.
type Store struct {
	dedupe.Backend // what is not sealed, and the vault, which shows what is stored
	namespace      string
	ring           *Ring
	watch          Watch
}

var _ dedupe.Backend = (*Store)(nil)

// New makes a Store.
func New(c Config) (*Store, error) {
	if c.Store == nil || c.Namespace == "" || c.Ring == nil {
		return nil, errors.New("seal: a store, a namespace and a ring are required")
	}
	if c.Watch == nil {
		c.Watch = unwatched{}
	}
	return &Store{Backend: c.Store, namespace: c.Namespace, ring: c.Ring, watch: c.Watch}, nil
}

// unwatched is the Watch of a Store that nobody watches.
type unwatched struct{}

func (unwatched) Unopened(dedupe.VaultKind, *dedupe.SealedError) {}

func (s *Store) label(p purpose, key dedupe.Key) *label {
	return &label{purpose: p, namespace: s.namespace, key: key}
}

// Insert implements dedupe.Store.
func (s *Store) Insert(ctx context.Context, rows []dedupe.NewRow) ([]dedupe.Found, error) {
	keys := s.ring.Keys()
	hasJob := func(row dedupe.NewRow) bool { return row.Job != nil }
	if _, sealing := keys.Sealing(); sealing && slices.ContainsFunc(rows, hasJob) {
		rows = slices.Clone(rows) // the caller may try again
		for i := range rows {
			rows[i].Job = s.sealJob(keys, rows[i].Key, rows[i].Job)
		}
	}
	found, err := s.Backend.Insert(ctx, rows)
	for i := range found {
		s.told(keys, &found[i].Row)
	}
	return found, err
}

// Move implements dedupe.Store.
func (s *Store) Move(ctx context.Context, moves []dedupe.Move) ([]bool, error) {
	keys := s.ring.Keys()
	if _, sealing := keys.Sealing(); sealing {
		moves = slices.Clone(moves)
		for i := range moves {
			moves[i].Job = s.sealJob(keys, moves[i].Key, moves[i].Job)
			moves[i].Response = s.sealBody(keys, moves[i].Key, moves[i].Response)
		}
	}
	return s.Backend.Move(ctx, moves)
}

// Read implements dedupe.Store.
func (s *Store) Read(ctx context.Context, wanted []dedupe.Key) ([]dedupe.Row, error) {
	rows, err := s.Backend.Read(ctx, wanted)
	keys := s.ring.Keys()
	for i := range rows {
		s.told(keys, &rows[i])
	}
	return rows, err
}

// Find implements dedupe.Archive.
func (s *Store) Find(ctx context.Context, reference string) ([]dedupe.Row, error) {
	rows, err := s.Backend.Find(ctx, reference)
	s.openRows(rows)
	return rows, err
}

// List implements dedupe.Archive.
func (s *Store) List(ctx context.Context, f dedupe.Filter) ([]dedupe.Row, error) {
	rows, err := s.Backend.List(ctx, f)
	s.openRows(rows)
	return rows, err
}

func (s *Store) openRows(rows []dedupe.Row) {
	keys := s.ring.Keys()
	for i := range rows {
		s.openRow(keys, &rows[i])
	}
}

// told opens a row that is about to decide something.
func (s *Store) told(keys *Keys, row *dedupe.Row) {
	if s.openRow(keys, row); row.Sealed != nil {
		s.watch.Unopened(dedupe.KeptResults, row.Sealed)
	}
}

// openRow opens the recorded body of a row, or takes the result out of it.
func (s *Store) openRow(keys *Keys, row *dedupe.Row) {
	if row.Response == nil || !dedupe.IsSealed(row.Response) {
		return
	}
	row.Response, row.Sealed = openBody(keys, s.label(forBody, row.Key), row.Response)
}

func (s *Store) sealJob(keys *Keys, key dedupe.Key, job *dedupe.Job) *dedupe.Job {
	if job == nil {
		return nil
	}
	return sealRequest(keys, s.label(forRequest, key), job)
}

func (s *Store) sealBody(keys *Keys, key dedupe.Key, r *delivery.Response) *delivery.Response {
	if r == nil || len(r.Body) == 0 {
		return r
	}
	return sealBody(keys, s.label(forBody, key), r)
}

package dedupetest

import (
	"context"
	"errors"
	"sync"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// fault is what goes wrong with one call of a store.
type fault uint8

const (
	notApplied fault = iota + 1 // lost on the way there
	butApplied                  // lost on the way back
)

// faults are both, once and twice in a row.
var faults = map[string][]fault{
	"not applied":           {notApplied},
	"but applied":           {butApplied},
	"applied at last":       {notApplied, butApplied},
	"applied, then refused": {butApplied, notApplied},
}

var errLost = errors.New("the connection was lost")

// faulty is a store whose next calls fail as planned. A plan for ever is never used up.
type faulty struct {
	dedupe.Backend
	mu             sync.Mutex
	inserts, moves []fault
	forEver        fault
	guilty         map[dedupe.Key]error // refuses the batches of these keys
}

func (f *faulty) next(plan *[]fault) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.forEver != 0 {
		return f.forEver
	}
	if len(*plan) == 0 {
		return 0
	}
	first := (*plan)[0]
	*plan = (*plan)[1:]
	return first
}

func (f *faulty) Insert(ctx context.Context, rows []dedupe.NewRow) ([]dedupe.Found, error) {
	for _, row := range rows {
		if err := f.blame(row.Key, len(rows)); err != nil {
			return nil, err
		}
	}
	return fail(f.next(&f.inserts), func() ([]dedupe.Found, error) { return f.Backend.Insert(ctx, rows) })
}

func (f *faulty) Move(ctx context.Context, moves []dedupe.Move) ([]bool, error) {
	for _, move := range moves {
		if err := f.blame(move.Key, len(moves)); err != nil {
			return nil, err
		}
	}
	return fail(f.next(&f.moves), func() ([]bool, error) { return f.Backend.Move(ctx, moves) })
}

func fail[R any](how fault, call func() ([]R, error)) ([]R, error) {
	if how == notApplied {
		return nil, errLost
	}
	answers, err := call()
	if how == butApplied {
		return nil, errors.Join(errLost, err)
	}
	return answers, err
}

func (f *faulty) blame(key dedupe.Key, rows int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.guilty[key]
	if err != nil && rows > 1 {
		return dedupe.ErrBatch
	}
	return err
}

func (f *faulty) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// once lets the next move happen as a test says, and those behind it as ever.
func (s *between) once(meddle func(move func() ([]bool, error)) ([]bool, error)) {
	s.move = func(move func() ([]bool, error)) ([]bool, error) {
		s.move = func(move func() ([]bool, error)) ([]bool, error) { return move() }
		return meddle(move)
	}
}

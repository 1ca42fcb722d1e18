package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
	"github.com/webhook-sidecar/webhook-sidecar/internal/reload"
)

const sealKeyVariable = "SIDECAR_SEAL_KEY_FILE"

// sealKeys reads the key file of the settings; nil where there is none. The error is a config.Problems.
func sealKeys(path string, readFile func(string) ([]byte, error)) (*seal.Keys, error) {
	if path == "" {
		return nil, nil
	}
	text, err := readFile(path)
	if err != nil && config.MayBeSecret(path) {
		return nil, config.Problems{{Key: sealKeyVariable, Text: config.NoName}}
	}
	if err != nil {
		var failed *fs.PathError
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, config.Problems{{Key: sealKeyVariable, Text: fmt.Sprintf("%s cannot be read: %v", path, err)}}
	}
	keys, err := seal.ParseKeys(text)
	var wrong seal.Problems
	if !errors.As(err, &wrong) {
		return keys, err
	}
	var problems config.Problems
	for _, one := range wrong {
		problems = append(problems, config.Problem{File: path, Line: one.Line, Key: sealKeyVariable, Text: one.Text})
	}
	return nil, problems
}

// sealing is the keys in force of a running sidecar.
type sealing struct {
	file  string // empty: nothing is sealed
	log   *slog.Logger
	ring  *seal.Ring
	wait  func(context.Context) // until a file that is being written is surely written
	state atomic.Pointer[sealingState]
}

// sealingState is since when they are, and what was wrong with the last file that did not come into force.
type sealingState struct {
	loaded   time.Time
	invalid  time.Time // since when the file says something else that is invalid; zero: it does not
	problems []string
}

// newSealing reads the keys for the first time.
func newSealing(ctx context.Context, file string, log *slog.Logger) (*sealing, *reload.Reading, error) {
	s := &sealing{file: file, log: log, ring: seal.NewRing(nil), wait: halfWritten}
	reading, keys, err := s.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.put(keys)
	return s, reading, nil
}

func (s *sealing) read(ctx context.Context) (*reload.Reading, *seal.Keys, error) {
	return reload.Settled(ctx, func(r *reload.Reading) (*seal.Keys, error) { return sealKeys(s.file, r.ReadFile) })
}

// Whoever writes a file in several steps has it say less for a moment.
const (
	writingTakes = 300 * time.Millisecond
	writingTries = 10
)

func halfWritten(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(writingTakes):
	}
}

// readAnew is read for keys that are in force already: a file that lacks some of them is believed when it says the same
// twice.
func (s *sealing) readAnew(ctx context.Context) (*reload.Reading, *seal.Keys, error) {
	reading, keys, err := s.read(ctx)
	for range writingTries {
		if err != nil || len(keyNames(s.ring.Keys(), keys)) == 0 {
			break
		}
		if s.wait(ctx); ctx.Err() != nil || reading.Same(reading.Again()) {
			break
		}
		reading, keys, err = s.read(ctx)
	}
	return reading, keys, err
}

func (s *sealing) put(keys *seal.Keys) {
	s.ring.Use(keys)
	s.state.Store(&sealingState{loaded: time.Now()})
}

// apply reads the file anew. What is invalid, empty or gone leaves the keys in force.
func (s *sealing) apply(ctx context.Context) (*reload.Reading, error) {
	reading, keys, err := s.readAnew(ctx)
	if ctx.Err() != nil {
		return reading, ctx.Err()
	}
	if err != nil {
		next := *s.state.Load()
		if next.problems = problemLines(err); next.invalid.IsZero() {
			next.invalid = time.Now()
		}
		s.state.Store(&next)
		s.log.ErrorContext(ctx, "the new seal keys are invalid: the old ones stay in force",
			"problems", next.problems, "invalid_since", next.invalid.UTC())
		return reading, err
	}
	gone := keyNames(s.ring.Keys(), keys)
	s.put(keys)
	s.log.InfoContext(ctx, "seal keys reloaded", "sealing", sealingKey(keys), "keys", keyNames(keys, nil))
	if len(gone) > 0 {
		s.log.WarnContext(ctx, "seal keys are gone from their file: what they have sealed can no longer be opened here", "gone", gone)
	}
	return reading, nil
}

// watcher follows the file; nil where there is none.
func (s *sealing) watcher(first *reload.Reading, interval time.Duration, kick <-chan struct{}) (*reload.Watcher, error) {
	if s.file == "" {
		return nil, nil
	}
	return reload.New(reload.Config{Interval: interval, First: first, Apply: s.apply, Kick: kick})
}

// invalidSince is when the file became invalid; false while it is not.
func (s *sealing) invalidSince() (time.Time, bool) {
	since := s.state.Load().invalid
	return since, !since.IsZero()
}

// sealingKey is the ID of the key that seals, or off.
func sealingKey(keys *seal.Keys) string {
	if id, sealing := keys.Sealing(); sealing {
		return id.String()
	}
	return "off"
}

// keyNames are the IDs of keys that others do not have.
func keyNames(keys, others *seal.Keys) []string {
	names := []string{}
	for _, id := range keys.IDs() {
		if !others.Has(id) {
			names = append(names, id.String())
		}
	}
	return names
}

// sealRing is the keys for a command, which reads them once.
func (p *program) sealRing(settings config.Settings) (*seal.Ring, error) {
	keys, err := sealKeys(settings.SealKeyFile, reload.NewReading().ReadFile)
	return seal.NewRing(keys), err
}

// sealStatus is what the status tells of sealing. Key IDs are no secret.
type sealStatus struct {
	File         string     `json:"file"`
	Sealing      string     `json:"sealing"` // ID of the key, or off
	Keys         []string   `json:"keys"`
	Loaded       time.Time  `json:"loaded"`
	Valid        bool       `json:"valid"`
	InvalidSince *time.Time `json:"invalid_since,omitempty"`
	Problems     []string   `json:"problems,omitempty"`
}

// status is nil where no key file is configured.
func (s *sealing) status() *sealStatus {
	if s.file == "" {
		return nil
	}
	state, keys := s.state.Load(), s.ring.Keys()
	return &sealStatus{
		File: s.file, Sealing: sealingKey(keys), Keys: keyNames(keys, nil), Loaded: state.loaded.UTC(),
		Valid: state.invalid.IsZero(), InvalidSince: knownTime(state.invalid), Problems: state.problems,
	}
}

// printSealKeys prints which keys are configured, by ID.
func (p *program) printSealKeys(settings config.Settings) error {
	keys, err := sealKeys(settings.SealKeyFile, reload.NewReading().ReadFile)
	if keys == nil {
		return err
	}
	fmt.Fprintf(p.out, "\nSeal keys\n")
	by, sealing := keys.Sealing()
	if !sealing {
		p.row(2, "off", "what is written is not sealed")
	}
	for _, id := range keys.IDs() {
		p.row(2, id.String(), "%s", either(sealing && id == by, "seals, and opens", "opens"))
	}
	return nil
}

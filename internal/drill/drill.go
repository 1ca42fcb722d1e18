package drill

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Bounds of a drill, generous because the machine may be busy.
const (
	stepPatience   = 30 * time.Second // a step that hangs fails after it
	answerPatience = 30 * time.Second // of a sender for one answer
	pollPause      = 20 * time.Millisecond
)

// Config is what a Drill is made of. Dir and Bound must be set.
type Config struct {
	Dir     string        // an empty folder for the configuration of the sidecars
	Bound   time.Duration // the declared time from a change of the files to its effect
	Version string        // of the program, for the report
}

// Drill is one drill. It is used once.
type Drill struct {
	config Config
	app    *application
	client *http.Client
	field  Field

	mu      sync.Mutex // deliveries are signed at once
	senders map[signer]*sender
	used    map[string]struct{} // secrets and signatures, which no log may show

	captured []original // of A's events, as somebody who listens to the network has them
}

// New starts the application of the drill and writes the files of the sidecars. Close ends the application.
func New(c Config) (*Drill, error) {
	if c.Dir == "" || c.Bound <= 0 {
		return nil, errors.New("drill: a folder and a bound are required")
	}
	app, err := startApplication()
	if err != nil {
		return nil, err
	}
	d := &Drill{
		config: c, app: app, senders: map[signer]*sender{}, used: map[string]struct{}{},
		client: &http.Client{Timeout: answerPatience, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	if err := d.configure(keysBefore()); err != nil {
		app.stop()
		return nil, err
	}
	return d, nil
}

// Application is the URL of the application that the sidecars stand before.
func (d *Drill) Application() string { return d.app.url }

// Close ends the application.
func (d *Drill) Close() { d.app.stop() }

// Run walks through the steps and tells what came of them. Progress, where it is not nil, is told each step as it ends.
func (d *Drill) Run(ctx context.Context, field Field, progress func(Step)) Report {
	d.field = field
	report := Report{
		Version: d.config.Version, Ledger: field.Ledger(), Replicas: len(field.Replicas()), Bound: d.config.Bound,
		Started: time.Now().UTC(),
	}
	for _, scene := range scenes() {
		step := &Step{ID: scene.id, Title: scene.title, Promise: scene.promise, Verdict: Passed}
		d.play(ctx, scene, step)
		report.Steps = append(report.Steps, *step)
		if progress != nil {
			progress(*step)
		}
	}
	report.Took = time.Since(report.Started)
	report.Passed = report.failed() == 0
	return report
}

func (d *Drill) play(ctx context.Context, scene scene, step *Step) {
	if scene.several && len(d.field.Replicas()) < 2 {
		step.Verdict = NotApplicable
		step.note("needs several replicas, and this ledger has one")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stepPatience)
	defer cancel()
	began := time.Now()
	scene.play(d, ctx, step)
	step.Took = time.Since(began)
}

// note remembers something that no log may show.
func (d *Drill) note(secret string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used[secret] = struct{}{}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
)

func (p *program) seal(ctx context.Context, args []string) error {
	word, rest, err := p.oneOf("seal", args, "status", "rotate")
	if err != nil {
		return err
	}
	if word == "status" {
		return p.sealStatus(ctx, rest)
	}
	return p.sealRotate(ctx, rest)
}

// sealStatus counts what is kept by the key that sealed it, and changes nothing.
func (p *program) sealStatus(ctx context.Context, args []string) error {
	flags := p.newFlags("seal status [--json]")
	asJSON := flags.Bool("json", false, "as JSON")
	if _, err := flags.parse(args, 0, 0); err != nil {
		return err
	}
	return p.rotate(ctx, rotating{dryRun: true, asJSON: *asJSON})
}

func (p *program) sealRotate(ctx context.Context, args []string) error {
	flags := p.newFlags("seal rotate --actor WHO --reason WHY [--dry-run] [--json]")
	by := flags.actor()
	dryRun := flags.Bool("dry-run", false, "count only")
	asJSON := flags.Bool("json", false, "as JSON")
	if _, err := flags.parse(args, 0, 0); err != nil {
		return err
	}
	if err := checkActor(by); err != nil && !*dryRun {
		return err
	}
	return p.rotate(ctx, rotating{by: *by, dryRun: *dryRun, asJSON: *asJSON})
}

// rotating says how a rotation was asked for.
type rotating struct {
	by             dedupe.Act
	dryRun, asJSON bool
}

// rotate brings everything that is kept under the first key. It fails where something could not be opened, or was held.
func (p *program) rotate(ctx context.Context, how rotating) error {
	settings, err := p.settings()
	if err != nil {
		return err
	}
	ring, err := p.sealRing(settings)
	if err != nil {
		return err
	}
	if ring.Keys() == nil && !how.dryRun {
		return config.Problems{{Key: sealKeyVariable, Text: "is not set: there is no key to rotate to; the word off as the first line unseals"}}
	}
	if how.dryRun {
		settings.Migrate = "off" // whoever only looks changes nothing
	}
	opened, err := openExisting(ctx, settings)
	if err != nil {
		return err
	}
	defer opened.close()
	if !how.dryRun {
		if err := p.fitting(ctx, settings, ring.Keys(), opened.vault); err != nil {
			return err
		}
		if err := opened.RecordRotation(ctx, sealingKey(ring.Keys()), how.by); err != nil {
			return fmt.Errorf("seal: %w", err)
		}
	}
	report, err := seal.Rotation{
		Vault: opened.vault, Namespace: settings.Namespace, Keys: ring.Keys(), DryRun: how.dryRun, Progress: p.progress(),
	}.Run(ctx)
	shown := newRotationReport(ring.Keys(), report, how)
	if err == nil {
		err = shown.tellActs(ctx, opened)
	}
	err = errors.Join(err, p.showRotation(shown, how.asJSON)) // what was done until then is told
	if err == nil && report.Left() > 0 {
		err = errFailed
	}
	return err
}

// fitting refuses to seal what the sidecar could not open then: it does not know the key, or has another namespace, which is
// a part of what is sealed. A sidecar is asked where one answers beside this command. An embedded ledger, which does not tell
// whose it is, is asked for what is sealed already.
func (p *program) fitting(ctx context.Context, settings config.Settings, keys *seal.Keys, vault dedupe.Vault) error {
	by, sealing := keys.Sealing()
	if running, err := p.running(ctx, settings); err == nil && sealing {
		if running.Seal == nil || !slices.Contains(running.Seal.Keys, by.String()) {
			return fmt.Errorf("seal: the running sidecar %s does not have the key %s: every replica must, before anything is rewritten", running.Replica, by)
		}
	}
	if settings.Database.SQLite == "" {
		return nil
	}
	report, err := seal.Rotation{Vault: vault, Namespace: settings.Namespace, Keys: keys, DryRun: true}.Run(ctx)
	if err != nil {
		return err
	}
	known, closed := 0, 0
	for _, id := range keys.IDs() {
		known += report.Requests.Found[id] + report.Results.Found[id]
		closed += report.Requests.Unopened[id] + report.Results.Unopened[id]
	}
	if known > 0 && known == closed {
		return fmt.Errorf("seal: nothing of what these keys have sealed opens in the namespace %q: SIDECAR_NAMESPACE is not that of the sidecar", settings.Namespace)
	}
	return nil
}

// progressEvery is how often a person who waits is told how far it is.
const progressEvery = 10 * time.Second

// progress tells on standard error how far a long rotation has come.
func (p *program) progress() func(seal.Report) {
	told := time.Now()
	return func(r seal.Report) {
		if time.Since(told) < progressEvery {
			return
		}
		told = time.Now()
		fmt.Fprintf(p.err, "%d requests and %d results looked at, %d rewritten\n", r.Requests.Count(), r.Results.Count(),
			r.Requests.Rewritten+r.Results.Rewritten)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/postgres"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/rediscache"
	"github.com/webhook-sidecar/webhook-sidecar/internal/reload"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
)

func (p *program) check(ctx context.Context, args []string) error {
	flags := p.newFlags("check")
	if _, err := flags.parse(args, 0, 0); err != nil {
		return err
	}
	settings, settingsErr := p.settings()
	var set *config.Set
	var setErr error
	if settings.Config != "" {
		set, setErr = p.integrations(settings)
	}
	if settingsErr == nil {
		settingsErr = checkRooms(ctx, settings)
	}
	if err := allProblems(settingsErr, setErr); err != nil {
		return err
	}
	running, runningErr := p.running(ctx, settings)
	if runningErr == nil {
		if err := running.broughtBack(set); err != nil {
			return err
		}
	}
	p.printSettings(settings)
	if err := p.printSealKeys(settings); err != nil {
		return err
	}
	for _, i := range set.Integrations {
		p.printIntegration(set, i)
	}
	if runningErr == nil {
		p.printChanges(running, set)
	}
	p.printRemarks("Notes", set.Notes)
	p.printRemarks("Warnings", config.Warn(settings, set))
	_, err := fmt.Fprintf(p.out, "\nThe configuration is valid: %s.\n", plural(len(set.Integrations), "integration"))
	return err
}

// checkRooms asks the rooms about what only they understand. Nothing is connected to.
func checkRooms(ctx context.Context, settings config.Settings) error {
	var problems config.Problems
	if _, err := upstream.New(upstream.Config{URL: settings.Upstream}); err != nil {
		problems = append(problems, config.Problem{Key: "SIDECAR_UPSTREAM", Text: err.Error()})
	}
	if url := settings.Database.PostgresURL; url != "" {
		opened, err := postgres.Open(ctx, postgres.Config{URL: url, Namespace: settings.Namespace, NoMigrate: true})
		if err != nil {
			problems = append(problems, config.Problem{Key: "DATABASE_URL", Text: err.Error()})
		} else {
			opened.Close()
		}
	}
	if settings.RedisURL != "" {
		_, err := rediscache.New(rediscache.Config{Ledger: &dedupe.Keeper{}, Namespace: settings.Namespace, URL: settings.RedisURL})
		if err != nil {
			problems = append(problems, config.Problem{Key: "REDIS_URL", Text: err.Error()})
		}
	}
	_, tokensErr := adminTokens(settings.AdminTokenFile)
	_, sealErr := sealKeys(settings.SealKeyFile, reload.NewReading().ReadFile)
	return allProblems(problems, tokensErr, sealErr)
}

// allProblems joins the problems of several errors; nil where there are none.
func allProblems(errs ...error) error {
	var all config.Problems
	for _, err := range errs {
		var problems config.Problems
		switch {
		case err == nil:
		case errors.As(err, &problems):
			all = append(all, problems...)
		default:
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func (p *program) printRemarks(title string, remarks config.Problems) {
	if len(remarks) == 0 {
		return
	}
	fmt.Fprintf(p.out, "\n%s\n", title)
	for _, remark := range remarks {
		fmt.Fprintf(p.out, "  %s\n", remark)
	}
}

func plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}

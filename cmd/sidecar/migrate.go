package main

import (
	"context"
	"fmt"
)

func (p *program) migrate(ctx context.Context, args []string) error {
	flags := p.newFlags("migrate")
	if _, err := flags.parse(args, 0, 0); err != nil {
		return err
	}
	settings, err := p.settings()
	if err != nil {
		return err
	}
	settings.Migrate = "auto"
	opened, err := openStore(ctx, settings, 0, nil)
	if err != nil {
		return err
	}
	defer opened.close()
	if err := opened.ping(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	_, err = fmt.Fprintf(p.out, "The schema is up to date: %s\n", describeLedger(settings))
	return err
}

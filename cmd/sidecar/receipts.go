package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/rediscache"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/console"
)

func (p *program) receipts(ctx context.Context, args []string) error {
	word, rest, err := p.oneOf("receipts", args, "list", "show", "reopen")
	if err != nil {
		return err
	}
	switch word {
	case "list":
		return p.list(ctx, "receipts list [SCOPE] [--state STATE[,…]] [--limit N] [--offset N] [--json]", rest, nil, p.showList)
	case "show":
		return p.show(ctx, "receipts show (SCOPE EVENT_ID | REFERENCE) [--json]", rest)
	default:
		return p.reopen(ctx, rest)
	}
}

// list prints receipts by show; states nil lets a flag choose.
func (p *program) list(ctx context.Context, usage string, args []string, states []dedupe.State,
	show func(found []dedupe.Receipt, asJSON bool) error,
) error {
	flags := p.newFlags(usage)
	filter := dedupe.Filter{States: states}
	if states == nil {
		flags.Func("state", "only these `states`: claimed, retryable, queued, applied, dead, closed", func(text string) error {
			return parseStates(text, &filter.States)
		})
	}
	flags.IntVar(&filter.Limit, "limit", 100, "most receipts")
	flags.IntVar(&filter.Offset, "offset", 0, "leave out the first")
	asJSON := flags.Bool("json", false, "as JSON")
	scopes, err := flags.parse(args, 0, 1)
	if err != nil {
		return err
	}
	if filter.Limit < 1 || filter.Offset < 0 {
		return usagef("--limit must be at least 1 and --offset not negative")
	}
	if len(scopes) == 1 {
		if filter.Scope, err = delivery.ParseScope(scopes[0]); err != nil {
			return usagef("%v", err)
		}
	}
	return p.atDesk(ctx, func(desk dedupe.Desk) error {
		found, err := desk.List(ctx, filter)
		if err != nil {
			return err
		}
		return show(found, *asJSON)
	})
}

func (p *program) showList(found []dedupe.Receipt, asJSON bool) error {
	if asJSON {
		return p.json(console.NewReceipts(found))
	}
	return console.List(p.out, found)
}

func parseStates(text string, into *[]dedupe.State) error {
	for name := range strings.SplitSeq(text, ",") {
		state, known := dedupe.ParseState(strings.TrimSpace(name))
		if !known {
			return fmt.Errorf("%q is no state", name)
		}
		*into = append(*into, state)
	}
	return nil
}

// show tells the story of one event.
func (p *program) show(ctx context.Context, usage string, args []string) error {
	flags := p.newFlags(usage)
	asJSON := flags.Bool("json", false, "as JSON")
	event, err := flags.event(args)
	if err != nil {
		return err
	}
	return p.atDesk(ctx, func(desk dedupe.Desk) error {
		receipt, err := event.find(ctx, desk)
		if err != nil {
			return err
		}
		if *asJSON {
			return p.json(console.NewReceipt(receipt))
		}
		return console.Story(p.out, receipt, time.Now())
	})
}

func (p *program) reopen(ctx context.Context, args []string) error {
	return p.change(ctx, "receipts reopen (SCOPE EVENT_ID | REFERENCE) --actor WHO --reason WHY", args, nil,
		func(desk dedupe.Desk, r dedupe.Receipt, by dedupe.Act) (string, error) {
			err := desk.Reopen(ctx, r.Scope, r.EventID, by)
			if err == nil {
				p.remindOfRedis()
			}
			return "reopened: the next delivery runs again; local caches follow within 30 s", err
		})
}

// remindOfRedis is for who runs a command beside the replicas, with other settings than theirs: what nobody told Redis,
// replicas go on finding there.
func (p *program) remindOfRedis() {
	settings, err := p.settings()
	if err == nil && settings.RedisURL == "" && settings.Database.PostgresURL != "" {
		fmt.Fprintln(p.err, "note: REDIS_URL is not set here: replicas that have one may answer with the old result for up to an hour")
	}
}

// atDesk opens the ledger for a command, and the cache that must forget what the command reopens, and closes both
// afterwards.
func (p *program) atDesk(ctx context.Context, do func(desk dedupe.Desk) error) error {
	settings, err := p.settings()
	if err != nil {
		return err
	}
	keeper, closeLedger, err := p.openKeeper(ctx, settings)
	if err != nil {
		return err
	}
	defer closeLedger()
	ring, err := p.sealRing(settings)
	if err != nil {
		return err
	}
	cache, err := rediscache.New(rediscache.Config{
		Ledger: keeper, Namespace: settings.Namespace, URL: settings.RedisURL, Sealer: seal.NewValues(settings.Namespace, ring),
	})
	if err != nil {
		return config.Problems{{Key: "REDIS_URL", Text: err.Error()}}
	}
	err = do(cache.Desk(keeper))
	if cache.Stats().Unmarked > 0 {
		fmt.Fprintln(p.err, "warning: Redis could not be told: replicas that find the old result there may answer with it for up to an hour")
	}
	return errors.Join(err, cache.Close())
}

package main

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/capacity"
)

// kept is what the integrations file says of retention.
type kept struct {
	scopes map[delivery.Scope]time.Duration
	notes  []string
}

func (p *program) kept(settings config.Settings) kept {
	k := kept{scopes: map[delivery.Scope]time.Duration{}, notes: []string{}}
	set, err := p.integrations(settings)
	switch {
	case err == nil:
		for scope, policy := range set.Policies() {
			k.scopes[scope] = policy.Retention.Receipt
		}
	case p.environ["SIDECAR_CONFIG"] != "" || !absent(settings.Config):
		k.notes = append(k.notes, "the integrations file cannot be used (sidecar check tells why), so that the default retention is taken")
	}
	return k
}

// absent tells that there is no such file, as where nothing is installed.
func absent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func (k kept) retention(scope delivery.Scope) (time.Duration, bool) {
	kept, known := k.scopes[scope]
	return kept, known
}

// longest is the plan's days.
func (k kept) longest() capacity.Factor {
	factor := capacity.Factor{
		Value: capacity.Days(capacity.DefaultRetention),
		From:  "default: sender_window 72h + repair_window 96h + clock_skew 5m",
	}
	var longest time.Duration
	for scope, retention := range k.scopes {
		if retention > longest {
			longest = retention
			factor = capacity.Factor{Value: capacity.Days(retention), From: "the longest configured retention, of " + string(scope)}
		}
	}
	return factor
}

package postgres

import (
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe/dedupetest"
)

func TestCredentials(t *testing.T) { dedupetest.RunCredentials(t, open(t, freshDB(t), nil)) }

package postgres

import (
	"crypto/rand"
	"encoding/base64"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/dedupetest"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
)

// The contracts hold over whatever is sealed: with keys that two replicas have in another order, where one of them does not
// seal, and without any key.
func TestContractsOfSealedStores(t *testing.T) {
	one, two := someKey(), someKey()
	for name, keys := range map[string][2]string{
		"two first keys": {one + two, two + one}, "sealed and not": {one, "off\n" + one}, "no keys": {},
	} {
		t.Run(name, func(t *testing.T) {
			open := func(t *testing.T) dedupetest.Harness {
				h := harness(t)
				h.Store, h.Other = under(t, h.Store, keys[0]), under(t, h.Other, keys[1])
				return h
			}
			t.Run("store", func(t *testing.T) { dedupetest.RunStore(t, open) })
			if name == "two first keys" {
				t.Run("ledger", func(t *testing.T) { dedupetest.RunLedger(t, open) })
			}
		})
	}
}

func someKey() string {
	var key [seal.KeySize]byte
	rand.Read(key[:])
	return base64.StdEncoding.EncodeToString(key[:]) + "\n"
}

// under puts the store under seal with a file of keys.
func under(t *testing.T, store dedupe.Backend, file string) dedupe.Backend {
	t.Helper()
	ring := seal.NewRing(nil)
	if file != "" {
		keys, err := seal.ParseKeys([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		ring.Use(keys)
	}
	sealed, err := seal.New(seal.Config{Store: store, Namespace: "test", Ring: ring})
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

package sqlite

import (
	"crypto/rand"
	"encoding/base64"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe/dedupetest"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
)

// The contracts hold over whatever is sealed.
func TestContractsOfASealedStore(t *testing.T) {
	open := func(t *testing.T) dedupetest.Harness {
		var key [seal.KeySize]byte
		rand.Read(key[:])
		keys, err := seal.ParseKeys([]byte(base64.StdEncoding.EncodeToString(key[:])))
		if err != nil {
			t.Fatal(err)
		}
		h := harness(t)
		h.Store, err = seal.New(seal.Config{Store: h.Store, Namespace: "test", Ring: seal.NewRing(keys)})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	t.Run("store", func(t *testing.T) { dedupetest.RunStore(t, open) })
	t.Run("ledger", func(t *testing.T) { dedupetest.RunLedger(t, open) })
}

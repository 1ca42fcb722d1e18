package seal

import (
	"crypto/cipher"
	"crypto/sha256"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// KeySize is the length of a key in bytes.
const KeySize = chacha20poly1305.KeySize

// Keys are the keys of one reading of a key file. They are immutable and safe for concurrent use. The nil Keys has none:
// nothing is sealed, and nothing that is sealed can be opened.
type Keys struct {
	order []dedupe.KeyID
	ciphs map[dedupe.KeyID]cipher.AEAD
	off   bool // the first one does not seal
}

// idOf names a key. Whoever knows the ID learns nothing about the key that it could not guess whole.
func idOf(key []byte) dedupe.KeyID {
	sum := sha256.New()
	sum.Write([]byte("webhook-sidecar seal key ID\x00"))
	sum.Write(key)
	return dedupe.KeyID(sum.Sum(nil)[:len(dedupe.KeyID{})])
}

// add takes a key of KeySize bytes.
func (k *Keys) add(key []byte) error {
	id := idOf(key)
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return fmt.Errorf("seal key %s: %w", id, err)
	}
	k.order, k.ciphs[id] = append(k.order, id), aead
	return nil
}

// IDs are the keys in their order.
func (k *Keys) IDs() []dedupe.KeyID {
	if k == nil {
		return nil
	}
	return k.order
}

// Sealing is the key that seals; false where nothing is sealed.
func (k *Keys) Sealing() (dedupe.KeyID, bool) {
	if k == nil || k.off || len(k.order) == 0 {
		return dedupe.KeyID{}, false
	}
	return k.order[0], true
}

// Has tells whether a key is at hand.
func (k *Keys) Has(id dedupe.KeyID) bool {
	if k == nil {
		return false
	}
	_, has := k.ciphs[id]
	return has
}

package seal

import (
	"crypto/rand"
	"encoding/binary"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// purpose is what a value is sealed for. Part of what is sealed: its words never change.
type purpose string

// The purposes.
const (
	forRequest purpose = "request"
	forBody    purpose = "body"
	forCache   purpose = "cache"
)

const (
	nonceSize = chacha20poly1305.NonceSizeX
	plainAt   = dedupe.SealHead + nonceSize // where ciphertext begins
	overhead  = plainAt + chacha20poly1305.Overhead
)

// label is what a value belongs to.
type label struct {
	purpose   purpose
	namespace string
	key       dedupe.Key
}

// associated is what is authenticated beside the value. Each part is behind its length.
func (l *label) associated(id dedupe.KeyID) []byte {
	data := make([]byte, 0, 192)
	for _, part := range []string{
		"webhook-sidecar seal 1", string(l.purpose), string(id[:]), l.namespace, string(l.key.Scope), string(l.key.EventID),
	} {
		data = binary.BigEndian.AppendUint64(data, uint64(len(part)))
		data = append(data, part...)
	}
	return data
}

// envelope is room for a value of so many bytes, to which it is appended before it is closed.
func envelope(size int) []byte { return make([]byte, plainAt, overhead+size) }

// closeEnvelope seals what was appended to an envelope, in place. A key that seals must be at hand.
func (k *Keys) closeEnvelope(l *label, value []byte) []byte {
	id := k.order[0]
	value[0] = dedupe.SealVersion
	copy(value[1:], id[:])
	nonce := value[dedupe.SealHead:plainAt]
	rand.Read(nonce) // never fails: it ends the process instead
	return k.ciphs[id].Seal(value[:plainAt], nonce, value[plainAt:], l.associated(id))
}

// seal seals a copy of plain.
func (k *Keys) seal(l *label, plain []byte) []byte {
	return k.closeEnvelope(l, append(envelope(len(plain)), plain...))
}

// open opens a value in place: its memory becomes the plain value's.
func (k *Keys) open(l *label, value []byte) ([]byte, *dedupe.SealedError) {
	id, well := dedupe.SealedBy(value)
	if !well || len(value) < overhead {
		return nil, &dedupe.SealedError{Key: l.key, KeyID: id, Damaged: true}
	}
	if !k.Has(id) {
		return nil, &dedupe.SealedError{Key: l.key, KeyID: id}
	}
	sealed := value[plainAt:]
	plain, err := k.ciphs[id].Open(sealed[:0], value[dedupe.SealHead:plainAt], sealed, l.associated(id))
	if err != nil {
		return nil, &dedupe.SealedError{Key: l.key, KeyID: id, Damaged: true}
	}
	return plain, nil
}

package verify

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // senders still sign with HMAC-SHA1, which is not broken
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"sync"
)

// maxMAC is the size of the longest digest, of SHA-512.
const maxMAC = sha512.Size

// macKey computes HMACs with one secret. The padded key is hashed once and for all: a pooled state is only reset. Safe
// for concurrent use.
type macKey struct {
	size   int
	states sync.Pool
	self   [1]*macKey // what macs gives, without allocating
}

// macHolder is a credential's key that holds one or more shared secrets.
type macHolder interface{ macs() []*macKey }

func (k *macKey) macs() []*macKey { return k.self[:] }

type macState struct {
	hash.Hash
	sum [maxMAC]byte
}

func newMACKey(algorithm string, secret []byte) (*macKey, error) {
	construct, size, err := digest(algorithm)
	if err != nil {
		return nil, err
	}
	key := &macKey{size: size}
	key.self[0] = key
	key.states.New = func() any { return &macState{Hash: hmac.New(construct, secret)} }
	return key, nil
}

func digest(algorithm string) (func() hash.Hash, int, error) {
	switch algorithm {
	case "sha1":
		return sha1.New, sha1.Size, nil
	case "sha256":
		return sha256.New, sha256.Size, nil
	case "sha512":
		return sha512.New, sha512.Size, nil
	}
	return nil, 0, fmt.Errorf("%q is none of sha1, sha256, sha512", algorithm)
}

// sum is the HMAC of the parts of a message, one after the other.
func (k *macKey) sum(message [][]byte) []byte {
	state := k.compute(message)
	defer k.states.Put(state)
	return append([]byte(nil), state.sum[:k.size]...)
}

func (k *macKey) compute(message [][]byte) *macState {
	state := k.states.Get().(*macState)
	state.Reset()
	for _, part := range message {
		state.Write(part)
	}
	state.Sum(state.sum[:0])
	return state
}

// matches compares in constant time. It allocates nothing once a state is pooled.
func (k *macKey) matches(message, signatures [][]byte) bool {
	state := k.compute(message)
	defer k.states.Put(state)
	matched := false
	for _, signature := range signatures {
		if hmac.Equal(signature, state.sum[:k.size]) {
			matched = true
		}
	}
	return matched
}

package rediscache

import (
	"hash/maphash"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

const (
	shards        = 8
	entryOverhead = 144 // bytes of an entry beside its payload: itself, its place in the index, rounding by the allocator
)

// memory is the local tier: payloads of facts that were confirmed a short while ago, within a number of entries and of
// bytes. Safe for concurrent use.
//
// It gives up what was neither put nor asked for for the longest time. That is what keeps the word about the last results:
// a policy that spares what was once asked for longer than what is new would, when the asking moves on, hold on to old
// results and push out each new one before its duplicate comes.
type memory struct {
	seed   maphash.Seed
	base   time.Time
	shards [shards]shard
}

// newMemory gives every shard an eighth more entries than its share, since hashing fills them unevenly; the bytes are
// strict.
func newMemory(entries, bytes int, now time.Time) *memory {
	m := &memory{seed: maphash.MakeSeed(), base: now}
	for i := range m.shards {
		m.shards[i] = shard{
			entries:    make(map[uint64]*entry),
			maxEntries: entries/shards + entries/shards/8 + 1, maxBytes: bytes / shards,
		}
	}
	return m
}

func (m *memory) locate(key dedupe.Key) (*shard, uint64) {
	hash := maphash.Comparable(m.seed, key)
	return &m.shards[hash%shards], hash
}

// get returns the payload under the key's hash, which may be another key's: the payload tells.
func (m *memory) get(key dedupe.Key, now time.Time) ([]byte, bool) {
	s, hash := m.locate(key)
	return s.get(hash, now.Sub(m.base))
}

// put keeps a payload until a time.
func (m *memory) put(key dedupe.Key, payload []byte, until time.Time) {
	s, hash := m.locate(key)
	s.put(&entry{hash: hash, payload: payload, until: until.Sub(m.base)})
}

func (m *memory) drop(key dedupe.Key) {
	s, hash := m.locate(key)
	s.drop(hash)
}

// size is what is kept at the moment.
func (m *memory) size() (entries, bytes int) {
	for i := range m.shards {
		e, b := m.shards[i].size()
		entries, bytes = entries+e, bytes+b
	}
	return entries, bytes
}

package rediscache

import (
	"hash/maphash"
	"sync"
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
// Which to give up is decided by SIEVE: a hand walks from the oldest to the newest, spares once what was asked for since
// it last came by, and takes the first other. New events, most of which are never asked for again, so push out each
// other and not the duplicates.
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

// entry is a payload and its neighbours in the order of arrival.
type entry struct {
	hash         uint64
	payload      []byte
	until        time.Duration // since the memory was made
	asked        bool          // since the hand came by
	older, newer *entry
}

func (e *entry) cost() int { return entryOverhead + cap(e.payload) }

// shard is one independent part of the memory.
type shard struct {
	mu             sync.Mutex
	entries        map[uint64]*entry
	oldest, newest *entry
	hand           *entry // nil: at the oldest
	bytes          int
	maxEntries     int
	maxBytes       int
}

func (s *shard) get(hash uint64, now time.Duration) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[hash]
	if e == nil {
		return nil, false
	}
	if now >= e.until {
		s.remove(e)
		return nil, false
	}
	e.asked = true
	return e.payload, true
}

func (s *shard) put(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.cost() > s.maxBytes {
		return
	}
	if old := s.entries[e.hash]; old != nil {
		e.asked = old.asked
		s.remove(old)
	}
	for len(s.entries) >= s.maxEntries || s.bytes+e.cost() > s.maxBytes {
		s.evict()
	}
	s.add(e)
}

func (s *shard) drop(hash uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[hash]; e != nil {
		s.remove(e)
	}
}

func (s *shard) size() (entries, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries), s.bytes
}

// evict takes the hand to the next entry that nobody asked for. Called with mu held and at least one entry.
func (s *shard) evict() {
	e := s.hand
	if e == nil {
		e = s.oldest
	}
	for e.asked {
		e.asked = false
		if e = e.newer; e == nil {
			e = s.oldest
		}
	}
	s.hand = e
	s.remove(e)
}

// add puts an entry at the newest end. Called with mu held.
func (s *shard) add(e *entry) {
	e.older = s.newest
	if s.newest != nil {
		s.newest.newer = e
	} else {
		s.oldest = e
	}
	s.newest = e
	s.entries[e.hash] = e
	s.bytes += e.cost()
}

// remove takes an entry out, and the hand on to its newer neighbour. Called with mu held.
func (s *shard) remove(e *entry) {
	if s.hand == e {
		s.hand = e.newer
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		s.oldest = e.newer
	}
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		s.newest = e.older
	}
	delete(s.entries, e.hash)
	s.bytes -= e.cost()
}

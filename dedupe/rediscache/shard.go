package rediscache

import (
	"sync"
	"time"
)

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

package rediscache

import (
	"sync"
	"time"
)

// entry is a payload and its neighbours in the order of use.
type entry struct {
	hash         uint64
	payload      []byte
	until        time.Duration // since the memory was made
	older, newer *entry
}

func (e *entry) cost() int { return entryOverhead + cap(e.payload) }

// shard is one independent part of the memory.
type shard struct {
	mu             sync.Mutex
	entries        map[uint64]*entry
	oldest, newest *entry
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
	s.unlink(e)
	s.link(e)
	return e.payload, true
}

func (s *shard) put(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.cost() > s.maxBytes {
		return
	}
	if old := s.entries[e.hash]; old != nil {
		s.remove(old)
	}
	for len(s.entries) >= s.maxEntries || s.bytes+e.cost() > s.maxBytes {
		s.remove(s.oldest)
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

// add puts an entry at the newest end. Called with mu held.
func (s *shard) add(e *entry) {
	s.link(e)
	s.entries[e.hash] = e
	s.bytes += e.cost()
}

// remove takes an entry out. Called with mu held.
func (s *shard) remove(e *entry) {
	s.unlink(e)
	delete(s.entries, e.hash)
	s.bytes -= e.cost()
}

func (s *shard) link(e *entry) {
	e.older, e.newer = s.newest, nil
	if s.newest != nil {
		s.newest.newer = e
	} else {
		s.oldest = e
	}
	s.newest = e
}

func (s *shard) unlink(e *entry) {
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
}

package telemetry

import (
	"maps"
	"math"
	"sync"
	"sync/atomic"
)

// lookup is a map that is asked with every delivery and grows a few times in the life of a process: reading takes no lock
// and allocates nothing. The zero value is empty. Safe for concurrent use.
type lookup[K comparable, V any] struct {
	now  atomic.Pointer[map[K]V]
	grow sync.Mutex
}

// get returns the value of a key, which create makes when it is new.
func (l *lookup[K, V]) get(key K, create func(K) V) V {
	value, _ := l.getOf(key, math.MaxInt, create)
	return value
}

// getOf is get for at most so many keys; false for one more.
func (l *lookup[K, V]) getOf(key K, most int, create func(K) V) (V, bool) {
	all := l.all()
	value, found := all[key]
	if found || len(all) >= most {
		return value, found
	}
	l.grow.Lock()
	defer l.grow.Unlock()
	all = l.all()
	value, found = all[key]
	if found || len(all) >= most {
		return value, found
	}
	next := make(map[K]V, len(all)+1)
	maps.Copy(next, all)
	value = create(key)
	next[key] = value
	l.now.Store(&next)
	return value, true
}

// all is what there is now. It must not be changed.
func (l *lookup[K, V]) all() map[K]V {
	if now := l.now.Load(); now != nil {
		return *now
	}
	return nil
}

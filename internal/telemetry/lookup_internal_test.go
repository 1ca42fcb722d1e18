package telemetry

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Many ask for the same few keys at once: each is made once, everybody gets that one, and no more than the limit exist.
func TestALookupMakesEachValueOnce(t *testing.T) {
	const keys, most, askers = 40, 30, 8
	var l lookup[int, *int]
	var made [keys]atomic.Int64
	var got [askers][keys]*int
	var all sync.WaitGroup
	for asker := range askers {
		all.Go(func() {
			for i := range 10 * keys {
				key := (i*7 + asker*5) % keys
				value, kept := l.getOf(key, most, func(key int) *int {
					made[key].Add(1)
					return &key
				})
				switch {
				case kept && (*value != key || got[asker][key] != nil && got[asker][key] != value):
					t.Errorf("asker %d got another value of %d", asker, key)
				case kept:
					got[asker][key] = value
				case value != nil || got[asker][key] != nil:
					t.Errorf("asker %d lost the value of %d", asker, key)
				}
			}
		})
	}
	all.Wait()
	kept := 0
	for key := range keys {
		if n := made[key].Load(); n > 1 {
			t.Errorf("the value of %d was made %d times", key, n)
		} else if n == 1 {
			kept++
		}
	}
	if kept != most || len(l.all()) != most {
		t.Errorf("%d values made, %d kept, want %d", kept, len(l.all()), most)
	}
}

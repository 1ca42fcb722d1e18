package rediscache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The first note after a pause is written at once, what comes soon after it together, and a full batch waits for nothing.
func TestNotesAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		s := &shared{notes: make(chan note, maxNotes), counts: &counts{}}
		began := time.Now()
		last := time.Time{}
		next := func(size int, at time.Duration) {
			t.Helper()
			batch, more := s.nextBatch(ctx, nil, last)
			if last = time.Now(); !more || len(batch) != size || last.Sub(began) != at {
				t.Fatalf("%d notes after %v, %v; want %d after %v", len(batch), last.Sub(began), more, size, at)
			}
		}
		put := func(notes int) {
			for range notes {
				s.notes <- note{}
			}
		}
		put(1)
		next(1, 0)
		go func() {
			for range 3 {
				sleep(t.Context(), time.Millisecond)
				put(1)
			}
		}()
		next(3, writeEvery)
		put(1)
		next(1, 2*writeEvery)
		put(maxNoteBatch + 1)
		next(maxNoteBatch, 2*writeEvery)
		next(1, 3*writeEvery)
		sleep(t.Context(), time.Hour)
		put(1)
		next(1, 3*writeEvery+time.Hour)
		put(1)
		go func() {
			sleep(t.Context(), time.Millisecond)
			end()
		}()
		if _, more := s.nextBatch(ctx, nil, last); more {
			t.Error("the end is not heard while a batch waits")
		}
		if _, more := s.nextBatch(ctx, nil, last); more {
			t.Error("the end is not heard while nothing waits")
		}
	})
}

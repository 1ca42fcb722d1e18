package rediscache

import "sync/atomic"

const (
	// surely is the estimate that every delivery is a duplicate.
	surely = 1 << 16
	// enough is the share of duplicates, 3 %, from which asking Redis about each delivery costs less than letting the
	// ledger find the duplicates.
	enough = surely * 3 / 100
	// memoryOf is how many deliveries the estimate looks back on.
	memoryOf = 256
)

// worth estimates which share of the deliveries that local memory does not know are duplicates, and so whether it pays to
// ask Redis before the ledger. Where next to nothing is a duplicate, the ledger is asked at once. Begins with the belief
// that it pays. Safe for concurrent use; updates that cross each other may be lost, which an estimate can bear.
type worth struct {
	share   atomic.Int32 // of surely
	failing atomic.Bool  // the ledger did not answer the last time
}

func newWorth() *worth {
	w := &worth{}
	w.share.Store(surely)
	return w
}

// asking tells whether Redis is to be asked first. While the ledger fails it always is.
func (w *worth) asking() bool { return w.share.Load() >= enough || w.failing.Load() }

// saw tells what a delivery turned out to be.
func (w *worth) saw(duplicate bool) {
	share := w.share.Load()
	if duplicate {
		w.share.Store(share + (surely-share)/memoryOf)
		return
	}
	w.share.Store(share - (share+memoryOf-1)/memoryOf)
}

// heard tells whether the ledger answered.
func (w *worth) heard(failed bool) {
	if w.failing.Load() != failed {
		w.failing.Store(failed)
	}
}

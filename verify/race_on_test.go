//go:build race

package verify

// raceEnabled tells that the race detector runs, under which sync.Pool drops values at random.
const raceEnabled = true

//go:build race

package sqlite

// plays is how many orders of calls a run draws, unless the command line says it. Under the race detector SQLite, which is C in
// the form of Go, is twenty times as slow.
const plays = "30"

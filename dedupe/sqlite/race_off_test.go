//go:build !race

package sqlite

const plays = "100"

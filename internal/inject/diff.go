package inject

import (
	"fmt"
	"slices"
	"strings"
)

// around is how many lines a diff shows before and behind a change.
const around = 3

// step is a line of a diff: kept (' '), taken out ('-') or added ('+').
type step struct {
	sign byte
	line string
}

// Diff is the unified diff of two texts, empty where they are equal.
func Diff(fromName, toName, from, to string) string {
	if from == to {
		return ""
	}
	steps := steps(slices.Collect(strings.Lines(from)), slices.Collect(strings.Lines(to)))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", fromName, toName)
	for _, hunk := range hunks(steps) {
		writeHunk(&out, steps, hunk[0], hunk[1])
	}
	return out.String()
}

// steps finds a shortest way from one text to the other (Myers, 1986).
func steps(a, b []string) []step {
	var trail []map[int]int
	furthest := map[int]int{1: 0}
	for edits := 0; ; edits++ {
		trail = append(trail, clone(furthest))
		for k := -edits; k <= edits; k += 2 {
			x := furthest[k-1] + 1
			if k == -edits || k != edits && furthest[k-1] < furthest[k+1] {
				x = furthest[k+1]
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			furthest[k] = x
			if x >= len(a) && x-k >= len(b) {
				return backtrack(a, b, trail)
			}
		}
	}
}

func clone(m map[int]int) map[int]int {
	c := make(map[int]int, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

func backtrack(a, b []string, trail []map[int]int) []step {
	var way []step
	x, y := len(a), len(b)
	for edits := len(trail) - 1; edits >= 0; edits-- {
		furthest, k := trail[edits], x-y
		before := k - 1
		if k == -edits || k != edits && furthest[k-1] < furthest[k+1] {
			before = k + 1
		}
		beforeX := furthest[before]
		beforeY := beforeX - before
		for x > beforeX && y > beforeY && x > 0 && y > 0 {
			way = append(way, step{' ', a[x-1]})
			x, y = x-1, y-1
		}
		switch {
		case edits == 0:
		case x == beforeX:
			way = append(way, step{'+', b[y-1]})
			y--
		default:
			way = append(way, step{'-', a[x-1]})
			x--
		}
	}
	slices.Reverse(way)
	return way
}

// hunks are the ranges of steps that are shown.
func hunks(steps []step) [][2]int {
	var found [][2]int
	for i, s := range steps {
		if s.sign == ' ' {
			continue
		}
		from, to := max(0, i-around), min(len(steps), i+around+1)
		if last := len(found) - 1; last >= 0 && found[last][1] >= from {
			found[last][1] = to
			continue
		}
		found = append(found, [2]int{from, to})
	}
	return found
}

func writeHunk(out *strings.Builder, steps []step, from, to int) {
	oldLine, newLine, oldCount, newCount := 1, 1, 0, 0
	for i, s := range steps[:to] {
		inOld, inNew := s.sign != '+', s.sign != '-'
		switch {
		case i < from:
			oldLine, newLine = oldLine+count(inOld), newLine+count(inNew)
		default:
			oldCount, newCount = oldCount+count(inOld), newCount+count(inNew)
		}
	}
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", oldLine, oldCount, newLine, newCount)
	for _, s := range steps[from:to] {
		out.WriteByte(s.sign)
		out.WriteString(s.line)
		if !strings.HasSuffix(s.line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

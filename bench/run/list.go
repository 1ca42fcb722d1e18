package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// numbers is a comma-separated flag.
type numbers []int

func (n *numbers) String() string { return strings.Trim(fmt.Sprint([]int(*n)), "[]") }

// Set reads the flag.
func (n *numbers) Set(text string) error {
	*n = nil
	for part := range strings.SplitSeq(text, ",") {
		number, err := strconv.Atoi(part)
		if err != nil {
			return err
		}
		*n = append(*n, number)
	}
	return nil
}

// words is a comma-separated flag.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }

// Set reads the flag.
func (w *words) Set(text string) error {
	*w = strings.Split(text, ",")
	return nil
}

// has tells whether a word is wanted; an empty list wants all.
func (w words) has(word string) bool { return len(w) == 0 || slices.Contains(w, word) }

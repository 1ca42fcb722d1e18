package config

// nearest returns the known word that is most like text, or "" when none is near enough to be meant.
func nearest(text string, known []string) string {
	best, bestDistance := "", len(text)/3+2
	for _, word := range known {
		if distance := editDistance(text, word); distance < bestDistance {
			best, bestDistance = word, distance
		}
	}
	return best
}

// editDistance counts the insertions, deletions and changes of bytes that make a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := previous
			if a[i] != b[j] {
				change++
			}
			previous = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// hint is the nearest known word as the end of a sentence.
func hint(text string, known []string) string {
	if len(text) > 100 {
		return ""
	}
	if word := nearest(text, known); word != "" {
		return "; did you mean " + word + "?"
	}
	return ""
}

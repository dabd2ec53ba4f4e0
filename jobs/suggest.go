package jobs

import (
	"strconv"
	"strings"
)

// suggest returns a hint for somebody who wrote word instead of one of known.
func suggest(word string, known []string) string {
	if len(known) == 0 {
		return "none is known"
	}
	hint := "known: " + strings.Join(known, ", ")
	if best := nearest(word, known); best != "" {
		return "did you mean " + strconv.Quote(best) + "? (" + hint + ")"
	}
	return hint
}

// nearest returns the known word that takes the fewest edits, if those are few.
func nearest(word string, known []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := edits(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// edits counts the bytes to insert, delete or replace to turn a into b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

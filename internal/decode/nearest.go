package decode

import (
	"slices"
	"strings"
)

// Nearest returns the known word that somebody who misspelt it as word most
// likely meant: the one with the same letters in another order, else the one
// that takes the fewest edits, if those are few; "" if none is near.
func Nearest(word string, known []string) string {
	word = strings.ToLower(word)
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		d := edits(word, strings.ToLower(k))
		if sameLetters(word, strings.ToLower(k)) {
			d = min(d, 1)
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// sameLetters reports whether a and b differ only in the order of their letters.
func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
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

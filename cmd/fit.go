package cmd

import "slices"

// gap is how far the columns of a table stand apart, and leastColumn what is left
// of one that is cut.
const (
	gap         = 2
	leastColumn = 6
)

// fit returns how wide each column may be, for all of them to fit a terminal: 0 is
// left out. The columns named in drop go first, in that order, until the others
// fit; then the widest of those named in cut are shortened.
func fit(natural, drop, cut []int, width int) []int {
	w := slices.Clone(natural)
	for _, i := range drop {
		if across(w) <= width {
			return w
		}
		w[i] = 0
	}
	for across(w) > width {
		widest := -1
		for _, i := range cut {
			if w[i] > leastColumn && (widest < 0 || w[i] > w[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return w
		}
		w[widest]--
	}
	return w
}

// across is how wide columns are together.
func across(widths []int) int {
	sum := -gap
	for _, w := range widths {
		if w > 0 {
			sum += w + gap
		}
	}
	return max(sum, 0)
}

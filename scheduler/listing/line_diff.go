package listing

import "slices"

// A DiffLine is a line of a unified diff: Op is "-" where it was taken out, "+" where
// it was put in, and " " where it is in both.
type DiffLine struct{ Op, Text string }

// mostCells bounds the work of comparing two texts: so many pairs of lines, about a
// thousand lines against a thousand. Where there are more, all of the one is taken out
// and all of the other put in.
const mostCells = 1 << 20

// diffLines returns how one text becomes another, line by line, with as few lines
// taken out and put in as can be.
func diffLines(from, to []string) []DiffLine {
	before := alike(from, to)
	from, to, head := from[before:], to[before:], from[:before]
	after := alikeAtEnd(from, to)
	tail := to[len(to)-after:]
	from, to = from[:len(from)-after], to[:len(to)-after]
	lines := appendLines(make([]DiffLine, 0, len(head)+len(from)+len(to)+len(tail)), " ", head)
	if len(from)*len(to) > mostCells {
		lines = appendLines(appendLines(lines, "-", from), "+", to)
	} else {
		lines = appendEdits(lines, from, to)
	}
	return appendLines(lines, " ", tail)
}

// alike is how many lines the two have in common at their beginning.
func alike(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func alikeAtEnd(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

func appendLines(lines []DiffLine, op string, texts []string) []DiffLine {
	for _, text := range texts {
		lines = append(lines, DiffLine{op, text})
	}
	return lines
}

// appendEdits keeps a longest common subsequence. What is taken out comes before what
// is put in its place.
func appendEdits(lines []DiffLine, from, to []string) []DiffLine {
	longest := commonLengths(from, to)
	i, j := 0, 0
	for i < len(from) && j < len(to) {
		switch {
		case from[i] == to[j]:
			lines = append(lines, DiffLine{" ", from[i]})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			lines = append(lines, DiffLine{"-", from[i]})
			i++
		default:
			lines = append(lines, DiffLine{"+", to[j]})
			j++
		}
	}
	return appendLines(appendLines(lines, "-", from[i:]), "+", to[j:])
}

// commonLengths returns how long the longest common subsequence is of what follows the
// first i lines of the one and the first j of the other.
func commonLengths(from, to []string) [][]int32 {
	longest := make([][]int32, len(from)+1)
	for i := range longest {
		longest[i] = make([]int32, len(to)+1)
	}
	for i, line := range slices.Backward(from) {
		for j, other := range slices.Backward(to) {
			if line == other {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	return longest
}

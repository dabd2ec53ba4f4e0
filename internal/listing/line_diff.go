package listing

import "slices"

// A DiffLine is a line of a unified diff. Op is "-" for a removed line, "+" for an added
// one, and " " for a line in both.
type DiffLine struct{ Op, Text string }

// maxLinePairs bounds the work of comparing two texts: pairs of lines, about 1,000 by 1,000.
// Beyond it the diff removes the whole old text and adds the new one.
const maxLinePairs = 1 << 20

// diffLines returns a shortest line diff.
func diffLines(from, to []string) []DiffLine {
	before := commonPrefix(from, to)
	from, to, head := from[before:], to[before:], from[:before]
	after := commonSuffix(from, to)
	tail := to[len(to)-after:]
	from, to = from[:len(from)-after], to[:len(to)-after]
	lines := appendLines(make([]DiffLine, 0, len(head)+len(from)+len(to)+len(tail)), " ", head)
	if len(from)*len(to) > maxLinePairs {
		lines = appendLines(appendLines(lines, "-", from), "+", to)
	} else {
		lines = appendEdits(lines, from, to)
	}
	return appendLines(lines, " ", tail)
}

// commonPrefix counts the lines of the common prefix.
func commonPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []string) int {
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

// appendEdits keeps a longest common subsequence. Removed lines come before added ones.
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

// commonLengths returns, for each i and j, the length of a longest common subsequence
// of from[i:] and to[j:].
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

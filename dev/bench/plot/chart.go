// Package plot draws charts as SVG that read well on light and on dark ground.
package plot

// A Chart is bars, or lines over numbers.
type Chart struct {
	File  string // without the extension
	Title string
	// Axis says what the values are.
	Axis string
	// Bars are drawn one under the other, with their values written by Format.
	Bars   []Bar
	Format func(v float64) string

	// Lines are drawn over X instead.
	XAxis string
	Lines []Line
}

// A Bar is a named value.
type Bar struct {
	Name  string
	Value float64
	Ours  bool
}

// A Line is a named run of values.
type Line struct {
	Name  string
	X, Y  []float64
	Ours  bool
	Bound bool // it is what must not be exceeded: drawn broken
}

// Package report judges what was measured and writes it down.
package report

import (
	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/plot"
)

// A Result is one line of the table.
type Result struct {
	What   string
	Unit   Unit
	Ours   float64
	Theirs float64 // zero: there is nothing to compare with
	// Of says whose Theirs is.
	Of string
	// Ratio is that of Ours to Theirs.
	Ratio pairs.Ratio
	Bound Bound
	// Notes are what a reader should know besides: what others do, and what a
	// peer cannot do.
	Notes []string
	// Headline, if set, is a line of the summary, with {ours}, {theirs}, {times} for
	// the ratio and {inverse} for one divided by it.
	Headline string
}

// A Bound is what a Result must keep. The zero Bound is none.
type Bound struct {
	Given   bool
	Limit   float64
	AtLeast bool // instead of at most
	Ratio   bool // it bounds the ratio instead of our value
}

// RatioAtLeast bounds the ratio from below.
func RatioAtLeast(limit float64) Bound {
	return Bound{Given: true, Limit: limit, AtLeast: true, Ratio: true}
}

// RatioAtMost bounds the ratio from above.
func RatioAtMost(limit float64) Bound { return Bound{Given: true, Limit: limit, Ratio: true} }

// AtMost bounds our value from above.
func AtMost(limit float64) Bound { return Bound{Given: true, Limit: limit} }

// AtLeast bounds our value from below.
func AtLeast(limit float64) Bound { return Bound{Given: true, Limit: limit, AtLeast: true} }

// A Verdict says whether a Result keeps its Bound.
type Verdict string

// Verdicts.
const (
	OK     Verdict = "ok"
	Missed Verdict = "MISSED"
	Shown  Verdict = "" // there is no bound
)

// Verdict judges r.
func (r Result) Verdict() Verdict {
	value := r.Ours
	if r.Bound.Ratio {
		value = r.Ratio.Of
	}
	switch b := r.Bound; {
	case !b.Given:
		return Shown
	case b.AtLeast && value >= b.Limit, !b.AtLeast && value <= b.Limit:
		return OK
	}
	return Missed // also what is not a number
}

// A Section is what one measurement found.
type Section struct {
	Key     string
	Title   string
	Method  string
	Results []Result
	Charts  []plot.Chart
}

// Missed returns the results that do not keep their bounds.
func (s Section) Missed() []Result {
	var list []Result
	for _, r := range s.Results {
		if r.Verdict() == Missed {
			list = append(list, r)
		}
	}
	return list
}

package pages

import (
	"slices"
	"time"

	"github.com/quorate/quorate/internal/console/view"
)

// A dotChart shows how long the latest runs of a job took. Its places are percent of its width and height.
type dotChart struct {
	About string
	Lines []dotLine
	Dots  []dot
}

// A dotLine is a duration: one of the scale, or a limit.
type dotLine struct{ Class, Y, Text string }

// A dot is a run. What did not run has its mark below the scale.
type dot struct {
	mark
	X, Y  string
	Title string
	Ran   bool
}

type namedSpan struct {
	name string
	time.Duration
}

// Places on the chart.
const (
	dotsTop, dotsGround, dotsBelow = 6.0, 84.0, 96.0
	dotsLeft, dotsRight            = 1.0, 99.0
)

// newDotChart draws ticks, newest first; nil without durations. The period and the limit of a run are lines if they are
// near enough to be seen; 0: none.
func newDotChart(show times, ticks []view.Tick, period, limit time.Duration) *dotChart {
	var most time.Duration
	for _, t := range ticks {
		if d, known := t.Took(show.Now); known {
			most = max(most, d)
		}
	}
	if most == 0 {
		return nil
	}
	step := scaleStep(most)
	top := (most + step - 1) / step * step
	limits := slices.DeleteFunc([]namedSpan{{"period", period}, {"timeout", limit}}, func(l namedSpan) bool { return l.Duration <= 0 || l.Duration > 2*most })
	for _, l := range limits {
		top = max(top, l.Duration)
	}
	y := func(d time.Duration) string {
		return percent(dotsGround - (dotsGround-dotsTop)*float64(d)/float64(top))
	}
	c := &dotChart{}
	for _, l := range limits {
		c.Lines = append(c.Lines, dotLine{"limit", y(l.Duration), l.name + " " + view.Span(l.Duration)})
	}
	for at := time.Duration(0); at <= top; at += step {
		c.Lines = append(c.Lines, dotLine{"scale", y(at), view.Span(at)})
	}
	for i, t := range slices.Backward(ticks) {
		x := (dotsLeft + dotsRight) / 2
		if n := len(ticks); n > 1 {
			x = dotsLeft + (dotsRight-dotsLeft)*float64(n-1-i)/float64(n-1)
		}
		one := dot{mark: markOf(t.Outcome), X: percent(x), Y: percent(dotsBelow)}
		one.Title = show.clock(view.Time(&t.Tick)) + ": " + one.Word
		if d, known := t.Took(show.Now); known {
			one.Ran, one.Y = true, y(d)
			one.Title += ", " + view.Span(d)
		}
		c.Dots = append(c.Dots, one)
	}
	c.About = "How long the latest " + view.Count(len(ticks), "tick", "ticks") + " took, at most " + view.Span(most)
	if list := took(ticks, show.Now); len(list) > 0 {
		c.About += "; of " + view.Count(len(list), "success", "successes") + " p50 " + view.Span(view.Quantile(list, 0.5)) + ", p95 " + view.Span(view.Quantile(list, 0.95))
	}
	return c
}

// scaleStep is a round part of a duration, a fifth to a half of it.
func scaleStep(most time.Duration) time.Duration {
	for unit := time.Millisecond; unit < time.Second; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if most <= 4*n*unit {
				return n * unit
			}
		}
	}
	for _, unit := range []time.Duration{time.Second, time.Minute} {
		for _, n := range []time.Duration{1, 2, 5, 10, 15, 30} {
			if most <= 4*n*unit {
				return n * unit
			}
		}
	}
	for step := time.Hour; ; step *= 2 {
		if most <= 4*step {
			return step
		}
	}
}

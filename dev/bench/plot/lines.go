package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	plotLeft   = 64.0
	plotRight  = 170.0 // for the names
	plotTop    = 62.0
	plotHeight = 230.0
)

// A scale maps values to places. Both begin at zero.
type scale struct{ most, length float64 }

func (s scale) at(v float64) float64 {
	if s.most == 0 {
		return 0
	}
	return v / s.most * s.length
}

// lines draws the lines, each with its name at its end.
func (c Chart) lines() string {
	x, y := scale{length: width - plotLeft - plotRight}, scale{length: plotHeight}
	for _, l := range c.Lines {
		for i := range l.X {
			x.most, y.most = math.Max(x.most, l.X[i]), math.Max(y.most, l.Y[i])
		}
	}
	step := step(y.most)
	y.most = math.Max(step, math.Ceil(y.most/step)*step)
	return c.frame(plotTop+plotHeight+48, func(d *drawing) {
		d.text(16, 46, "quiet", "start", c.Axis)
		for v := 0.0; v <= y.most; v += step {
			at := plotTop + plotHeight - y.at(v)
			d.add(`<line x1="%.0f" y1="%.1f" x2="%.0f" y2="%.1f" class="grid"/>`, plotLeft, at, plotLeft+x.length, at)
			d.text(plotLeft-8, at+4, "quiet", "end", fmt.Sprintf("%.0f", v))
		}
		c.marks(d, x)
		for _, l := range c.Lines {
			l.draw(d, x, y)
		}
		c.names(d, x, y)
	})
}

// names writes the names at the ends of the lines, one clear of the other.
func (c Chart) names(d *drawing, x, y scale) {
	const apart = 15.0
	lowest := math.Inf(1)
	byEnd := slices.SortedFunc(slices.Values(c.Lines), func(a, b Line) int { return cmp.Compare(a.end(), b.end()) })
	for _, l := range byEnd {
		at := math.Min(plotTop+plotHeight-y.at(l.end())+4, lowest-apart)
		d.text(plotLeft+x.length+8, at, "", "start", l.Name)
		lowest = at
	}
}

// end is the last value.
func (l Line) end() float64 {
	if len(l.Y) == 0 {
		return 0
	}
	return l.Y[len(l.Y)-1]
}

// marks writes the values of x under the plot.
func (c Chart) marks(d *drawing, x scale) {
	for _, v := range c.Lines[0].X {
		d.text(plotLeft+x.at(v), plotTop+plotHeight+18, "quiet", "middle", fmt.Sprintf("%g", v))
	}
	d.text(plotLeft+x.length/2, plotTop+plotHeight+38, "quiet", "middle", c.XAxis)
}

func (l Line) draw(d *drawing, x, y scale) {
	kind := class(l.Ours)
	if l.Bound {
		kind = "bound"
	}
	var points []string
	for i := range l.X {
		points = append(points, fmt.Sprintf("%.1f,%.1f", plotLeft+x.at(l.X[i]), plotTop+plotHeight-y.at(l.Y[i])))
	}
	d.add(`<polyline points="%s" class="line %s"/>`, strings.Join(points, " "), kind)
}

// step returns a round distance between about five lines of a grid.
func step(most float64) float64 {
	if most <= 0 {
		return 1
	}
	rough := most / 5
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5} {
		if rough <= m*power {
			return m * power
		}
	}
	return 10 * power
}

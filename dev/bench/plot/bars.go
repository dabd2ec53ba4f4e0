package plot

import "math"

const (
	barTop    = 44.0
	barStep   = 30.0
	barHeight = 18.0
	barLeft   = 250.0
	barRight  = 110.0 // for the value
)

// bars draws one bar under the other, each with its name and its value.
func (c Chart) bars() string {
	longest := 0.0
	for _, b := range c.Bars {
		longest = math.Max(longest, b.Value)
	}
	return c.frame(barTop+barStep*float64(len(c.Bars))+8, func(d *drawing) {
		for i, b := range c.Bars {
			y := barTop + barStep*float64(i)
			long := 0.0
			if longest > 0 && b.Value > 0 {
				long = math.Max(1, (width-barLeft-barRight)*b.Value/longest)
			}
			d.text(barLeft-10, y+14, "", "end", b.Name)
			d.add(`<rect x="%.0f" y="%.0f" width="%.1f" height="%.0f" rx="2" class="%s"/>`, barLeft, y, long, barHeight, class(b.Ours))
			d.text(barLeft+long+8, y+14, "quiet", "start", c.Format(b.Value))
		}
	})
}

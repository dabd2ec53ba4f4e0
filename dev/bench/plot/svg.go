package plot

import (
	"fmt"
	"html"
	"strings"
)

// The colours change with the ground the picture is shown on.
const style = `<style>
text{font:13px system-ui,sans-serif;fill:#24292f}
.title{font-weight:600;font-size:15px}
.quiet{fill:#57606a}
.ours{fill:#1a7f64}.theirs{fill:#8c959f}
.line{fill:none;stroke-width:2}
.line.ours{fill:none;stroke:#1a7f64}.line.theirs{fill:none;stroke:#8c959f}.line.bound{fill:none;stroke:#bc4c00;stroke-dasharray:5 4}
.grid{stroke:#d0d7de;stroke-width:1}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.quiet{fill:#9198a1}
.ours{fill:#3fb68f}.theirs{fill:#6e7681}
.line.ours{stroke:#3fb68f}.line.theirs{stroke:#8b949e}.line.bound{stroke:#f0883e}
.grid{stroke:#30363d}
}
</style>
`

// width of every picture.
const width = 720

// SVG draws the chart.
func (c Chart) SVG() string {
	if len(c.Lines) > 0 {
		return c.lines()
	}
	return c.bars()
}

// A drawing is a picture that grows.
type drawing struct{ strings.Builder }

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

// text writes at a place; anchor is start, middle or end.
func (d *drawing) text(x, y float64, class, anchor, s string) {
	d.add(`<text x="%.0f" y="%.0f" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor, html.EscapeString(s))
}

// frame puts the head and the end around what inner draws.
func (c Chart) frame(height float64, inner func(d *drawing)) string {
	d := &drawing{}
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" width="%d" height="%.0f" role="img" aria-label="%s">`,
		width, height, width, height, html.EscapeString(c.Title))
	d.WriteString(style)
	d.text(16, 26, "title", "start", c.Title)
	inner(d)
	d.add("</svg>")
	return d.String()
}

func class(ours bool) string {
	if ours {
		return "ours"
	}
	return "theirs"
}

package plot_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/bench/plot"
)

// texts returns the words of a picture, and fails where it is not XML.
func texts(t *testing.T, svg string) string {
	t.Helper()
	var words strings.Builder
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return words.String()
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if data, ok := token.(xml.CharData); ok {
			words.Write(data)
		}
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	svg := plot.Chart{
		Title: "a < b", Format: func(v float64) string { return fmt.Sprintf("%.0f apples", v) },
		Bars: []plot.Bar{{Name: "ours & co", Value: 4, Ours: true}, {Name: "theirs", Value: 2}, {Name: "none"}},
	}.SVG()
	words := texts(t, svg)
	for _, want := range []string{"a < b", "ours & co", "4 apples", "2 apples", "0 apples"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is missing in\n%s", want, svg)
		}
	}
	for _, want := range []string{`width="360.0" height="18" rx="2" class="ours"`, `width="180.0" height="18" rx="2" class="theirs"`, "prefers-color-scheme:dark"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is missing in\n%s", want, svg)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	svg := plot.Chart{
		Title: "commands", Axis: "commands", XAxis: "replicas",
		Lines: []plot.Line{
			{Name: "ours", X: []float64{0, 50}, Y: []float64{0, 50}, Ours: true},
			{Name: "at most", X: []float64{0, 50}, Y: []float64{10, 100}, Bound: true},
		},
	}.SVG()
	words := texts(t, svg)
	for _, want := range []string{"ours", "at most", "replicas", "100", "20"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is missing in\n%s", want, svg)
		}
	}
	// From the left to the right, and half as high as the highest.
	if want := `points="64.0,292.0 550.0,177.0" class="line ours"`; !strings.Contains(svg, want) {
		t.Errorf("%s is missing in\n%s", want, svg)
	}
}

// Names of lines that end close together stay readable.
func TestNamesOfLines(t *testing.T) {
	t.Parallel()
	svg := plot.Chart{Lines: []plot.Line{
		{Name: "upper", X: []float64{1}, Y: []float64{51}},
		{Name: "top", X: []float64{1}, Y: []float64{100}},
		{Name: "lower", X: []float64{1}, Y: []float64{50}},
	}}.SVG()
	for _, want := range []string{`y="181" class="" text-anchor="start">lower`, `y="166" class="" text-anchor="start">upper`, `y="66" class="" text-anchor="start">top`} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is missing in\n%s", want, svg)
		}
	}
}

package report_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/plot"
	"github.com/quorate/quorate/dev/bench/report"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		bound report.Bound
		ours  float64
		ratio float64
		want  report.Verdict
	}{
		{report.RatioAtLeast(2), 1, 2, report.OK},
		{report.RatioAtLeast(2), 3, 1.99, report.Missed},
		{report.RatioAtMost(1.6), 3, 1.6, report.OK},
		{report.RatioAtMost(1.6), 1, 1.61, report.Missed},
		{report.AtMost(0), 0, 9, report.OK},
		{report.AtMost(0), 1, 0, report.Missed},
		{report.AtMost(20), math.NaN(), 0, report.Missed},
		{report.Bound{}, 1, 1, report.Shown},
	} {
		r := report.Result{Ours: tc.ours, Ratio: pairs.Ratio{Of: tc.ratio}, Bound: tc.bound}
		if got := r.Verdict(); got != tc.want {
			t.Errorf("%+v of %v, ratio %v: %q, want %q", tc.bound, tc.ours, tc.ratio, got, tc.want)
		}
	}
}

func TestUnits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		unit  report.Unit
		value float64
		want  string
	}{
		{report.PerSecond, 12345.6, "12,346/s"},
		{report.PerSecond, 999, "999/s"},
		{report.Seconds, 0.0000012, "1.20 µs"},
		{report.Seconds, 0.000123, "123 µs"},
		{report.Seconds, 0.00123, "1.23 ms"},
		{report.Seconds, 2.5, "2.50 s"},
		{report.Commands, 20.24, "20.2"},
		{report.Bytes, 1024, "1,024 B"},
		{report.Percent, 36, "36.0 %"},
		{report.Ticks, 0, "0"},
		{report.Seconds, math.NaN(), "–"},
	} {
		if got := tc.unit.Format(tc.value); got != tc.want {
			t.Errorf("%v is written %q, want %q", tc.value, got, tc.want)
		}
	}
}

func results() []report.Result {
	return []report.Result{
		{
			What: "claims", Unit: report.PerSecond, Ours: 5000, Theirs: 2000, Of: "redsync",
			Ratio: pairs.Ratio{Of: 2.5, Low: 2.25, High: 3}, Bound: report.RatioAtLeast(2), Notes: []string{"one failed"},
			Headline: "{ours}, {times} times redsync's {theirs}",
		},
		{What: "commands", Unit: report.Commands, Ours: 21.04, Bound: report.AtMost(20)},
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	report.Print(&b, results())
	want := `what      ours     theirs             ratio  spread     bound
claims    5,000/s  2,000/s (redsync)  2.50   2.25–3.00  ≥ 2    ok
commands  21.0                                          ≤ 20   MISSED
  claims: one failed
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	md := report.Markdown(results())
	want = `| what | ours | theirs | ratio | spread | bound |  |
|---|---|---|---|---|---|---|
| claims | 5,000/s | 2,000/s (redsync) | 2.50 | 2.25–3.00 | ≥ 2 | ok |
| commands | 21.0 |  |  |  | ≤ 20 | **MISSED** |
`
	if md != want {
		t.Errorf("got\n%swant\n%s", md, want)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(root, "docs", "performance.md")
	old := "<!-- bench:summary -->\nold\n<!-- /bench:summary -->\na\n<!-- bench:machine -->\nold\n<!-- /bench:machine -->\nb\n<!-- bench:table -->\n<!-- /bench:table -->\nc\n<!-- bench:details -->\n<!-- /bench:details -->\nd\n"
	write(t, page, old)
	sections := []report.Section{{
		Key: "claims", Title: "Claims", Method: "Many at once.", Results: results(),
		Charts: []plot.Chart{{File: "claims", Title: "Claims per second", Format: report.PerSecond.Format, Bars: []plot.Bar{{Name: "ours", Value: 1}}}},
	}}
	for range 2 { // writing again changes nothing
		if err := report.Write(root, report.Machine{Commit: "abc1234"}, sections); err != nil {
			t.Fatal(err)
		}
	}
	text := read(t, page)
	for _, want := range []string{"a\n", "commit abc1234", "| claims | 5,000/s", "### Claims", "performance/claims.svg", "* claims: one failed", "\nd\n"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is there %d times in\n%s", want, strings.Count(text, want), text)
		}
	}
	if strings.Contains(text, "old") {
		t.Error("the old text is still there")
	}
	if want := "<!-- bench:summary -->\n* 5,000/s, 2.5 times redsync's 2,000/s\n<!-- /bench:summary -->\na\n"; !strings.HasPrefix(text, want) {
		t.Errorf("the page is\n%s", text)
	}
	if svg := read(t, filepath.Join(root, "docs", "performance", "claims.svg")); !strings.HasPrefix(svg, "<svg") {
		t.Errorf("the picture is %s", svg)
	}
	write(t, page, "no markers")
	if err := report.Write(root, report.Machine{}, sections); err == nil {
		t.Error("a page without markers is written")
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(root, "docs", "performance.md")
	write(t, page, "<!-- bench:profile-before -->\n<!-- /bench:profile-before -->\n")
	list := []report.Profile{{Title: "claim", Cost: 0.0001, Functions: []report.Function{{Name: "example.org/a/pkg.Func", Self: 12.5, WithCalls: 50}}}}
	if err := report.WriteProfiles(root, "before", report.Machine{Commit: "abc1234", Date: "2026-01-01"}, list); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Commit abc1234", "claim: 100 µs of processor time each", "| `example.org/a/pkg.Func` | 12.5 % | 50.0 % |", "performance/profile-before-1.svg"} {
		if !strings.Contains(read(t, page), want) {
			t.Errorf("%q is missing in\n%s", want, read(t, page))
		}
	}
	if svg := read(t, filepath.Join(root, "docs", "performance", "profile-before-1.svg")); !strings.Contains(svg, ">example.org/a/pkg<") {
		t.Errorf("the picture is %s", svg)
	}
}

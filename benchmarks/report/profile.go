package report

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/quorate/quorate/benchmarks/plot"
)

// functions is how many lines of a profile are kept.
const functions = 15

// A Profile is where the processor's time went.
type Profile struct {
	Title string
	// Cost is the processor time of one operation, in seconds.
	Cost float64
	Top  []Function
}

// A Function is one line of a Profile, in percent of all samples.
type Function struct {
	Name            string
	Self, WithCalls float64
}

// ReadProfile reads the functions of a CPU profile that took the most time
// themselves, with the Go command's own tool.
func ReadProfile(ctx context.Context, file string) ([]Function, error) {
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount="+strconv.Itoa(functions), file).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool pprof %s: %w", file, err)
	}
	return parseTop(string(out)), nil
}

// parseTop reads lines such as "0.10s  8.33%  8.33%  0.20s 16.67%  pkg.Func (inline)".
func parseTop(text string) []Function {
	var list []Function
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 6 {
			continue
		}
		self, err := strconv.ParseFloat(strings.TrimSuffix(words[1], "%"), 64)
		with, err2 := strconv.ParseFloat(strings.TrimSuffix(words[4], "%"), 64)
		if err == nil && err2 == nil {
			list = append(list, Function{words[5], self, with})
		}
	}
	return list
}

// Markdown returns the profile as a table under its title.
func (p Profile) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of processor time each.\n\n| function | itself | with what it calls |\n|---|---|---|\n", p.Title, Seconds.Format(p.Cost))
	for _, f := range p.Top {
		fmt.Fprintf(&b, "| `%s` | %.1f %% | %.1f %% |\n", f.Name, f.Self, f.WithCalls)
	}
	return b.String() + "\n"
}

// Chart draws the profile.
func (p Profile) Chart(file string) plot.Chart {
	c := plot.Chart{File: file, Title: p.Title + ": functions by their own time", Format: Percent.Format}
	for _, f := range p.Top {
		c.Bars = append(c.Bars, plot.Bar{Name: short(f.Name), Value: f.Self, Ours: strings.Contains(f.Name, "quorate/")})
	}
	return c
}

// short is the name of a function without the path of its package, and no longer
// than a picture has room for.
func short(name string) string {
	const most = 36
	name = name[strings.LastIndex(name, "/")+1:]
	if len(name) > most {
		return name[:most-1] + "…"
	}
	return name
}

package report

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/dev/bench/plot"
)

// How many lines of a profile are shown.
const (
	topFunctions = 15
	topPackages  = 10
)

// A Profile is where the processor's time went.
type Profile struct {
	Title string
	// Cost is the processor time of one operation, in seconds.
	Cost float64
	// Functions, those first that took the most time themselves.
	Functions []Function
}

// A Function is one line of a Profile, in percent of all samples.
type Function struct {
	Name            string
	Self, WithCalls float64
}

// ReadProfile reads the functions of a CPU profile with the Go command's own
// tool.
func ReadProfile(ctx context.Context, file string) ([]Function, error) {
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0", file).Output()
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
	for _, f := range p.Functions[:min(topFunctions, len(p.Functions))] {
		fmt.Fprintf(&b, "| `%s` | %.1f %% | %.1f %% |\n", f.Name, f.Self, f.WithCalls)
	}
	return b.String() + "\n"
}

// Chart draws how much of the time each package took itself.
func (p Profile) Chart(file string) plot.Chart {
	c := plot.Chart{File: file, Title: p.Title + ": time by package", Format: Percent.Format}
	share := map[string]float64{}
	for _, f := range p.Functions {
		share[pkg(f.Name)] += f.Self
	}
	names := slices.SortedFunc(maps.Keys(share), func(a, b string) int {
		return cmp.Or(cmp.Compare(share[b], share[a]), cmp.Compare(a, b))
	})
	for _, name := range names[:min(topPackages, len(names))] {
		c.Bars = append(c.Bars, plot.Bar{Name: short(name), Value: share[name], Ours: strings.HasPrefix(name, project)})
	}
	return c
}

const project = "github.com/quorate/quorate/"

// pkg is the package of a function. What the runtime consists of is one.
func pkg(name string) string {
	slash := strings.LastIndex(name, "/") + 1
	if strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/") && !strings.Contains(name, "syscall") {
		return "runtime"
	}
	last, _, _ := strings.Cut(name[slash:], ".")
	return name[:slash] + last
}

// short is the name of a package as a picture has room for it.
func short(name string) string {
	const most = 32
	name = strings.TrimPrefix(strings.TrimPrefix(name, project), "github.com/")
	if len(name) > most {
		return "…" + name[len(name)-most+1:]
	}
	return name
}

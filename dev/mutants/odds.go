package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Some tests find their plant by chance: simulations and campaigns draw what happens from a seed.
// The odds of one short run say how long the whole test must be to find the bug almost surely.

// firstSeed is that of the first world. The plants were chosen with smaller seeds, which may
// flatter the tests.
const firstSeed = 1_000_000

// repetition says what one repetition of a chance test is, and with which arguments the n-th
// runs. It is empty for other tests.
func (t tests) repetition(n int) (unit string, args []string) {
	campaign := slices.ContainsFunc(t.names, func(name string) bool {
		return strings.HasPrefix(name, "TestCampaign") && name != "TestCampaignNoQuorum" // which draws nothing
	})
	seed := "-first=" + strconv.Itoa(firstSeed+n)
	switch {
	case t.pkg == sim:
		return "one world", []string{"-seeds=1", "-claims=1", seed}
	case campaign && t.pkg == claims:
		return "one world", []string{"-worlds=1", seed}
	case campaign:
		return "a short campaign", nil // it draws its own seed
	}
	return "", nil
}

// tries is how often a plant may survive: a short campaign draws its own seed, and misses the rarest
// plant in 4 of 30 runs.
func (t tests) tries() int {
	if unit, args := t.repetition(0); unit != "" && args == nil {
		return 6
	}
	return 1
}

func (t tests) byChance() bool {
	unit, _ := t.repetition(0)
	return unit != ""
}

// measure runs the test of each plant so many times, and prints how often it caught the plant.
// Then it says how many repetitions find a bug whose rate is the lower bound.
func measure(ctx context.Context, out, progress io.Writer, dirs []string, list []plant, runs int) error {
	if err := baseline(ctx, out, dirs, list); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%-*s %-*s %5s %7s %6s %7s  %s\n", nameWidth, "plant", byWidth, "caught by", "runs", "caught", "bound", "needed", "one repetition is")
	type odds struct {
		caught int
		err    error
	}
	count := func(dir string, p plant) odds {
		caught, err := p.count(ctx, progress, dir, runs)
		return odds{caught, err}
	}
	return sideBySide(dirs, list, count, func(p plant, o odds) error {
		if o.err != nil {
			return fmt.Errorf("%s: %w", p.name, o.err)
		}
		bound := lowerBound(o.caught, runs)
		unit, _ := p.by.repetition(0)
		fmt.Fprintf(out, "%-*s %-*s %5d %7d %6.3f %7s  %s\n", nameWidth, p.name, byWidth, strings.Join(p.by.names, ", "), runs, o.caught, bound, needed(bound), unit)
		return nil
	})
}

// count plants p once, and counts in how many runs its test catches it.
func (p plant) count(ctx context.Context, progress io.Writer, dir string, runs int) (caught int, err error) {
	restore, err := p.sow(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, restore()) }()
	binary := filepath.Join(dir, "planted.test")
	build := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-c", "-o", binary}, building, []string{"."})...)
	build.Dir = filepath.Join(dir, p.by.pkg)
	if said, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("the plant does not compile: %w: %s", err, said)
	}
	for n := range runs {
		says := "nothing"
		r, err := p.by.runCompiled(ctx, build.Dir, binary, n)
		if err == nil && r.failed != "" {
			if says, err = r.verdict(p.by.says); err == nil {
				caught++
			} else {
				says, err = err.Error(), nil
			}
		}
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(progress, "%s: %d of %d: %s\n", p.name, caught, n+1, fit(says, 3*sayWidth))
	}
	return caught, nil
}

// runCompiled runs the tests as goTest does, from a binary: they are compiled once only.
func (t tests) runCompiled(ctx context.Context, dir, binary string, n int) (result, error) {
	_, more := t.repetition(n)
	cmd := exec.CommandContext(ctx, binary, slices.Concat([]string{"-test.v=test2json", "-test.failfast", "-test.timeout=3m", "-test.run", t.pattern()}, t.args, more)...)
	cmd.Dir = dir
	said, stderr, failure, err := run(ctx, cmd)
	if err != nil {
		return result{}, err
	}
	convert := exec.CommandContext(ctx, "go", "tool", "test2json")
	convert.Stdin = bytes.NewReader(said)
	events, err := convert.Output()
	if err != nil {
		return result{}, fmt.Errorf("reading what the tests said: %w", err)
	}
	r, err := read(events)
	r.output += stderr
	if failure != nil && r.failed == "" {
		r.died, r.failed = true, strings.Join(t.names, ", ")
	}
	return r, err
}

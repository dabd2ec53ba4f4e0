package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Columns of the table. What the test said comes last, and is cut where it is
// too long for a line.
const (
	nameWidth = 50
	byWidth   = 36
	sayWidth  = 70
)

// bite tries the plants on the copies of the module at dirs, which it leaves as they
// were, and prints a row for each.
func bite(ctx context.Context, out io.Writer, dirs []string, list []plant) error {
	fmt.Fprintf(out, "\n%-*s %-*s %6s  %s\n", nameWidth, "plant", byWidth, "caught by", "s", "which says")
	var failures []error
	begun := time.Now()
	err := sideBySide(dirs, list, func(dir string, p plant) trial { return try(ctx, dir, p) }, func(p plant, t trial) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if t.err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", p.name, t.err))
			t.by = "NOT CAUGHT"
		}
		row := fmt.Sprintf("%-*s %-*s %6.1f  %s", nameWidth, p.name, byWidth, fit(t.by, byWidth), t.took.Seconds(), fit(t.says, sayWidth))
		fmt.Fprintln(out, strings.TrimSpace(row))
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d of %d caught in %v\n", len(list)-len(failures), len(list), time.Since(begun).Round(time.Second))
	return errors.Join(failures...)
}

// baseline runs the tests of all plants on clean copies.
func baseline(ctx context.Context, out io.Writer, dirs []string, list []plant) error {
	names := map[string][]string{}
	for _, p := range list {
		names[p.by.pkg] = append(names[p.by.pkg], p.by.names...)
	}
	fmt.Fprintf(out, "%-*s %-*s %6s\n", nameWidth, "without plants", byWidth, "", "s")
	run := func(dir, pkg string) trial {
		start := time.Now()
		r, err := goTest(ctx, dir, in(pkg, slices.Compact(slices.Sorted(slices.Values(names[pkg])))...))
		if err == nil && (!r.built || r.failed != "") {
			err = fmt.Errorf("%s fails without any plant: %s", pkg, r.why())
		}
		return trial{took: time.Since(start), err: err}
	}
	return sideBySide(dirs, slices.Sorted(maps.Keys(names)), run, func(pkg string, t trial) error {
		if t.err == nil {
			fmt.Fprintf(out, "%-*s %-*s %6.1f\n", nameWidth, pkg, byWidth, "green", t.took.Seconds())
		}
		return t.err
	})
}

// A trial is what became of a plant: the test that noticed and what it said, or why
// it was not caught.
type trial struct {
	by, says string
	took     time.Duration
	err      error
}

// try plants p in the module at dir.
func try(ctx context.Context, dir string, p plant) trial {
	start := time.Now()
	by, says, err := notice(ctx, dir, p)
	return trial{by: by, says: says, took: time.Since(start), err: err}
}

// notice plants p, and returns the test that noticed and what it said.
func notice(ctx context.Context, dir string, p plant) (by, says string, err error) {
	restore, err := p.sow(dir)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, restore()) }()
	err = fmt.Errorf("survives: write a test in %s that sees it", p.by.pkg)
	for range p.by.tries() { // a busy machine may fail a campaign, too
		r, failed := goTest(ctx, dir, p.by)
		switch {
		case failed != nil:
			return "", "", failed
		case !r.built:
			return "", "", fmt.Errorf("the plant does not compile: %s", r.output)
		case r.failed == "":
			continue
		}
		by = r.failed
		if says, err = r.verdict(p.by.says); err == nil {
			break
		}
	}
	return by, says, err
}

// fit cuts s to a column.
func fit(s string, width int) string {
	if len(s) > width {
		return strings.ToValidUTF8(s[:width-3], "") + "..."
	}
	return s
}

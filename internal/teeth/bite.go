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

// bite tries the plants on the module at dir, which it leaves as it was, and
// prints a row for each.
func bite(ctx context.Context, out io.Writer, dir string, list []plant) error {
	if err := baseline(ctx, out, dir, list); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%-*s %-*s %6s  %s\n", nameWidth, "plant", byWidth, "caught by", "s", "which says")
	var failures []error
	begun := time.Now()
	for _, p := range list {
		fmt.Fprintf(out, "%-*s ", nameWidth, p.name)
		start := time.Now()
		by, says, err := try(ctx, dir, p)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", p.name, err))
			by = "NOT CAUGHT"
		}
		row := fmt.Sprintf("%-*s %6.1f  %s", byWidth, fit(by, byWidth), time.Since(start).Seconds(), fit(says, sayWidth))
		fmt.Fprintln(out, strings.TrimSpace(row))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	fmt.Fprintf(out, "\n%d of %d caught in %v\n", len(list)-len(failures), len(list), time.Since(begun).Round(time.Second))
	return errors.Join(failures...)
}

// baseline runs the tests of all plants on the clean copy.
func baseline(ctx context.Context, out io.Writer, dir string, list []plant) error {
	tests := map[string][]string{}
	for _, p := range list {
		tests[p.pkg] = append(tests[p.pkg], p.tests...)
	}
	fmt.Fprintf(out, "%-*s %-*s %6s\n", nameWidth, "without plants", byWidth, "", "s")
	for _, pkg := range slices.Sorted(maps.Keys(tests)) {
		fmt.Fprintf(out, "%-*s ", nameWidth, pkg)
		start := time.Now()
		r, err := goTest(ctx, dir, pkg, slices.Compact(slices.Sorted(slices.Values(tests[pkg]))), nil)
		switch {
		case err != nil:
			return err
		case !r.built || r.failed != "":
			return fmt.Errorf("%s fails without any plant: %s", pkg, r.why())
		}
		fmt.Fprintf(out, "%-*s %6.1f\n", byWidth, "green", time.Since(start).Seconds())
	}
	return nil
}

// try plants p, and returns the test that noticed and what it said.
func try(ctx context.Context, dir string, p plant) (by, says string, err error) {
	restore, err := p.sow(dir)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, restore()) }()
	r, err := goTest(ctx, dir, p.pkg, p.tests, p.args)
	switch {
	case err != nil:
		return "", "", err
	case !r.built:
		return "", "", fmt.Errorf("the plant does not compile: %s", r.output)
	case r.failed == "":
		return "", "", fmt.Errorf("survives, though: %s\n  Write the test in %s that sees it", p.promise, p.pkg)
	}
	says, err = r.verdict(p.says)
	return r.failed, says, err
}

// fit cuts s to a column.
func fit(s string, width int) string {
	if len(s) > width {
		return strings.ToValidUTF8(s[:width-3], "") + "..."
	}
	return s
}

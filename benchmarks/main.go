// Bench measures Quorate and its peers in one run, on Redis servers that it
// starts itself, and judges what the project promises:
//
//	go run .                       everything: the table
//	go run . -only claims,latency  some of it
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/benchmarks/report"
	"github.com/quorate/quorate/benchmarks/rig"
	"github.com/quorate/quorate/benchmarks/rows"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	only := flag.String("only", "", "measure only `these`: "+keys())
	tiny := flag.Bool("tiny", false, "see that everything works, rather than measure")
	check := flag.Bool("check", false, "fail where a bound is missed")
	flag.Parse()
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	size := rows.Full()
	if *tiny {
		size = rows.Tiny()
	}
	var sections []report.Section
	err = rig.Host(ctx, func(tb testing.TB) error {
		tb.Helper()
		sections, err = measure(ctx, tb, chosen, size)
		return err
	})
	if err != nil {
		return err
	}
	return conclude(sections, *check)
}

// measure runs the measurements, telling how it goes on.
func measure(ctx context.Context, tb testing.TB, chosen []rows.Measurement, size rows.Size) ([]report.Section, error) {
	tb.Helper()
	start := time.Now()
	tell := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%5.0fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	env := rows.Env{Rig: rig.New(tb), Size: size, Told: tell}
	var list []report.Section
	for _, m := range chosen {
		tell("%s", m.Title)
		s, err := m.Run(ctx, env)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Key, err)
		}
		s.Key, s.Title = m.Key, m.Title
		list = append(list, s)
	}
	return list, nil
}

func conclude(sections []report.Section, check bool) error {
	var all []report.Result
	missed := 0
	for _, s := range sections {
		all = append(all, s.Results...)
		missed += len(s.Missed())
	}
	report.Print(os.Stdout, all)
	if check && missed > 0 {
		return fmt.Errorf("%d bounds were missed", missed)
	}
	return nil
}

func keys() string {
	var list []string
	for _, m := range rows.All() {
		list = append(list, m.Key)
	}
	return strings.Join(list, ",")
}

// choose returns the measurements that are named, all if none is.
func choose(only string) ([]rows.Measurement, error) {
	if only == "" {
		return rows.All(), nil
	}
	var list []rows.Measurement
	for key := range strings.SplitSeq(only, ",") {
		found := false
		for _, m := range rows.All() {
			if m.Key == key {
				list, found = append(list, m), true
			}
		}
		if !found {
			return nil, fmt.Errorf("-only %s: there are %s", key, keys())
		}
	}
	return list, nil
}

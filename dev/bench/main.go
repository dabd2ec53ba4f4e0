// Bench measures Quorate and its peers in one run, on Redis servers that it
// starts itself, and judges what the project promises:
//
//	go run .                       everything: the table
//	go run . -only claims,latency  some of it
//	go run . -write ../..          everything, written into the repository
//	go run . -profile before       where the processor's time goes
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
	"github.com/quorate/quorate/dev/bench/rows"
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

// options are what was asked for.
type options struct {
	only, profile, write string
	tiny, check          bool
}

func parse() options {
	var o options
	flag.StringVar(&o.only, "only", "", "measure only `these`: "+keys())
	flag.StringVar(&o.profile, "profile", "", "only take CPU profiles, and call them by this `name`")
	flag.StringVar(&o.write, "write", "", "write what was measured into the repository at this `path`")
	flag.BoolVar(&o.tiny, "tiny", false, "see that everything works, rather than measure")
	flag.BoolVar(&o.check, "check", false, "fail where a bound is missed")
	flag.Parse()
	return o
}

func run(ctx context.Context) error {
	o := parse()
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	if o.write != "" && o.only != "" {
		return errors.New("-write needs everything: leave -only out")
	}
	f := findings{machine: report.ThisMachine(ctx)}
	err = rig.Host(ctx, func(tb testing.TB) error {
		tb.Helper()
		return f.measure(ctx, tb, o, chosen)
	})
	if err != nil {
		return err
	}
	return f.conclude(o)
}

// findings are what a run found.
type findings struct {
	machine  report.Machine
	sections []report.Section
	profiles []report.Profile
	failed   []error // measurements of which there is nothing
}

// measure runs the measurements, telling how it goes on.
func (f *findings) measure(ctx context.Context, tb testing.TB, o options, chosen []rows.Measurement) error {
	tb.Helper()
	start := time.Now()
	tell := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%5.0fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	env := rows.Env{Rig: rig.New(tb), Size: rows.Full(), Told: tell}
	if o.tiny {
		env.Size = rows.Tiny()
	}
	var err error
	if f.machine.Redis, err = env.Rig.Version(ctx); err != nil {
		return err
	}
	if o.profile == "" {
		for _, m := range chosen {
			tell("%s", m.Title)
			s, err := m.Run(ctx, env)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil { // the others can be measured all the same
				tell("%v", err)
				f.failed = append(f.failed, fmt.Errorf("%s: %w", m.Key, err))
				continue
			}
			s.Key, s.Title = m.Key, m.Title
			f.sections = append(f.sections, s)
		}
	}
	if o.profile != "" || o.write != "" {
		tell("profiles")
		f.profiles, err = rows.Profiles(ctx, env, tb.TempDir())
	}
	f.machine.Took = time.Since(start)
	return err
}

// conclude prints the table, and writes what it was asked to.
func (f *findings) conclude(o options) error {
	var all []report.Result
	missed := 0
	for _, s := range f.sections {
		all = append(all, s.Results...)
		missed += len(s.Missed())
	}
	if o.profile == "" {
		report.Print(os.Stdout, all)
	} else {
		fmt.Print(report.Profiles(f.machine, f.profiles))
	}
	if o.write != "" {
		if err := f.save(o); err != nil {
			return err
		}
	}
	if o.check && missed > 0 {
		f.failed = append(f.failed, fmt.Errorf("%d bounds were missed", missed))
	}
	return errors.Join(f.failed...)
}

func (f *findings) save(o options) error {
	err := report.WriteProfiles(o.write, cmp.Or(o.profile, "after"), f.machine, f.profiles)
	if o.profile == "" {
		err = errors.Join(err, report.Write(o.write, f.machine, f.sections))
	}
	return err
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

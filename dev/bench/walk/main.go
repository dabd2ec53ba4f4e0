// Walk counts what one tick enters: the functions, statements, files and packages of the module
// that a replica with one tick executes and an idle one does not.
//
//	go run ./walk       a table for three Redis nodes and for PostgreSQL
//	go run ./walk -v    and the files, in the order of their packages
//
// It builds cmd/quorate with counters of coverage and starts a replica several times on each store,
// idle and with a tick. What any idle start executes does not count, since background work comes by
// chance. Of the starts with a tick the median counts.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/quorate/quorate/dev/bench/rig"
)

// starts is how many replicas are started idle, and as many with a tick.
const starts = 5

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	files := flag.Bool("v", false, "list the files")
	flag.Parse()
	err := rig.Host(ctx, func(tb testing.TB) error { tb.Helper(); return measure(tb, *files) })
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(1)
	}
}

// measure prints the table.
func measure(tb testing.TB, list bool) error {
	tb.Helper()
	program := filepath.Join(tb.TempDir(), "quorate")
	root, err := exec.CommandContext(tb.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return err
	}
	if err := call(tb, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"/...", "-o", program, module+"/cmd/quorate"); err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "functions\tstatements\tfiles\tpackages\t store")
	var files []string
	for _, on := range stores() {
		idle, err := executed(tb, program, on, false)
		if err != nil {
			return err
		}
		ticks, err := executed(tb, program, on, true)
		if err != nil {
			return err
		}
		var ways []way
		for _, blocks := range ticks {
			for _, background := range idle {
				blocks = blocks.without(background)
			}
			found, err := blocks.way(strings.TrimSpace(string(root)))
			if err != nil {
				return err
			}
			ways = append(ways, found)
		}
		slices.SortFunc(ways, func(a, b way) int { return cmp.Compare(a.statements, b.statements) })
		median := ways[len(ways)/2]
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t %s\n", median.functions, median.statements, len(median.files), len(median.packages()), on.name)
		files = append(append(files, "", on.name), median.list()...)
	}
	if err := w.Flush(); err != nil || !list {
		return err
	}
	_, err = fmt.Println(strings.Join(files, "\n"))
	return err
}

// executed returns what each of several replicas executes, each on a store of its own.
func executed(tb testing.TB, program string, on store, tick bool) ([]blocks, error) {
	tb.Helper()
	var list []blocks
	for range starts {
		dir, err := live(tb, program, on, tick)
		if err != nil {
			return nil, err
		}
		profile := filepath.Join(dir, "profile")
		if err := call(tb, "go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+profile); err != nil {
			return nil, err
		}
		found, err := readProfile(profile)
		if err != nil {
			return nil, err
		}
		list = append(list, found)
	}
	return list, nil
}

func call(tb testing.TB, name string, args ...string) error {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), name, args...)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// Proof runs what speaks for the promises, and writes a page of each part: docs/results/PART.md,
// with the commit, the machine, the time it took and the figures it printed. An index says which
// pages are older than the code that they speak for.
//
//	make proof                          all parts that speak for a promise
//	make full                           those, and what speaks for what is shipped
//	go run ./dev/proof mutants sim      these parts
//	go run ./dev/proof sim SEEDS=100    with a variable of make, which the page tells
//	go run ./dev/proof -list            the parts, and where each stands
//	go run ./dev/proof -index           writes the index alone
//
// Two parts that wait, for leases and servers, run beside one that computes. Benchmarks run beside
// nothing. What a part prints is in bin/proof/PART.log.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := prove(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

func prove(ctx context.Context) error {
	full := flag.Bool("full", false, "also what speaks for what is shipped")
	list := flag.Bool("list", false, "list the parts")
	index := flag.Bool("index", false, "write the index alone")
	flag.Parse()
	tree, err := openTree(ctx, ".")
	if err != nil {
		return err
	}
	switch {
	case *list:
		text, err := tree.index(ctx)
		fmt.Print(text)
		return err
	case *index:
		return tree.writeIndex(ctx)
	}
	names, variables := flag.Args(), []string(nil)
	if i := slices.IndexFunc(names, func(arg string) bool { return strings.Contains(arg, "=") }); i >= 0 {
		names, variables = names[:i], names[i:]
	}
	chosen, err := choose(names, *full)
	if err != nil {
		return err
	}
	return errors.Join(tree.run(ctx, chosen, variables...), tree.writeIndex(context.WithoutCancel(ctx)))
}

// choose returns the named parts, or without names those of a proof, or all.
func choose(names []string, all bool) ([]part, error) {
	var chosen []part
	for _, p := range parts {
		if slices.Contains(names, p.name) || len(names) == 0 && (all || p.proves) && p.isHere() {
			if len(names) == 0 {
				p.target += " " + p.whole
			}
			chosen = append(chosen, p)
		}
	}
	if len(chosen) < len(names) {
		return nil, fmt.Errorf("%s: write each once, some of %s", strings.Join(names, " "), strings.Join(partNames(), " "))
	}
	return chosen, nil
}

// Mutants checks that the tests find bugs. It plants known bugs into copies of the module, one
// at a time, runs the tests that must fail, and reports an error if they pass.
//
//	make mutants                       all plants, in about forty minutes
//	go run ./dev/mutants N3 drain      those with one of the words in the name
//	go run ./dev/mutants -odds=30      how often tests find plants by chance: odds.go
//
// Each plant breaks a promise: there is a file per promise, promise_*.go, and one for each page
// of docs/guarantees. Each rule of locking/redlock/PROTOCOL.md has a plant that begins with its
// name.
//
// First the same tests run on the clean copy and must pass. A test catches a plant only with a
// message of its own, and with a certain one where the plant names it. A timeout, a panic, or a
// server that cannot start do not count. The table shows the message.
//
// A plant's text must stand exactly once in its file. If the code changes, adapt the plant; a
// test of this package finds those that no longer apply. Choose a short text that a change is
// unlikely to touch, such as the condition of a branch. If a plant survives, a test is missing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	clean := flag.Bool("clean", true, "first run the same tests without plants, which must pass; a whole proof does so in other parts")
	odds := flag.Int("odds", 0, "run each test that finds its plant by chance so many times, and print how often it found it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	list := choose(plants(), flag.Args())
	if *odds > 0 {
		list = slices.DeleteFunc(list, func(p plant) bool { return !p.by.byChance() })
	}
	err := check(ctx, os.Stdout, ".", list, *clean, *odds)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// choose returns the plants whose names have one of the words; all without
// words.
func choose(all []plant, words []string) []plant {
	if len(words) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(p plant) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(p.name, w) })
	})
}

// copies is how many plants are tried at the same time: while one is compiled, the
// tests of another wait for servers and clocks.
const copies = 2

// check tries the plants on copies of the module at root, or measures their odds in so many runs.
func check(ctx context.Context, out io.Writer, root string, list []plant, clean bool, odds int) (err error) {
	if len(list) == 0 {
		return errors.New("there is no such plant")
	}
	top, err := os.MkdirTemp("", "quorate-mutants-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	var dirs []string
	for i := range min(copies, len(list)) {
		dir := filepath.Join(top, strconv.Itoa(i))
		if err := copyModule(ctx, root, dir); err != nil {
			return fmt.Errorf("copying the module: %w", err)
		}
		dirs = append(dirs, dir)
	}
	if odds > 0 {
		return measure(ctx, out, os.Stderr, dirs, list, odds)
	}
	if clean {
		if err := baseline(ctx, out, dirs, list); err != nil {
			return err
		}
	}
	return bite(ctx, out, dirs, list)
}

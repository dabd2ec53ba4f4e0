// Teeth checks that the tests can bite. It plants bugs into copies of the
// module, one at a time in each, runs the tests that must notice, and fails if a bug
// survives.
//
// A test that cannot go red promises nothing, and a promise whose tests cannot
// go red will be broken unseen. So each plant names the promise that it breaks
// and the tests that stand for it; what the plants cover is the table of what
// each check of the protocol protects, and the same for the rest of the
// project.
//
//	make teeth                            all of them, in about ten minutes
//	go run ./internal/teeth fence floor   those with one of the words in the name
//
// Before the plants the same tests run on the clean copy and must be green: a
// plant is not caught by a test that fails anyway. Nor is it by one that runs
// into its timeout, panics, or cannot start a server: the test must say in a
// message of its own what is wrong, and where the plant names what it must say,
// that. The table shows the message. A plant whose text does not
// stand exactly once in its file fails the check as well; the package's own
// test finds that early. Then adapt the plant to the new code, do not delete
// it. A plant that survives is a missing test.
//
// To add a plant, write it down in the file of its area, plants_*.go, and run
// it by its name.
package main

import (
	"context"
	"errors"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := check(ctx, os.Stdout, ".", choose(plants(), os.Args[1:]))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "teeth:", err)
		os.Exit(1)
	}
}

// plants are all there are.
func plants() []plant {
	return slices.Concat(
		nodePlants, scriptPlants,
		batchPlants,
		quorumPlants,
		directPlants,
		schedulerPlants,
		handoverPlants,
		limitPlants,
		turnPlants,
		firePlants,
		jobPlants,
		replicaPlants,
		memberPlants, cellPlants,
		fencePlants,
		differentialPlants,
		opsPlants,
		faultPlants,
		simPlants,
		lockPlants,

		formatPlants,
		hookPlants,
		metricsPlants,
		kitPlants,
		actPlants,
		listingPlants, webPlants, servedPlants, pagePlants, topPlants,
		reloadPlants,
	)
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

// check tries the plants on copies of the module at root.
func check(ctx context.Context, out io.Writer, root string, list []plant) (err error) {
	if len(list) == 0 {
		return errors.New("no plant has such a name")
	}
	top, err := os.MkdirTemp("", "quorate-teeth-")
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
	return bite(ctx, out, dirs, list)
}

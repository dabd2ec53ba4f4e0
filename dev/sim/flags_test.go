package sim_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/sim"
)

// sample is how many worlds are simulated unless more are asked for, and how many
// claims. Worlds with policies are more, so that they come to every situation.
const (
	sample         = 16
	samplePolicies = 64
	sampleClaims   = 1500
)

// sized is how many of something are simulated: the requested number, or of a sample with
// -short a quarter.
func sized(asked, sample int) int {
	if asked == sample && testing.Short() {
		return sample / 4
	}
	return asked
}

// What the tests are asked for, after -args. The defaults are a sample of a few
// seconds; make sim asks for more.
var (
	seeds   = flag.Int("seeds", sample, "worlds of replicas to simulate")
	claims  = flag.Int("claims", sampleClaims, "claims of locks to simulate")
	first   = flag.Int("first", 1, "the first seed")
	only    = flag.String("only", "all", "numbers of the troubles that happen, such as 0,3,4")
	verbose = flag.Bool("verbose", false, "print the history of every world")
)

// keep returns the troubles whose numbers are listed.
func keep(troubles []sim.Trouble, list string) []sim.Trouble {
	if list == "all" {
		return troubles
	}
	var kept []sim.Trouble
	for i, t := range troubles {
		if slices.Contains(strings.Split(list, ","), strconv.Itoa(i)) {
			kept = append(kept, t)
		}
	}
	return kept
}

// replay is the command that runs one world of a test again.
func replay(test string, seed sim.Seed, troubles []int) string {
	list := make([]string, len(troubles))
	for i, n := range troubles {
		list[i] = strconv.Itoa(n)
	}
	return fmt.Sprintf("go test ./dev/sim -count=1 -v -run '^%s$' -args -first=%d -seeds=1 -claims=1 -verbose -only=%s",
		test, seed, strings.Join(append(list, "-")[:max(1, len(list))], ","))
}

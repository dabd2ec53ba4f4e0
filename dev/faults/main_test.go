package faults

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	seedFlag = flag.Uint64("seed", 0, "choose the sample as the run that printed this seed did")
	pageFlag = flag.String("page", "", "write what was seen into this page")
)

func TestMain(m *testing.M) {
	if os.Getenv(holderEnv) != "" {
		os.Exit(runHolder(os.Getenv(holderEnv), os.Stdin, os.Stdout))
	}
	flag.Parse()
	if *seedFlag == 0 {
		*seedFlag = rand.Uint64N(1_000_000) + 1
	}
	// These tests wait for leases and graces more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// dice are the random choices of a test, the same for the same seed.
func dice(t *testing.T) *rand.Rand {
	t.Helper()
	t.Logf("go test ./dev/faults -run '^%s$' -args -seed %d", t.Name(), *seedFlag)
	h := fnv.New64()
	h.Write([]byte(t.Name()))
	return rand.New(rand.NewPCG(*seedFlag, h.Sum64()))
}

// patience bounds waits that end by themselves when the code is right; it is
// no measure of anything.
const patience = 90 * time.Second

// eventually polls until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for giveUp := time.Now().Add(patience); !f(); wait(t, 20*time.Millisecond) {
		if time.Now().After(giveUp) {
			t.Fatalf("still waiting: %s", what)
		}
	}
}

// wait lasts d, unless the test ends first.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

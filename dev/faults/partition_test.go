package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/locking"
)

// A partition says which nodes each of two replicas cannot reach, and how.
type partition struct {
	name     string
	cut      [2][]int                // nodes that a replica does not reach
	how      func(l lines, node int) // spoils the line
	flapping bool                    // lines come and go instead
	minority [2]bool                 // the replica never has a quorum
	told     error                   // the expected error, if there is only one
}

func partitions() []partition {
	hole := func(l lines, node int) { l[node].BlackHole() }
	// Commits run without reply: they are the first to name the holder.
	deaf := func(l lines, node int) { l[node].DropReplies("the+holder") }
	return []partition{
		{name: "A sees nodes 1 to 3, B 3 to 5", cut: [2][]int{{3, 4}, {0, 1}}, how: hole},
		{name: "A sees nodes 1 to 3, B 4 and 5", cut: [2][]int{{3, 4}, {0, 1, 2}}, how: hole, minority: [2]bool{false, true}, told: locking.ErrNoQuorum},
		{name: "A hears of its commits from nodes 1 to 3, B from 3 to 5", cut: [2][]int{{3, 4}, {0, 1}}, how: deaf},
		{name: "A hears of its commits from nodes 1 to 3, B from 4 and 5", cut: [2][]int{{3, 4}, {0, 1, 2}}, how: deaf, minority: [2]bool{false, true}},
		{name: "lines come and go", how: hole, flapping: true},
	}
}

var partitionTimes = times{timeout: 400 * time.Millisecond, ttl: 2 * time.Second, grace: 3 * time.Second}

// Two replicas with different nodes in reach, over lines of different latency, compete for
// the same ticks: no promise is broken, and the side without a quorum learns so.
func TestPartitions(t *testing.T) {
	t.Parallel()
	rand := dice(t)
	var mu sync.Mutex
	results := map[string]string{}
	t.Run("cases", func(t *testing.T) {
		for _, p := range partitions() {
			seed := rand.Uint64()
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				got := runPartition(t, p, seed)
				mu.Lock()
				defer mu.Unlock()
				results[p.name] = got
			})
		}
	})
	var b strings.Builder
	b.WriteString("| partition | claims of A | of B | what else they were told |\n|---|---|---|---|\n")
	for _, p := range partitions() {
		fmt.Fprintf(&b, "| %s | %s |\n", p.name, results[p.name])
	}
	report(t, "partitions", b.String())
}

// runPartition lets two replicas compete for ticks, and returns the cells of the
// table.
func runPartition(t *testing.T, p partition, seed uint64) string {
	t.Helper()
	c := newCluster(t, partitionTimes)
	ways := [2]lines{c.lines(t), c.lines(t)}
	replicas := [2]*replica{c.replica(t, ways[0]), c.replica(t, ways[1])}
	dice := rand.New(rand.NewPCG(seed, 1))
	for i := range replicas {
		mustRelease(t, mustClaim(t, replicas[i], c.request(past(i))))
		eventually(t, "all nodes have heard of the release", func() bool { return c.locks(t) == 0 })
	}
	for i, way := range ways {
		for n := range way {
			way[n].Delay(time.Duration(dice.IntN(20)) * time.Millisecond)
		}
		for _, n := range p.cut[i] {
			p.how(way, n)
		}
	}
	ctx, calm := context.WithCancel(t.Context())
	var weather sync.WaitGroup
	if p.flapping {
		weather.Go(func() { flap(ctx, t, p, ways, dice) })
	}
	b := newBook()
	var told [2]map[string]int
	var sides sync.WaitGroup
	for i, r := range replicas {
		dice := rand.New(rand.NewPCG(seed, uint64(2+i)))
		sides.Go(func() { told[i] = compete(t, c, p, b, r, i, dice) })
	}
	sides.Wait()
	calm()
	weather.Wait()
	b.check(t)
	for i, m := range p.minority {
		if won := told[i]["granted"]; m && won > 0 {
			t.Errorf("a replica without a quorum won %d claims", won)
		}
	}
	won := [2]int{told[0]["granted"], told[1]["granted"]}
	delete(told[0], "granted")
	delete(told[1], "granted")
	return fmt.Sprintf("%d | %d | A: %s. B: %s", won[0], won[1], counts(told[0]), counts(told[1]))
}

// compete claims ticks one after the other, with the same names on both replicas, and
// counts the results.
func compete(t *testing.T, c *cluster, p partition, b *book, r *replica, side int, dice *rand.Rand) map[string]int {
	t.Helper()
	told := map[string]int{}
	for n := range length.Of(12, 400) {
		req := c.request(past(10 + n))
		lease, err := b.try(t, r, req, false)
		var why *locking.AcquireError
		switch {
		case err == nil:
			told["granted"]++
			wait(t, time.Duration(dice.IntN(20))*time.Millisecond)
			b.over(lease)
			_ = release(t, lease) // it ends by itself
			continue
		case errors.As(err, &why):
			told[why.Reason.Error()]++
		}
		if p.minority[side] && p.told != nil && !errors.Is(err, p.told) {
			t.Errorf("a replica that reaches %d nodes is told: %v", size-quorum, err)
		}
		wait(t, time.Duration(dice.IntN(20))*time.Millisecond)
	}
	return told
}

// flap breaks and repairs lines at random.
func flap(ctx context.Context, t *testing.T, p partition, ways [2]lines, dice *rand.Rand) {
	t.Helper()
	for ctx.Err() == nil {
		way, n := ways[dice.IntN(2)], dice.IntN(size)
		if dice.IntN(2) == 0 {
			p.how(way, n)
		} else {
			way[n].Pass()
		}
		wait(t, time.Duration(dice.IntN(100))*time.Millisecond)
	}
}

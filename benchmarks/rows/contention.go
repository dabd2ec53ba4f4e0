package rows

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/benchmarks/report"
	"github.com/quorate/quorate/benchmarks/rig"
)

// latencyOfNodes is the longest that a reply takes on its way.
const latencyOfNodes = 2 * time.Millisecond

// contention counts ticks that nobody won although all replicas wanted to.
func contention(ctx context.Context, env Env) (report.Section, error) {
	z := env.Size
	s := report.Section{Method: fmt.Sprintf("%d replicas, %d jobs that tick at the same instant every second; every reply of a node is late by "+
		"a random time from 0 to %v. Redsync: %d goroutines with connections of their own call TryLock for one tick at a time.",
		z.Crowd, z.CrowdJobs, latencyOfNodes, z.Crowd)}
	addrs := rig.Addrs(env.Rig.Links(latencyOfNodes))
	b := &book{}
	c, err := env.Rig.Cluster(ctx, z.Crowd, addrs)
	if err != nil {
		return s, err
	}
	first, before, err := env.tickTogether(ctx, c, b)
	if err := errors.Join(err, c.Close()); err != nil {
		return s, err
	}
	won := map[string]int{}
	for _, st := range b.between(first, before) {
		won[st.job+st.tick.String()]++
	}
	ticks, twice := z.CrowdJobs*z.CrowdSeconds, 0
	for _, n := range won {
		twice += n - 1
	}
	lost, err := env.redsyncSplits(ctx, addrs)
	if err != nil {
		return s, err
	}
	byHand, err := env.byHand(ctx, addrs)
	if err != nil {
		return s, err
	}
	env.Told("%s", byHand)
	env.Told("%d of %d ticks without a winner, %d run twice; redsync %.1f %%", ticks-len(won), ticks, twice, lost)
	r := report.Result{
		What: fmt.Sprintf("ticks without a winner, %d ticks, %d replicas", ticks, z.Crowd), Unit: report.Ticks,
		Ours: float64(ticks - len(won)), Bound: report.AtMost(0),
		Headline: fmt.Sprintf("of %d ticks that %d replicas want at the same instant, {ours} stay without a winner; tried once with redsync, %.0f %%", ticks, z.Crowd, lost),
		Notes: []string{
			fmt.Sprintf("redsync TryLock, once per tick: %.1f %% of %d ticks without a winner", lost, z.PeerTicks),
			byHand,
			fmt.Sprintf("%d ticks were run twice", twice),
		},
	}
	s.Results = []report.Result{r}
	return s, nil
}

// tickTogether lets all jobs tick for some seconds, and returns which ticks
// count.
func (e Env) tickTogether(ctx context.Context, c *rig.Cluster, b *book) (first, before time.Time, err error) {
	if err := c.Serve(ctx, b.idle(e.Size.CrowdJobs)); err != nil {
		return first, before, err
	}
	if err := sleep(ctx, time.Now().Add(e.Size.Settling)); err != nil {
		return first, before, err
	}
	if err := c.Serve(ctx, b.everySecond(e.Size.CrowdJobs, 0)); err != nil {
		return first, before, err
	}
	first = nextSecond(time.Second)
	before = first.Add(time.Duration(e.Size.CrowdSeconds) * time.Second)
	// Some time for the last ones.
	return first, before, sleep(ctx, before.Add(4*time.Second))
}

// redsyncSplits returns how many percent of ticks nobody locks.
func (e Env) redsyncSplits(ctx context.Context, addrs []string) (float64, error) {
	peers, closeAll := rig.NewRedsyncs(e.Size.Crowd, addrs)
	lost := 0
	for tick := range e.Size.PeerTicks + 1 {
		var winners atomic.Int64
		var wg sync.WaitGroup
		for _, peer := range peers {
			wg.Go(func() {
				if peer.NewMutex(fmt.Sprintf("split-%d", tick)).TryLockContext(ctx) == nil {
					winners.Add(1)
				}
			})
		}
		wg.Wait()
		if tick > 0 && winners.Load() == 0 { // the first one makes the connections
			lost++
		}
	}
	return 100 * float64(lost) / float64(e.Size.PeerTicks), errors.Join(ctx.Err(), closeAll())
}

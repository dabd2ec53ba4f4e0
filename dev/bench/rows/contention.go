package rows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
	quorumledger "github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/scheduler/ledger"
)

// latencyOfNodes is the longest that a reply takes on its way.
const latencyOfNodes = 2 * time.Millisecond

// contention counts ticks that nobody won although all replicas wanted to.
func contention(ctx context.Context, env Env) (report.Section, error) {
	z := env.Size
	s := report.Section{Method: fmt.Sprintf("%d replicas, %d jobs that tick at the same instant every second, so a tick's window is a second. "+
		"Every reply of a node is late by a random time from 0 to %v. Beside a busy core, lost ticks are shown with the ledger's reasons, and have no bound: "+
		"a tick is missed if the machine takes longer than a second. "+
		"Redsync: %d goroutines with connections of their own call TryLock for one tick at a time.",
		z.Crowd, z.CrowdJobs, latencyOfNodes, z.Crowd)}
	addrs := rig.Addrs(env.Rig.Links(0, latencyOfNodes))
	starts, why, err := env.crowd(ctx, addrs)
	if err != nil {
		return s, err
	}
	ticks, won := z.CrowdJobs*z.CrowdSeconds, len(runs(starts))
	peers, err := env.redsyncSplits(ctx, addrs)
	if err != nil {
		return s, err
	}
	hands, err := env.byHand(ctx, addrs, z.HandJobs, z.HandSeconds, 0)
	if err != nil {
		return s, err
	}
	r := report.Result{
		What: fmt.Sprintf("ticks without a winner, %d ticks, %d replicas", ticks, z.Crowd), Unit: report.Ticks,
		Ours: float64(ticks - won), Bound: report.AtMost(0),
		Headline: fmt.Sprintf("of %d ticks that %d replicas want at the same instant, {ours} stay without a winner; tried once with redsync, %.0f %%", ticks, z.Crowd, peers),
		Notes: []string{
			fmt.Sprintf("%d ticks were run twice", len(starts)-won),
			fmt.Sprintf("redsync TryLock, once per tick: %.1f %% of %d ticks without a winner", peers, z.PeerTicks),
			fmt.Sprintf("robfig/cron, redsync by hand, %d replicas: of %d ticks %d without a winner, %d extra runs",
				few, z.HandJobs*z.HandSeconds, z.HandJobs*z.HandSeconds-len(runs(hands)), len(hands)-len(runs(hands))),
		},
	}
	if env.Busy {
		r.Bound = report.Bound{}
	}
	if why != "" {
		r.Notes = append(r.Notes, "what the ledger says of those without: "+why)
	}
	for _, note := range append(r.Notes, fmt.Sprintf("%d of %d ticks without a winner", ticks-won, ticks)) {
		env.Told("%s", note)
	}
	s.Results = []report.Result{r}
	return s, nil
}

// crowd lets all jobs tick for some seconds on many replicas. It returns the starts of
// the ticks that count, and what became of the others.
func (e Env) crowd(ctx context.Context, addrs []string) (starts []start, why string, err error) {
	b := &book{}
	c, err := e.Rig.Cluster(ctx, e.Size.Crowd, addrs)
	if err != nil {
		return nil, "", err
	}
	first, before, err := e.tickTogether(ctx, c, b)
	if err := errors.Join(err, c.Close()); err != nil {
		return nil, "", err
	}
	starts = b.between(first, before)
	why, err = e.lost(ctx, runs(starts), first, before)
	return starts, why, err
}

// lost says what the ledger has of the ticks that were not won.
func (e Env) lost(ctx context.Context, won map[string]int, first, before time.Time) (string, error) {
	ours, err := rig.Open(ctx, e.Rig.Addrs())
	if err != nil {
		return "", err
	}
	store, told, count := quorumledger.New(ours.Set), 0, map[string]int{}
	for i := range e.Size.CrowdJobs {
		entries, err := store.Ticks(ctx, ledger.Query{Job: jobName(i), Limit: 2 * e.Size.CrowdSeconds, Since: first, Before: before})
		if err != nil {
			return "", errors.Join(err, ours.Close())
		}
		for _, entry := range entries {
			if won[start{job: entry.Job, tick: entry.Tick}.name()] == 0 {
				count[fmt.Sprintf("%s, %s", entry.Outcome, entry.Reason)]++
				told++
			}
		}
	}
	if silent := e.Size.CrowdJobs*e.Size.CrowdSeconds - len(won) - told; silent > 0 {
		count["nothing"] = silent
	}
	var list []string
	for _, why := range slices.Sorted(maps.Keys(count)) {
		list = append(list, fmt.Sprintf("%d × %s", count[why], why))
	}
	return strings.Join(list, "; "), ours.Close()
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

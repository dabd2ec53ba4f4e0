package rows

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/plot"
	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
)

// beats is the time after which what replicas send anyway repeats itself: the
// pause between heartbeats.
const beats = 5 * time.Second

// Command names that clients send, and that scripts do not.
var ours = []string{"eval", "evalsha", "eval_ro", "evalsha_ro", "fcall"}

// commands counts what a tick costs the servers, by number of replicas.
func commands(ctx context.Context, env Env) (report.Section, error) {
	s := report.Section{Method: fmt.Sprintf("Replicas have a job that ticks every second and ends at once. Counted are EVAL and EVALSHA "+
		"at all nodes in %v. The commands that the same replicas send while no job is due, such as heartbeats, are "+
		"subtracted. Redsync: each replica calls TryLock for the tick, and the winner Unlock.", env.Size.Counting)}
	mine, peers, limits := plot.Line{Name: sideCommands, Ours: true}, plot.Line{Name: sideTryLock}, plot.Line{Name: "bound", Bound: true}
	for _, n := range env.Size.Replicas {
		bound := map[int]float64{2: 12, 5: 16, 20: 32, 50: 62}[n]
		r, err := env.commandsOf(ctx, n, bound)
		if err != nil {
			return s, err
		}
		s.Results = append(s.Results, r)
		x := float64(n)
		mine.X, mine.Y = append(mine.X, x), append(mine.Y, r.Ours)
		peers.X, peers.Y = append(peers.X, x), append(peers.Y, r.Theirs)
		limits.X, limits.Y = append(limits.X, x), append(limits.Y, bound)
	}
	s.Charts = []plot.Chart{{
		File: "commands", Title: "Redis commands per tick", Axis: "commands at all five nodes together",
		XAxis: "replicas", Lines: []plot.Line{mine, limits, peers},
	}}
	return s, nil
}

const (
	sideCommands = "quorate"
	sideTryLock  = "redsync TryLock"
)

// commandsOf counts for n replicas.
func (e Env) commandsOf(ctx context.Context, n int, bound float64) (report.Result, error) {
	r := report.Result{
		What: fmt.Sprintf("commands per tick, %d replicas", n), Unit: report.Commands,
		Of: sideTryLock, Bound: report.AtMost(bound),
	}
	b := &book{}
	c, err := e.Rig.Cluster(ctx, n, e.Rig.Addrs())
	if err != nil {
		return r, err
	}
	standing, err := e.standing(ctx, c, b)
	if err == nil {
		err = c.Serve(ctx, b.everySecond(1, 0))
	}
	var samples pairs.Samples
	if err == nil {
		samples, err = e.pairs(ctx, report.Commands,
			pairs.Side{Name: sideCommands, Measure: func(ctx context.Context) (float64, error) { return e.perTick(ctx, b, standing) }})
	}
	long := math.NaN()
	if err == nil && n == e.Size.Crowd {
		b.takes.Store(int64(600 * time.Millisecond))
		long, err = e.perTick(ctx, b, standing)
	}
	if err := errors.Join(err, c.Close()); err != nil {
		return r, err
	}
	// Not in turn with ours: replicas send something all the time.
	peers, err := e.pairs(ctx, report.Commands,
		pairs.Side{Name: sideTryLock, Measure: func(ctx context.Context) (float64, error) { return e.redsyncPerTick(ctx, n) }})
	samples[sideTryLock] = peers[sideTryLock]
	r.Ours, r.Theirs, r.Ratio = samples.Median(sideCommands), samples.Median(sideTryLock), samples.Ratio(sideCommands, sideTryLock)
	if n == e.Size.Crowd {
		r.Headline = fmt.Sprintf("a tick costs {ours} Redis commands with %d replicas, with redsync {theirs}", n)
	}
	if !math.IsNaN(long) {
		r.Notes = append(r.Notes, fmt.Sprintf("%.1f where the job runs for 600 ms", long))
	}
	r.Notes = append(r.Notes,
		fmt.Sprintf("besides, these replicas send %.1f commands per second all together, with or without ticks", standing))
	return r, err
}

// standing returns how many commands replicas without due jobs send per second.
func (e Env) standing(ctx context.Context, c *rig.Cluster, b *book) (float64, error) {
	if err := c.Serve(ctx, b.idle(1)); err != nil {
		return 0, err
	}
	// All have heard of all others after a heartbeat, and told them their jobs.
	if err := sleep(ctx, time.Now().Add(e.Size.Settling)); err != nil {
		return 0, err
	}
	return e.counted(ctx, time.Now(), e.Size.Counting, func() int { return int(e.Size.Counting / time.Second) })
}

// perTick returns how many commands a tick of the only job costs.
func (e Env) perTick(ctx context.Context, b *book, standing float64) (float64, error) {
	// Between two ticks, when all is over.
	first := nextSecond(time.Second).Add(-100 * time.Millisecond)
	seconds := e.Size.Counting.Seconds()
	return e.counted(ctx, first, e.Size.Counting, func() int {
		return len(b.between(first, first.Add(e.Size.Counting)))
	}, standing*seconds)
}

// counted returns how many commands the servers ran in the given time, less
// those named, divided by what ticks returns then.
func (e Env) counted(ctx context.Context, first time.Time, d time.Duration, ticks func() int, less ...float64) (float64, error) {
	if err := sleep(ctx, first); err != nil {
		return 0, err
	}
	before, err := e.Rig.Commands(ctx, ours...)
	if err != nil {
		return 0, err
	}
	if err := sleep(ctx, first.Add(d)); err != nil {
		return 0, err
	}
	after, err := e.Rig.Commands(ctx, ours...)
	sum := float64(after - before)
	for _, l := range less {
		sum -= l
	}
	n := ticks()
	if n == 0 && err == nil {
		err = errors.New("no tick was run")
	}
	return sum / float64(n), err
}

// redsyncPerTick returns what n replicas send for a tick that each tries to lock.
func (e Env) redsyncPerTick(ctx context.Context, n int) (float64, error) {
	const ticks = 20
	round := time.Now().UnixNano()
	peers, closeAll := rig.NewRedsyncs(n, e.Rig.Addrs())
	names := append([]string{"set"}, ours...)
	before, err := e.Rig.Commands(ctx, names...)
	if err != nil {
		return 0, errors.Join(err, closeAll())
	}
	for tick := range ticks {
		var wg sync.WaitGroup
		for _, peer := range peers {
			wg.Go(func() {
				m := peer.NewMutex(fmt.Sprintf("tick-%d-%d", round, tick))
				if m.TryLockContext(ctx) == nil {
					_, _ = m.UnlockContext(ctx) // counted either way
				}
			})
		}
		wg.Wait()
	}
	after, err := e.Rig.Commands(ctx, names...)
	return float64(after-before) / ticks, errors.Join(err, closeAll())
}

package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A newStore is a store that does not vouch until its grace is over: neither for commands nor for
// ticks that came in it. Records it takes.
type newStore struct {
	locking.Locker
	commands.Store
	ends time.Time
}

func (s newStore) Open(ctx context.Context) (commands.Open, error) {
	if time.Now().Before(s.ends) {
		return commands.Open{}, commands.ErrGrace
	}
	return s.Store.Open(ctx)
}

func (s newStore) TryAcquire(ctx context.Context, r locking.Request) (locking.Lease, error) {
	if r.Tick.Before(s.ends) {
		return nil, locking.ErrUnvouched
	}
	return s.Locker.TryAcquire(ctx, r)
}

func (s newStore) state() string {
	if time.Now().Before(s.ends) {
		return roster.StateWaiting
	}
	return roster.StateReady
}

// The ticks before a replica could run any, such as those in the grace of a new store, are nobody's:
// they are neither in the ledger, nor told, nor computed by those who come later. Once the
// cluster knows a job, the same ticks are missed: also if none of the job has come yet.
func TestFirstTicksAreNotMissed(t *testing.T) {
	t.Parallel()
	const grace = 25 * time.Second
	for _, tt := range []struct {
		name    string
		catchUp jobs.CatchUpMode
		spec    string
		before  time.Duration // a replica has served the job before; 0: none has
		first   time.Duration // the first tick in the ledger, since the start of the replicas
	}{
		{"of a new cluster", jobs.CatchUpNone, "2s", 0, 26 * time.Second},
		{"of a new cluster, caught up", jobs.CatchUpAll, "2s", 0, 26 * time.Second},
		{"of a job that has run", jobs.CatchUpNone, "2s", 9 * time.Second, time.Second},
		{"of a job that was served, and has never run", jobs.CatchUpNone, "20s", 9 * time.Second, 11 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				j := every(t, tt.spec, "j", c.handler(nil))
				j.CatchUp = jobs.CatchUp{Mode: tt.catchUp, Window: time.Hour, Max: 3}
				if tt.before > 0 {
					stop := c.start(c.replica("r0", nil, j))
					time.Sleep(tt.before)
					c.stop(stop)
				}
				begun := time.Now()
				store := newStore{c.locker, c.commands, begun.Add(grace)}
				var told atomic.Int64
				start := func(id string) func() error {
					return c.start(c.replica(id, func(cfg *scheduler.Config) {
						cfg.Locker, cfg.Commands, cfg.State, cfg.NotifySettled = store, store, store.state, true
						cfg.Observer = func(e event.Event) {
							if e.Kind == event.Settled && e.Entry.Tick.Before(begun.Add(grace)) {
								told.Add(1)
							}
						}
					}, j))
				}
				a := start("a")
				time.Sleep(12 * time.Second)
				b := start("b") // it comes while the first one waits
				time.Sleep(2 * time.Minute)
				late := start("late") // it reads the past
				time.Sleep(3 * time.Minute)
				list := c.ticks("j")
				for len(list) > 0 && list[0].Tick.Before(begun) {
					list = list[1:]
				}
				if len(list) == 0 || c.at(list[0].Tick) != c.at(begun)+tt.first {
					t.Fatalf("the first of %d ticks is %+v, want that %v after the start", len(list), list[:min(1, len(list))], tt.first)
				}
				missed := 0
				for _, e := range list {
					if e.Outcome == ledger.Missed {
						missed++
					}
				}
				if known := tt.before > 0; (missed > 0) != known || (told.Load() > 0) != known {
					t.Errorf("%d of %d ticks are missed, and %d told", missed, len(list), told.Load())
				}
				versions, err := c.roster.Jobs(t.Context())
				if err != nil || len(versions) != 1 {
					t.Fatal(versions, err)
				}
				if first := versions[0].Account.First; tt.before == 0 && first.Before(begun.Add(grace)) {
					t.Errorf("ticks since %v are accounted for, want those since %v", c.at(first), c.at(begun)+grace)
				}
				c.stop(a)
				c.stop(b)
				c.stop(late)
			})
		})
	}
}

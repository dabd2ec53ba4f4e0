package scheduler_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/roster"
)

// A scriptedWatcher is a Watcher with the given answers, one after the other; then a
// Memory's, or always the last one. It records calls: "r1 looks", "r1 tries", "r1 tries
// alone".
type scriptedWatcher struct {
	locking.Watcher
	looks, tries []error // nil: the Memory's answer
	always       bool
	holder       string // named in the answers

	mu    sync.Mutex
	asked []string
	times []time.Time
}

// note records a call, and takes the answer from a list.
func (s *scriptedWatcher) note(what string, req locking.Request, answers *[]error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.times = append(s.asked, req.Holder+" "+what), append(s.times, time.Now())
	if len(*answers) == 0 {
		return nil
	}
	reason := (*answers)[0]
	if len(*answers) > 1 || !s.always {
		*answers = (*answers)[1:]
	}
	if reason == nil {
		return nil
	}
	return &locking.AcquireError{Reason: reason, Name: req.Name, Holder: s.holder, HolderTick: req.Tick, Until: time.Now().Add(time.Second)}
}

func (s *scriptedWatcher) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	what := "tries"
	if req.Direct {
		what = "tries alone"
	}
	if err := s.note(what, req, &s.tries); err != nil {
		return nil, err
	}
	return s.Watcher.TryAcquire(ctx, req)
}

func (s *scriptedWatcher) Watch(req locking.Request, start uint64) locking.Watch {
	return sight{s, req, s.Watcher.Watch(req, start)}
}

type sight struct {
	s     *scriptedWatcher
	req   locking.Request
	inner locking.Watch
}

func (s sight) Look(ctx context.Context) error {
	if err := s.s.note("looks", s.req, &s.s.looks); err != nil {
		return err
	}
	return s.inner.Look(ctx)
}

// inOrder returns the replicas r1 to r3 by their rank for the tick of job j at 10 s.
func inOrder(c *cluster) []string {
	ids := []string{"r1", "r2", "r3"}
	slices.SortFunc(ids, func(a, b string) int {
		tick := c.begun.Add(10 * time.Second)
		return scheduler.Rank("j", tick, a, []string{"r1", "r2", "r3"}) - scheduler.Rank("j", tick, b, []string{"r1", "r2", "r3"})
	})
	return ids
}

// One replica claims the tick, the others look; nobody competes.
func TestOthersLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		s := &scriptedWatcher{Watcher: c.locks}
		c.locker = s
		for i := range 3 {
			c.start(c.replica(fmt.Sprintf("r%d", 1+i), nil, every(t, "10s", "j", c.handler(nil))))
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		ids := inOrder(c)
		want := []string{ids[0] + " tries alone", ids[1] + " looks", ids[2] + " looks"}
		if !slices.Equal(s.asked, want) {
			t.Errorf("the nodes were asked %q, want %q", s.asked, want)
		}
		c.saw(1, "finished j 10s succeeded <nil>")
		c.saw(2, "lost j 10s")
	})
}

// A dead first replica costs a step of the stagger.
func TestFirstInRankIsDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		s, ids := &scriptedWatcher{Watcher: c.locks}, inOrder(c)
		c.locker = s
		for i, id := range ids {
			var list []jobs.Job
			if i > 0 { // it is on the roster, and does nothing
				list = append(list, every(t, "10s", "j", c.handler(nil)))
			}
			c.start(c.replica(id, nil, list...))
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		want := []string{ids[1] + " looks", ids[1] + " tries", ids[2] + " looks"}
		if !slices.Equal(s.asked, want) {
			t.Fatalf("the nodes were asked %q, want %q", s.asked, want)
		}
		if at := c.at(s.times[1]); at != 10*time.Second+20*time.Millisecond {
			t.Errorf("the second in rank tried at %v, want 10.02s", at)
		}
	})
}

func TestPeek(t *testing.T) {
	t.Parallel()
	taken, split, done, claimed, silent := locking.ErrTaken, locking.ErrSplit, locking.ErrDone, locking.ErrClaimed, locking.ErrSilent
	tests := []struct {
		name         string
		rank         int
		looks, tries []error
		always       bool
		holder       string
		asked        string // of the replica with that rank
		says         string
	}{
		{"nothing in the way", 1, nil, nil, false, "", "looks, tries", "finished j 10s succeeded"},
		{"done", 1, []error{done}, nil, false, "r9", "looks", "lost j 10s"},
		{"claimed", 1, []error{taken, taken, claimed}, nil, false, "r9", "looks, looks, looks", "lost j 10s"},
		{"claimed by itself", 1, []error{claimed}, nil, false, "self", "looks, tries", "finished j 10s succeeded"},
		{"a hint, then done", 1, []error{taken, done}, nil, false, "r9", "looks, looks", "lost j 10s"},
		{"a hint that came to nothing", 1, []error{taken, nil}, nil, false, "r9", "looks, looks, tries", "finished j 10s succeeded"},
		{"nothing but hints", 1, []error{taken}, nil, true, "r9", "looks, looks, looks, looks, looks, tries", "finished j 10s succeeded"},
		{"hints, refused, hints", 1, []error{taken}, []error{taken, nil}, true, "r9", "looks, looks, looks, looks, looks, tries, looks, looks, looks, looks, looks, tries", "finished j 10s succeeded"},
		{"first in rank", 0, nil, nil, false, "", "tries alone", "finished j 10s succeeded"},
		{"first in rank, split", 0, nil, []error{split}, false, "", "tries alone, looks, tries", "finished j 10s succeeded"},
		{"first in rank, no quorum", 0, nil, []error{locking.ErrNoQuorum}, false, "", "tries alone, looks, tries", "finished j 10s succeeded"},
		{"first in rank, no quorum, silence", 0, []error{silent, silent, nil}, []error{locking.ErrNoQuorum}, false, "", "tries alone, looks, looks, looks, tries", "finished j 10s succeeded"},
		{"a silent node", 1, []error{silent, nil}, nil, false, "", "looks, looks, tries", "finished j 10s succeeded"},
		{"a silent node, then done", 1, []error{silent, done}, nil, false, "r9", "looks, looks", "lost j 10s"},
		{"nothing but silence", 1, []error{silent}, nil, true, "", "looks, looks, looks, looks, looks, tries", "finished j 10s succeeded"},
		{"first in rank, split, done", 0, []error{done}, []error{split}, false, "r9", "tries alone, looks", "lost j 10s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				ids := inOrder(c)
				s := &scriptedWatcher{Watcher: c.locks, looks: tt.looks, tries: tt.tries, always: tt.always, holder: tt.holder}
				if tt.holder == "self" {
					s.holder = ids[tt.rank]
				}
				c.locker = s
				for i, id := range ids {
					var list []jobs.Job
					if i == tt.rank {
						list = append(list, every(t, "10s", "j", c.handler(nil)))
					}
					c.start(c.replica(id, nil, list...))
				}
				time.Sleep(19 * time.Second)
				synctest.Wait()
				got := strings.ReplaceAll(strings.Join(s.asked, ", "), ids[tt.rank]+" ", "")
				if got != tt.asked {
					t.Errorf("the nodes were asked: %s; want: %s", got, tt.asked)
				}
				c.saw(1, tt.says)
			})
		})
	}
}

// In any window and after any hints, a replica tries before it calls a tick missed or
// skipped.
func TestHintsDecideNothing(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{30 * time.Millisecond, 60 * time.Millisecond, 200 * time.Millisecond, time.Second, 5 * time.Second} {
		t.Run(window.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				s := &scriptedWatcher{Watcher: c.locks, looks: []error{locking.ErrTaken}, always: true, holder: "r9"}
				c.locker = s
				stop := c.start(c.replica("r1", func(cfg *scheduler.Config) { cfg.Window = window }, every(t, "10s", "j", c.handler(nil))))
				other := c.start(c.replica("r2", nil))
				time.Sleep(100*10*time.Second - time.Second)
				synctest.Wait()
				c.stop(stop)
				c.stop(other)
				c.saw(0, "missed")
				c.saw(0, "skipped")
				c.saw(99, "succeeded <nil>")
			})
		})
	}
}

// A replica that does not know the live ones yet does not assume to be alone.
func TestNotAloneBeforeTheFirstAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		s := &scriptedWatcher{Watcher: c.locks}
		c.locker = s
		job := every(t, "10s", "j", c.handler(nil))
		c.start(c.replica("r1", func(cfg *scheduler.Config) { cfg.Roster = silent{cfg.Roster} }, job))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if got := strings.Join(s.asked, ", "); got != "r1 looks, r1 tries" {
			t.Errorf("the nodes were asked: %s", got)
		}
	})
}

// silent is a roster that does not answer.
type silent struct{ roster.Roster }

func (silent) Beat(context.Context, roster.Replica) ([]roster.Replica, error) {
	return nil, locking.ErrNoQuorum
}

// During a run that blocks the tick, twenty replicas together ask the nodes a few times as
// often as one, and begin the tick as soon.
func TestACrowdAsksAsOne(t *testing.T) {
	t.Parallel()
	asked, began := map[int]int{}, map[int]time.Duration{}
	for _, replicas := range []int{1, 20} {
		synctest.Test(t, func(t *testing.T) {
			const end = 35 * time.Second
			c := newCluster(t)
			s := &scriptedWatcher{Watcher: c.locks}
			c.locker = s
			if _, err := c.locks.TryAcquire(t.Context(), locking.Request{Name: "j", TTL: end, Holder: "gone"}); err != nil {
				t.Fatal(err)
			}
			job := every(t, "20s", "j", c.handler(func(context.Context, jobs.Run) error {
				c.mu.Lock()
				defer c.mu.Unlock()
				began[replicas] = c.at(time.Now()) - end
				return nil
			}))
			for i := range replicas {
				c.start(c.replica(fmt.Sprintf("r%02d", i), func(cfg *scheduler.Config) { cfg.Window = 19 * time.Second }, job))
			}
			time.Sleep(39 * time.Second)
			synctest.Wait()
			s.mu.Lock()
			asked[replicas] = len(s.asked)
			s.mu.Unlock()
		})
	}
	t.Logf("asked %v times, began after %v", asked, began)
	late, ok := began[20]
	if asked[20] > 6*asked[1] || !ok || late < 0 || late > time.Second {
		t.Errorf("1 and 20 replicas asked %v times, and began so long after the run in the way had ended: %v", asked, began)
	}
}

// padded is a roster that also lists replicas that do not exist.
type padded struct {
	roster.Roster
	others []roster.Replica
}

func (b padded) Beat(ctx context.Context, self roster.Replica) ([]roster.Replica, error) {
	known, err := b.Roster.Beat(ctx, self)
	return append(known, b.others...), err
}

// At any rank, a replica looks early, and claims after the turns of smaller ranks.
func TestOthersLookTogether(t *testing.T) {
	t.Parallel()
	const step = 20 * time.Millisecond
	others := make([]roster.Replica, 19)
	ids := make([]string, len(others))
	for i := range others {
		ids[i] = fmt.Sprintf("gone%02d", i)
		others[i].ID = ids[i]
	}
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		s := &scriptedWatcher{Watcher: c.locks}
		c.locker = s
		c.start(c.replica("r1", func(cfg *scheduler.Config) { cfg.Roster = padded{cfg.Roster, others} }, every(t, "10s", "j", c.handler(nil))))
		time.Sleep(101 * time.Second)
		synctest.Wait()
		var got, want []string
		for i, what := range s.asked {
			got = append(got, fmt.Sprint(what, " ", c.at(s.times[i])))
		}
		for at := 10 * time.Second; at <= 100*time.Second; at += 10 * time.Second {
			rank := scheduler.Rank("j", c.begun.Add(at), "r1", ids)
			turn := at + time.Duration(rank)*step
			if rank > 5 {
				want = append(want, fmt.Sprint("r1 looks ", at+5*step))
			}
			if rank > 0 {
				want = append(want, fmt.Sprint("r1 looks ", turn), fmt.Sprint("r1 tries ", turn))
			} else {
				want = append(want, fmt.Sprint("r1 tries alone ", turn))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the nodes were asked\n%q, want\n%q", got, want)
		}
	})
}

// A replica looks again at ticks claimed elsewhere in as few instants as before, each
// replica at others.
func TestLooksAgainTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		s := &scriptedWatcher{Watcher: c.locks, looks: []error{locking.ErrTaken}, always: true}
		c.locker = s
		for _, id := range []string{"r1", "r2", "r3"} {
			c.start(c.replica(id, nil, many(t, c, 30, "10s")...))
		}
		time.Sleep(10500 * time.Millisecond)
		synctest.Wait()
		at := map[string]map[time.Time]bool{}
		looks := 0
		for i, what := range s.asked {
			if strings.HasSuffix(what, "looks") {
				looks++
				if at[what] == nil {
					at[what] = map[time.Time]bool{}
				}
				at[what][s.times[i]] = true
			}
		}
		all := map[time.Time]bool{}
		for _, times := range at {
			maps.Copy(all, times)
		}
		// Each is second in rank for some ticks, and third for others.
		if len(at) != 3 || looks < 3*len(all) || len(all) < 3*4 || len(all) > 3*2*(1+4) {
			t.Errorf("%d looks of %d replicas at %d instants", looks, len(at), len(all))
		}
	})
}

// A replica's looks of one instant begin at the same node; those of other replicas and
// instants begin at others.
func TestLooksSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		s := &starts{Watcher: c.locks, seen: map[string]map[uint64]int{}}
		c.locker = s
		ids := []string{"r1", "r2", "r3"}
		for _, id := range ids {
			c.start(c.replica(id, nil, many(t, c, 30, "10s")...))
		}
		time.Sleep(201 * time.Second)
		synctest.Wait()
		nodes := map[uint64]int{}
		for who, all := range s.seen {
			if len(all) != 1 {
				t.Errorf("%s begins at %d nodes, want one", who, len(all))
			}
			for start, n := range all {
				nodes[start%5] += n
			}
		}
		for n := range uint64(5) {
			if share := float64(nodes[n]) / (20 * 30 * 2); share < 0.1 || share > 0.3 {
				t.Errorf("of all looks %.0f %% begin at node %d: %v", 100*share, n, nodes)
			}
		}
	})
}

// starts records where looks begin, by replica and instant.
type starts struct {
	locking.Watcher

	mu   sync.Mutex
	seen map[string]map[uint64]int
}

func (s *starts) Watch(req locking.Request, start uint64) locking.Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := req.Holder + " at " + req.Tick.String()
	if s.seen[who] == nil {
		s.seen[who] = map[uint64]int{}
	}
	s.seen[who][start%5]++
	return s.Watcher.Watch(req, start)
}

// A job that is removed during a look is not claimed after it.
func TestRemovedDuringALook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		s := &scriptedWatcher{Watcher: c.locks, tries: []error{locking.ErrSplit}}
		c.locker = slowWatcher{s}
		r := c.replica("r1", nil, every(t, "10s", "j", c.handler(nil)))
		c.start(r)
		time.Sleep(10500 * time.Millisecond)
		c.update(r)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if want := []string{"r1 tries alone", "r1 looks"}; !slices.Equal(s.asked, want) {
			t.Errorf("the nodes were asked %q, want %q", s.asked, want)
		}
		c.wantTicks("j", "10s skipped: removed: the job was taken out of this replica's configuration")
	})
}

// A slowWatcher answers a look after a second.
type slowWatcher struct{ *scriptedWatcher }

func (s slowWatcher) Watch(req locking.Request, start uint64) locking.Watch {
	return longSight{s.scriptedWatcher.Watch(req, start)}
}

type longSight struct{ locking.Watch }

func (s longSight) Look(ctx context.Context) error {
	err := s.Watch.Look(ctx)
	time.Sleep(time.Second)
	return err
}

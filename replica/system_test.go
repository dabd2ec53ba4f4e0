package replica

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	quorumledger "github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A contender is a scheduler over real nodes with a client of its own, wired by
// hand where a test needs settings that a configuration does not have.
type contender struct {
	set       *membership.Set
	locker    *redlock.Locker
	ledger    *quorumledger.Ledger
	scheduler *scheduler.Scheduler
	done      chan error
}

func newContender(t *testing.T, cfg membership.Config, sched scheduler.Config, list []jobs.Job) *contender {
	t.Helper()
	m := joined(t, cfg)
	m.schedules(t, sched, list)
	return m
}

// joined is one that has met the nodes, and has no jobs yet.
func joined(t *testing.T, cfg membership.Config) *contender {
	t.Helper()
	m := &contender{done: make(chan error, 1)}
	var err error
	if m.set, err = membership.Open(cfg); err != nil {
		t.Fatal(err)
	}
	if err := m.set.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.locker, err = redlock.New(m.set, redlock.Options{}); err != nil {
		t.Fatal(err)
	}
	m.ledger = quorumledger.New(m.set)
	return m
}

func (m *contender) schedules(t *testing.T, sched scheduler.Config, list []jobs.Job, change ...func(*scheduler.Config)) {
	t.Helper()
	sched.TTL, sched.Locker, sched.Ledger, sched.Roster = m.set.TTL(), m.locker, m.ledger, m.ledger
	for _, f := range change {
		f(&sched)
	}
	var err error
	if m.scheduler, err = scheduler.New(sched, list); err != nil {
		t.Fatal(err)
	}
}

func (m *contender) start(ctx context.Context) {
	go func() { m.done <- m.scheduler.Run(ctx) }()
}

func (m *contender) stopped(t *testing.T) {
	t.Helper()
	if err := <-m.done; err != nil {
		t.Error(err)
	}
	_ = m.locker.Close()
	_ = m.set.Close()
}

// A counter counts runs per job and tick.
type counter struct {
	mu   sync.Mutex
	runs map[string]int
	wins map[string]int // by replica
}

func (c *counter) handler(_ context.Context, run jobs.Run) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil {
		c.runs, c.wins = map[string]int{}, map[string]int{}
	}
	c.runs[ledger.Entry{Job: run.Job, Tick: run.Tick}.ID()]++
	c.wins[run.Replica]++
	return nil
}

// jitter bounds what a request of a contender takes on its way to a node.
const jitter = 3 * time.Millisecond

// An uneven connection takes a while for a request, now more, now less, as
// between machines. Within one process all requests of one replica would
// arrive before the first of another, and votes hardly ever be divided.
type uneven struct{ net.Conn }

func (c uneven) Write(p []byte) (int, error) {
	<-time.After(rand.N(jitter))
	return c.Conn.Write(p)
}

func dialUneven(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return uneven{conn}, nil
}

// competed is how many ticks replicas compete for.
func competed() int {
	if testing.Short() {
		return 50
	}
	return 200
}

// compete lets 20 replicas, each with clients of its own, fire the same ticks at
// the same instants on five real servers, and returns when each replica has done
// with each tick. Timeouts are generous: what is tried here is
// competition, and the machine may be busy.
func compete(t *testing.T, change func(*scheduler.Config)) (once, lost, twice int, wins map[string]int) {
	t.Helper()
	const replicas, apart = 20, 100 * time.Millisecond
	ticks := competed()
	cfg := membership.Config{Namespace: "compete", Timeout: 4 * time.Second, TTL: 20 * time.Second, Grace: 30 * time.Second, Dial: dialUneven}
	for _, url := range redistest.URLs(redistest.StartN(t, 5)) {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{URL: url})
	}
	declare(t, cfg)
	var contenders []*contender
	begun := time.Now()
	for range replicas {
		contenders = append(contenders, joined(t, cfg))
	}
	// Nobody decides a tick that was over before it began, and to begin takes long on
	// a crowded machine, as to join does.
	first := time.Now().Add(4*time.Second + 4*time.Since(begun)).Truncate(time.Second)
	var c counter
	list := atInstants(t, first, ticks, apart, c.handler)
	left := undecided{none: make(chan struct{}), one: make(chan struct{}, 1), of: map[string]map[string]int{}, all: replicas * ticks}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i, m := range contenders {
		id := fmt.Sprintf("r%02d", i)
		left.of[id] = map[string]int{}
		for _, j := range list {
			left.of[id][j.Name] = 1
		}
		m.schedules(t, scheduler.Config{Replica: id, BeatEvery: time.Second, Observer: func(e event.Event) {
			switch e.Kind {
			case event.Finished, event.Lost, event.Decided:
				if i == 0 && e.Kind == event.Decided {
					t.Logf("%s: %s (%s)", e.Entry.ID(), e.Entry.Outcome, e.Entry.Reason)
				}
				left.decided(id, e.Entry.Job)
			}
		}}, list, change)
	}
	for _, m := range contenders {
		m.start(ctx)
	}
	left.wait(t)
	cancel()
	for _, m := range contenders {
		m.stopped(t)
	}
	left.want(t)
	for _, n := range c.runs {
		if n == 1 {
			once++
		} else {
			twice++
		}
	}
	return once, ticks - once - twice, twice, c.wins
}

// undecided counts the ticks that each replica has not done with.
type undecided struct {
	mu   sync.Mutex
	of   map[string]map[string]int // by replica and job: 1, and 0 when it is done with it
	all  int
	one  chan struct{} // receives when another one was decided
	none chan struct{} // closed when all is 0
}

func (u *undecided) decided(replica, job string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.of[replica][job]--
	if u.all--; u.all == 0 {
		close(u.none)
	}
	select {
	case u.one <- struct{}{}:
	default:
	}
}

// wait waits while replicas decide.
func (u *undecided) wait(t *testing.T) {
	t.Helper()
	for {
		select {
		case <-u.none:
			return
		case <-u.one:
		case <-time.After(time.Minute):
			t.Error("some replicas are not done with all ticks, and nothing was decided for a minute")
			return
		}
	}
}

// want fails unless each replica was done with each tick once.
func (u *undecided) want(t *testing.T) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	for replica, of := range u.of {
		for job, n := range of {
			if n != 0 {
				t.Errorf("%s was done with the tick of %s %d times", replica, job, 1-n)
			}
		}
	}
}

// atInstants makes n jobs of one tick each.
func atInstants(t *testing.T, first time.Time, n int, apart time.Duration, handler jobs.Handler) []jobs.Job {
	t.Helper()
	var list []jobs.Job
	for i := range n {
		at := first.Add(time.Duration(i) * apart)
		s, err := schedule.Parse("@at "+at.UTC().Format(time.RFC3339Nano), schedule.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, jobs.Job{Name: fmt.Sprintf("job-%03d", i), Schedule: s, Handler: handler})
	}
	return list
}

// declare says that the nodes are new.
func declare(t *testing.T, cfg membership.Config) {
	t.Helper()
	set, err := membership.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	declareNew(t, set)
	_ = set.Close()
}

func TestTwentyReplicasLoseNoTick(t *testing.T) {
	t.Parallel()
	once, lost, twice, wins := compete(t, func(*scheduler.Config) {})
	t.Logf("%d ticks: %d once, %d lost, %d twice; wins %v", competed(), once, lost, twice, wins)
	if lost > 0 || twice > 0 {
		t.Errorf("%d ticks were lost, %d ran twice", lost, twice)
	}
}

// oneTry lets no replica try twice: it takes every refusal for a final one. It also hides
// that a Locker can do more: no replica looks before it competes, or claims in one round.
type oneTry struct{ locking.Locker }

func (l oneTry) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	req.Direct = false
	lease, err := l.Locker.TryAcquire(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", locking.ErrUnvouched, err)
	}
	return lease, nil
}

// TestHarnessSeesLostTicks shows that the test above can fail: where all compete
// at once and try once, the votes are split and ticks are lost.
func TestHarnessSeesLostTicks(t *testing.T) {
	t.Parallel()
	once, lost, twice, _ := compete(t, func(cfg *scheduler.Config) {
		cfg.Stagger, cfg.Locker = -1, oneTry{cfg.Locker}
	})
	t.Logf("%d ticks, one try each and no stagger: %d once, %d lost, %d twice", competed(), once, lost, twice)
	if lost == 0 {
		t.Error("no tick was lost: the harness would not see it if one were")
	}
	if twice > 0 {
		t.Errorf("%d ticks ran twice", twice)
	}
}

// TestDayOnFiveNodes is a day of three replicas and five nodes in virtual time,
// with -short a quarter of one: every tick runs once.
func TestDayOnFiveNodes(t *testing.T) {
	t.Parallel()
	hours := 24
	if testing.Short() {
		hours = 6
	}
	due := 12 * hours
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		defer minis.Close()
		cfg := membership.Config{
			Namespace: "day", Timeout: 200 * time.Millisecond, TTL: 15 * time.Second, Grace: 20 * time.Second,
			Embedded: true, Dial: minis.Dial,
		}
		for _, url := range minis.URLs() {
			cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{URL: url})
		}
		declare(t, cfg)
		s, err := schedule.Parse("*/5 * * * *", schedule.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var c counter
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := time.Now()
		var members []*contender
		for _, id := range []string{"a", "b", "c"} {
			m := newContender(t, cfg, scheduler.Config{Replica: id, BeatEvery: 10 * time.Minute},
				[]jobs.Job{{Name: "five", Schedule: s, Handler: c.handler}})
			m.start(ctx)
			members = append(members, m)
		}
		time.Sleep(time.Duration(hours)*time.Hour + time.Minute)
		cancel()
		for _, m := range members[1:] {
			m.stopped(t)
		}
		ticks, err := members[0].ledger.Ticks(t.Context(), ledger.Query{Job: "five", Limit: 1000})
		if err != nil {
			t.Error(err)
		}
		members[0].stopped(t)
		if len(c.runs) != due || len(ticks) != due {
			t.Errorf("%d ticks ran and %d are in the ledger, want %d", len(c.runs), len(ticks), due)
		}
		for i := 1; i <= due; i++ {
			id := ledger.Entry{Job: "five", Tick: began.Truncate(5 * time.Minute).Add(time.Duration(i) * 5 * time.Minute)}.ID()
			if c.runs[id] != 1 {
				t.Errorf("%s ran %d times", id, c.runs[id])
			}
		}
		for _, e := range ticks {
			if e.Outcome != ledger.Succeeded {
				t.Errorf("%s: %s (%s)", e.ID(), e.Outcome, e.Reason)
			}
		}
		if len(c.wins) != 3 {
			t.Errorf("wins: %v", c.wins)
		}
	})
}

// TestFrozenMajority: a job that sleeps for three TTLs keeps its lease. When a
// majority of the nodes freezes, its context ends with ErrLeaseLost before the
// lease does, and the next run gets a larger token.
func TestFrozenMajority(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 5)
	cfg := membership.Config{Namespace: "frozen", Timeout: 400 * time.Millisecond, TTL: 2 * time.Second, Grace: 3 * time.Second}
	for _, url := range redistest.URLs(servers) {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{URL: url})
	}
	declare(t, cfg)
	s, err := schedule.Parse("@every 1s", schedule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	type end struct {
		run   jobs.Run
		cause error
		at    time.Time
	}
	began, ended := make(chan jobs.Run, 100), make(chan end, 100)
	var mu sync.Mutex
	deadlines := map[locking.Token]time.Time{}
	m := newContender(t, cfg, scheduler.Config{
		Replica: "a",
		Observer: func(e event.Event) {
			if e.Kind == event.Extended {
				mu.Lock()
				defer mu.Unlock()
				deadlines[e.Entry.Token] = e.Deadline
			}
		},
	}, []jobs.Job{{Name: "sleeper", Schedule: s, Handler: func(ctx context.Context, run jobs.Run) error {
		began <- run
		<-ctx.Done()
		ended <- end{run, context.Cause(ctx), time.Now()}
		return ctx.Err()
	}}})
	ctx, cancel := context.WithCancel(t.Context())
	m.start(ctx)

	first := <-began
	select {
	case e := <-ended:
		t.Errorf("the job lost its lease with all nodes well: %v", e.cause)
	case <-time.After(3 * cfg.TTL):
	}
	for _, server := range servers[:3] {
		server.Freeze()
	}
	lost := <-ended
	mu.Lock()
	deadline := deadlines[first.Token]
	mu.Unlock()
	if lost.run.Token != first.Token || !errors.Is(lost.cause, locking.ErrLeaseLost) {
		t.Errorf("run %d of %d ended with %v, want %v", lost.run.Token, first.Token, lost.cause, locking.ErrLeaseLost)
	}
	if !lost.at.Before(deadline) {
		t.Errorf("the job was told %v after its lease had ended", lost.at.Sub(deadline))
	}
	for _, server := range servers[:3] {
		server.Thaw()
	}
	if second := <-began; second.Token <= first.Token {
		t.Errorf("token %d after %d", second.Token, first.Token)
	}
	m.scheduler.Abort()
	cancel()
	m.stopped(t)
}

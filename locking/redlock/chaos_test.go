package redlock

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
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// Replicas claim ticks over nodes with late requests, lost replies and lost memory: no tick
// runs twice, leases do not overlap, tokens grow. The same, except for the leases, with
// operators who repeatedly release by force and forget the job.
func TestPromisesUnderFaults(t *testing.T) {
	t.Parallel()
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for _, n := range []int{1, 3, 5} {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%d nodes, seed %d", n, seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { testPromises(t, n, seed, false) })
			})
		}
	}
	t.Run("3 nodes, operators", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { testPromises(t, 3, 7, true) })
	})
}

func testPromises(t *testing.T, n int, seed uint64, operators bool) {
	t.Helper()
	const ticks, every = 50, 2 * time.Second
	t.Cleanup(func() { time.Sleep(latest) }) // the last messages arrive
	minis := redistest.MiniN(t, n)
	w := &weather{rand: rand.New(rand.NewPCG(seed, 1))}
	c := newCluster(t, minis.URLs(), func(cfg *membership.Config) {
		cfg.Dial, cfg.Embedded = w.dial(minis.Dial), true
		cfg.Timeout, cfg.TTL, cfg.Grace = 100*time.Millisecond, 2*time.Second, 3*time.Second
	})
	time.Sleep(time.Hour)
	b := &book{t: t, runs: map[time.Time][]*run{}, operated: operators}
	var replicas sync.WaitGroup
	set := c.open(t)
	lockers := []*Locker{c.locker(t), c.locker(t), c.locker(t), c.locker(t)}
	for i := range ticks {
		time.Sleep(every)
		w.rough(i%20 < 15) // a lull now and then
		if w.chance(30) {
			replicas.Go(func() {
				time.Sleep(w.upTo(every))
				minis.Node(int(w.upTo(time.Duration(n)))).FlushAll()
			})
		}
		if operators {
			replicas.Go(func() { b.operate(w, set) })
		}
		tick := time.Now().Truncate(time.Millisecond)
		for _, l := range lockers {
			req := c.request(tick)
			if w.chance(50) {
				req.Mode = locking.AtLeastOnce
			}
			replicas.Go(func() { b.compete(w, l, req) })
		}
	}
	replicas.Wait()
	w.rough(false)
	if b.won < ticks/10 {
		t.Errorf("only %d claims of %d ticks were won: the test shows little", b.won, ticks)
	}
	if operators && b.forgot == 0 {
		t.Error("the job was never forgotten: the test shows little")
	}
	t.Logf("%d claims won, %d run, %d ticks; %d times forgotten, %d evicted", b.won, b.ran, ticks, b.forgot, b.evicted)
}

// book has the replicas' grants.
type book struct {
	t        *testing.T
	mu       sync.Mutex
	runs     map[time.Time][]*run
	last     *run // the latest lease
	top      locking.Token
	won, ran int

	operated        bool // locks may be taken from leases that last
	forgot, evicted int
}

// A run is one granted lease that was not voided.
type run struct {
	claim locking.Claim
	mode  locking.Mode
	lease locking.Lease
	over  bool // given back
}

func (b *book) compete(w *weather, l *Locker, req locking.Request) {
	for range 5 {
		time.Sleep(w.upTo(2 * time.Second))
		below := b.highest()
		req.Direct = w.chance(50)
		lease, err := l.TryAcquire(context.Background(), req)
		if err == nil {
			b.work(w, lease, req.Mode, below)
			return
		}
		if errors.Is(err, locking.ErrDone) || errors.Is(err, locking.ErrSuperseded) {
			return
		}
	}
}

func (b *book) highest() locking.Token {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.top
}

// granted checks a new lease against all before; below is the largest token
// granted before it was asked for.
func (b *book) granted(r *run, below locking.Token) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.won++
	if r.claim.Token <= below {
		b.t.Errorf("token %d after %d", r.claim.Token, below)
	}
	b.top = max(b.top, r.claim.Token)
	if o := b.last; o != nil && !b.operated && !o.over && !locking.Expired(time.Now(), o.lease.Deadline()) {
		b.t.Errorf("%+v granted while the lease of %+v lasts for %v", r.claim, o.claim, time.Until(o.lease.Deadline()))
	}
	b.last = r
}

func (b *book) begin(r *run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ran++
	for _, o := range b.runs[r.claim.Tick] {
		if o.mode == locking.AtMostOnce || r.mode == locking.AtMostOnce {
			b.t.Errorf("tick run twice: %+v mode %d, %+v mode %d", o.claim, o.mode, r.claim, r.mode)
		}
		if o.claim.Attempt == r.claim.Attempt || o.claim.Token == r.claim.Token {
			b.t.Errorf("two runs alike: %+v and %+v", o.claim, r.claim)
		}
	}
	b.runs[r.claim.Tick] = append(b.runs[r.claim.Tick], r)
}

// operate acts as an operator, at random moments.
func (b *book) operate(w *weather, set *membership.Set) {
	for range 4 {
		time.Sleep(w.upTo(time.Second))
		if w.chance(30) {
			_, err := Evict(context.Background(), set, "job", 0, "an operator's whim")
			b.count(&b.evicted, err)
		}
		b.count(&b.forgot, Forget(context.Background(), set, "job"))
	}
}

func (b *book) count(n *int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		*n++
	}
}

func (b *book) end(r *run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.over = true
}

// work voids the lease, or runs for a while, and then releases or dies.
func (b *book) work(w *weather, lease locking.Lease, mode locking.Mode, below locking.Token) {
	r := &run{claim: lease.Claim(), mode: mode, lease: lease}
	b.granted(r, below)
	if w.chance(20) {
		b.end(r)
		_ = lease.Void(context.Background())
		return
	}
	b.begin(r)
	for range w.upTo(3) {
		time.Sleep(w.upTo(1500 * time.Millisecond))
		_ = lease.Extend(context.Background())
	}
	if w.chance(50) {
		b.end(r)
		_ = lease.Release(context.Background(), nil)
	}
}

// latest is how late a message may arrive: after leases, tombstones and grace.
const latest = 8 * time.Second

// weather decides the fate of messages.
type weather struct {
	mu   sync.Mutex
	rand *rand.Rand
	bad  bool
}

func (w *weather) rough(bad bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bad = bad
}

func (w *weather) upTo(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rand.Int64N(int64(d)))
}

func (w *weather) chance(percent time.Duration) bool { return w.upTo(100) < percent }

// fate is how late a message arrives, and whether at all.
func (w *weather) fate() (late time.Duration, lost bool) {
	w.mu.Lock()
	bad := w.bad
	w.mu.Unlock()
	switch {
	case !bad || !w.chance(12):
		return w.upTo(10 * time.Millisecond), false
	case w.chance(50):
		return w.upTo(latest), false
	}
	return 0, true
}

// dial puts the weather between the client and the node. Sent requests arrive even if the
// client has gone.
func (w *weather) dial(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		server, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		client, inner := net.Pipe()
		go func() {
			defer func() { _ = server.Close() }()
			w.pump(server, inner, false)
		}()
		go func() {
			defer func() { _ = inner.Close() }()
			w.pump(inner, server, true)
		}()
		return client, nil
	}
}

func (w *weather) pump(dst, src net.Conn, reply bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if err != nil {
			return
		}
		late, lost := w.fate()
		time.Sleep(late)
		if lost && reply {
			continue
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			return
		}
	}
}

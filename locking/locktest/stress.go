package locktest

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
)

// A StressConfig sets the load of Stress.
type StressConfig struct {
	// Contenders is how many compete for the lock. Default: 8.
	Contenders int
	// Rounds is how often they acquire it, in total. Default: 100.
	Rounds int
	// TTL of the leases. Default: 5 s.
	TTL time.Duration
	// Retry says how they retry. Default: without a bound, after 1 to 50 ms.
	Retry locking.Retry
	// Work is how long a contender holds the lock. Default: no time.
	Work time.Duration
}

func (c StressConfig) withDefaults() StressConfig {
	c.Contenders = cmp.Or(c.Contenders, 8)
	c.Rounds = cmp.Or(c.Rounds, 100)
	c.TTL = cmp.Or(c.TTL, 5*time.Second)
	if c.Retry == (locking.Retry{}) {
		c.Retry = locking.Retry{Tries: -1, Min: time.Millisecond, Max: 50 * time.Millisecond}
	}
	return c
}

// Counters are the counts of a Stress. Rounds = Written + Stale. Each lease also counts
// as Released, Expired or Lost. Stale, Expired and Lost are 0 if machine and nodes keep
// up.
type Counters struct {
	Rounds   int
	Extended int // leases that were extended
	Written  int // updates of the cell
	Stale    int // updates that the cell refused because of their token
	Released int
	Expired  int // expired before they were released
	Lost     int // belonged to another by then, or it is unknown
	Took     time.Duration
}

// String formats c as one line.
func (c Counters) String() string {
	return fmt.Sprintf("%d rounds in %v: %d written, %d stale, %d extended, %d released, %d expired, %d lost",
		c.Rounds, c.Took.Round(time.Millisecond), c.Written, c.Stale, c.Extended, c.Released, c.Expired, c.Lost)
}

// Stress lets contenders compete for one plain lock. Each round acquires it, reads a
// cell, extends the lease, writes the cell incremented by one, and releases the lock.
// Only the lock and its tokens guard the cell, so a lost update shows in its final
// value. Stress also checks that no two leases overlap, and that tokens grow in
// real-time order. Open connects a contender.
func Stress(t testing.TB, open func(holder string) locking.Locker, cfg StressConfig) Counters {
	t.Helper()
	s := &stress{TB: t, cfg: cfg.withDefaults()}
	begun := time.Now()
	var wg sync.WaitGroup
	for i := range s.cfg.Contenders {
		holder := fmt.Sprintf("contender %d", i+1)
		l := open(holder)
		wg.Go(func() {
			for s.begun.Add(1) <= int64(s.cfg.Rounds) && !t.Failed() {
				s.round(l, holder)
			}
		})
	}
	wg.Wait()
	s.counters.Took = time.Since(begun)
	if s.cell.value != s.counters.Written {
		t.Errorf("the cell holds %d after %d updates: %d were lost", s.cell.value, s.counters.Written, s.counters.Written-s.cell.value)
	}
	return s.counters
}

// stress is what the contenders share.
type stress struct {
	testing.TB
	cfg   StressConfig
	begun atomic.Int64 // rounds
	cell  cell

	mu       sync.Mutex
	counters Counters
	last     *held // the lease with the largest token
}

// held is a lease and whether its holder has given it back.
type held struct {
	locking.Lease
	over bool
}

func (s *stress) round(l locking.Locker, holder string) {
	ctx := s.Context()
	below := s.highest()
	lease, err := locking.Acquire(ctx, l, locking.Request{Name: lockName, TTL: s.cfg.TTL, Holder: holder}, s.cfg.Retry)
	if err != nil {
		s.Errorf("%s: Acquire = %v", holder, err)
		return
	}
	mine := &held{Lease: lease}
	s.granted(mine, below)
	token := lease.Claim().Token
	value, read := s.cell.read(token)
	time.Sleep(s.cfg.Work)
	extended := lease.Extend(ctx)
	written := read && s.cell.write(token, value+1)
	s.over(mine)
	s.count(extended, written, lease.Release(ctx, nil))
}

func (s *stress) highest() locking.Token {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return 0
	}
	return s.last.Claim().Token
}

// granted checks a new lease. Below is the largest token granted before it was
// requested. Two leases overlap if both are valid at one instant.
func (s *stress) granted(mine *held, below locking.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token := mine.Claim().Token
	if token <= below {
		s.Errorf("token %d was granted after %d, want a larger one", token, below)
	}
	if s.last == nil {
		s.last = mine
		return
	}
	other := s.last.Claim().Token
	if !s.last.over && locking.Left(mine) > 0 && locking.Left(s.last) > 0 {
		s.Errorf("leases with tokens %d and %d last at the same time", other, token)
	}
	if token > other {
		s.last = mine
	}
}

func (s *stress) over(mine *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine.over = true
}

func (s *stress) count(extended error, written bool, released error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counters
	c.Rounds++
	if extended == nil {
		c.Extended++
	}
	if written {
		c.Written++
	} else {
		c.Stale++
	}
	switch {
	case released == nil:
		c.Released++
	case errors.Is(released, locking.ErrExpired):
		c.Expired++
	case errors.Is(released, locking.ErrLeaseLost), errors.Is(released, locking.ErrNoQuorum):
		c.Lost++
	default:
		s.Errorf("Release = %v", released)
	}
}

// A cell holds a number and the largest token that has read or written it, and refuses
// smaller ones. Reads count too: otherwise a stale writer could write between the read
// and the write of another.
type cell struct {
	mu    sync.Mutex
	seen  locking.Token
	value int
}

func (c *cell) read(t locking.Token) (value int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t < c.seen {
		return 0, false
	}
	c.seen = t
	return c.value, true
}

func (c *cell) write(t locking.Token, value int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t < c.seen {
		return false
	}
	c.seen, c.value = t, value
	return true
}

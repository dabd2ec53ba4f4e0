package faults

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking"
)

// restartTimes keep a cell short: it lasts a grace.
var restartTimes = times{timeout: 400 * time.Millisecond, ttl: 2 * time.Second, grace: 3 * time.Second}

// A disk is the persistence of servers.
type disk struct {
	name    string
	conf    []string
	durable bool // and the operator says so
}

func disks() []disk {
	return []disk{
		{name: "AOF always", conf: []string{"appendonly yes", "appendfsync always"}},
		{name: "AOF always, durable", conf: []string{"appendonly yes", "appendfsync always"}, durable: true},
		{name: "AOF everysec", conf: []string{"appendonly yes", "appendfsync everysec"}},
		{name: "no persistence"},
	}
}

// A blow is a way for a server to go, and come back.
type blow struct {
	name   string
	wipes  bool // whatever its disk
	strike func(t *testing.T, s *redistest.Server)
}

func blows() []blow {
	return []blow{
		{"SHUTDOWN NOSAVE", false, func(_ *testing.T, s *redistest.Server) {
			s.Shutdown()
			s.Start()
		}},
		{"kill -9", false, func(_ *testing.T, s *redistest.Server) {
			s.Kill()
			s.Start()
		}},
		{"FLUSHALL", true, func(t *testing.T, s *redistest.Server) { command(t, s, "FLUSHALL") }},
	}
}

// moments of a claim at which it happens.
var moments = []string{"before acquire", "between the rounds", "while held", "before release"}

// A restart is one cell of the campaign.
type restart struct {
	disk   disk
	blow   blow
	moment string
	nodes  int
}

func (r restart) String() string {
	return fmt.Sprintf("%s, %s, %s, %d of %d", r.disk.name, r.blow.name, r.moment, r.nodes, size)
}

// quarantined reports whether too few nodes are left that vouch for the past.
func (r restart) quarantined() bool { return r.nodes >= quorum && !r.disk.durable }

// A restarted is the result of a cell.
type restarted struct {
	first string        // the result of the claim under way
	after time.Duration // from before the blow to the next claim
}

// However nodes go and come back, and when: the tick is not granted twice,
// tokens grow, and where a quorum of nodes may have forgotten, nothing is granted
// before a grace has passed.
func TestRestarts(t *testing.T) {
	t.Parallel()
	rand := dice(t)
	var cells []restart
	for i, m := range moments {
		var list []restart
		for _, d := range disks() {
			for _, b := range blows() {
				if d.durable && b.wipes {
					continue // the operator's word would be a lie
				}
				for _, n := range []int{quorum - 1, quorum, size} {
					list = append(list, restart{d, b, m, n})
				}
			}
		}
		if !length.Whole() {
			list = list[rand.IntN(len(list)):][:1]
			list[0].nodes = []int{quorum, size}[i%2]
		}
		cells = append(cells, list...)
	}
	var mu sync.Mutex
	results := map[string]restarted{}
	t.Run("cells", func(t *testing.T) {
		for _, c := range cells {
			order := rand.Perm(size)[:c.nodes]
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				got := runRestart(t, c, order)
				mu.Lock()
				defer mu.Unlock()
				results[c.String()] = got
			})
		}
	})
	report(t, "restarts", restartTable(cells, results))
}

// runRestart lets one replica claim a tick while the nodes are hit, and another
// compete for the same tick, and for later ones until it gets one.
func runRestart(t *testing.T, c restart, hit []int) restarted {
	t.Helper()
	cl := newCluster(t, restartTimes, redistest.Conf(c.disk.conf...))
	cl.cfg.Durable = c.disk.durable
	way := cl.lines(t)
	a, b := cl.replica(t, way), cl.replica(t, way)
	book := newBook()
	mustRelease(t, mustClaim(t, a, cl.request(past(1)))) // it does not begin with blank nodes

	var began time.Time
	strike := sync.OnceFunc(func() {
		began = time.Now()
		for _, n := range hit {
			c.blow.strike(t, cl.servers[n])
		}
	})
	tick := cl.request(time.Now().Truncate(time.Millisecond))
	first := claimUnder(t, c, a, tick, way, book, strike)
	strike() // if the attempt never got that far

	for {
		_, _ = book.try(t, b, tick, false) // its error is in the book if it is odd
		next := cl.request(time.Now().Truncate(time.Millisecond))
		if lease, err := book.try(t, b, next, false); err == nil {
			book.over(lease)
			_ = release(t, lease) // it ends by itself
			break
		}
		if time.Since(began) > patience {
			t.Fatal("no claim is granted any more")
		}
		wait(t, 20*time.Millisecond)
	}
	book.check(t)
	// A node counts in milliseconds.
	quarantine := began.Add(restartTimes.grace - time.Millisecond)
	claims := book.claims()
	for _, claim := range claims {
		if c.quarantined() && claim.Granted.After(began) && claim.Granted.Before(quarantine) {
			t.Errorf("granted %v after the blow, within the grace of %v: %+v", claim.Granted.Sub(began), restartTimes.grace, claim)
		}
	}
	return restarted{first: first, after: claims[len(claims)-1].Granted.Sub(began)}
}

// claimUnder claims the tick, fails at the moment of the cell, and continues. It returns
// the result of the claim.
func claimUnder(t *testing.T, c restart, r *replica, tick locking.Request, way lines, book *book, strike func()) string {
	t.Helper()
	switch c.moment {
	case "before acquire":
		strike()
	case "between the rounds":
		for _, p := range way {
			p.OnRequest(tick.Holder, strike) // only COMMIT names it
		}
	}
	lease, err := book.try(t, r, tick, false)
	if err != nil {
		if why, ok := errors.AsType[*locking.AcquireError](err); ok {
			return "refused: " + why.Reason.Error()
		}
		return err.Error()
	}
	switch c.moment {
	case "while held":
		strike()
		// It dies some time later, without a release.
		return "held, extended: " + came(lease.Extend(t.Context()))
	case "before release":
		strike()
	}
	book.over(lease)
	return "held, released: " + came(release(t, lease))
}

// came returns the result of an operation on a lease.
func came(err error) string {
	switch {
	case err == nil:
		return "yes"
	case errors.Is(err, locking.ErrExpired):
		return locking.ErrExpired.Error()
	case errors.Is(err, locking.ErrLeaseLost):
		return locking.ErrLeaseLost.Error()
	case errors.Is(err, locking.ErrNoQuorum):
		return locking.ErrNoQuorum.Error()
	}
	return err.Error()
}

// restartTable has a row per moment, blow and disk, and a column per number of
// nodes.
func restartTable(cells []restart, results map[string]restarted) string {
	var b strings.Builder
	b.WriteString("| when | how | disk |")
	counts := []int{quorum - 1, quorum, size}
	for _, n := range counts {
		fmt.Fprintf(&b, " %d nodes |", n)
	}
	b.WriteString("\n|---|---|---" + strings.Repeat("|---", len(counts)) + "|\n")
	last := ""
	for _, c := range cells {
		row := fmt.Sprintf("| %s | %s | %s |", c.moment, c.blow.name, c.disk.name)
		if row == last {
			continue
		}
		last = row
		b.WriteString(row)
		for _, n := range counts {
			c.nodes = n
			fmt.Fprintf(&b, " %s |", results[c.String()])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// String is empty for a cell that was not in the sample.
func (r restarted) String() string {
	if r.first == "" {
		return ""
	}
	return fmt.Sprintf("%s; next claim after %.1f s", r.first, r.after.Seconds())
}

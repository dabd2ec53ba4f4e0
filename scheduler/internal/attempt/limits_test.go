package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// ranked is an attempt with a rank, of a job with the same name.
func ranked(rank, priority int, at time.Duration) *Assignment {
	a := waitingBrief(fmt.Sprintf("rank %d, priority %d, at %v", rank, priority, at), priority, at)
	a.rank = rank
	return a
}

func (w *waiter) granted() bool {
	select {
	case <-w.given:
		return true
	default:
		return false
	}
}

// Turns go by rank, then by priority, then by tick.
func TestTurnsGoByRank(t *testing.T) {
	t.Parallel()
	permits := newClaimPermits(1)
	if permits.acquire(ranked(9, 0, 0)) != nil {
		t.Fatal("the first must wait")
	}
	order := []*Assignment{ranked(0, 1, time.Hour), ranked(0, 0, 0), ranked(0, 0, time.Second), ranked(1, 9, 0), ranked(2, 0, 0)}
	var waiting []*waiter
	for _, i := range []int{3, 1, 4, 0, 2} {
		waiting = append(waiting, permits.acquire(order[i]))
	}
	for _, a := range order {
		permits.release()
		i := slices.IndexFunc(waiting, (*waiter).granted)
		if i < 0 || waiting[i].assignment != a {
			t.Fatalf("%s is not next", a.Job.Name)
		}
		waiting = slices.Delete(waiting, i, i+1)
	}
}

// A permit is never lost or given twice: waiting attempts get theirs as soon as there are
// permits, of which at least one remains.
func TestTurnsAreKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		permits, have := newClaimPermits(limit), 0
		var waiting []*waiter
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				if w := permits.acquire(ranked(rapid.IntRange(0, 3).Draw(t, "rank"), 0, 0)); w != nil {
					waiting = append(waiting, w)
				} else {
					have++
				}
			},
			"leave": func(t *rapid.T) {
				if have == 0 {
					t.Skip("nobody has a claim permit")
				}
				have--
				permits.release()
			},
			"give up": func(t *rapid.T) {
				if len(waiting) == 0 {
					t.Skip("nobody waits")
				}
				i := rapid.IntRange(0, len(waiting)-1).Draw(t, "who")
				permits.giveUp(waiting[i]) // also one that has just got its claim permit
				waiting = slices.Delete(waiting, i, i+1)
			},
			"notice": func(t *rapid.T) {
				for i, w := range slices.Backward(waiting) {
					if w.granted() {
						have++
						waiting = slices.Delete(waiting, i, i+1)
					}
				}
			},
			"answer":  func(*rapid.T) { permits.note(time.Time{}, nil) },
			"silence": func(*rapid.T) { permits.note(time.Now(), locking.ErrNoQuorum) },
			"": func(t *rapid.T) {
				given, patient := have, 0
				for _, w := range waiting {
					if w.granted() {
						given++
					} else {
						patient++
					}
				}
				if given != permits.taken || patient > 0 && given < permits.limit || permits.limit < 1 || permits.limit > limit {
					t.Fatalf("%d permits are given, %d count as taken, of %d and at most %d, and %d wait", given, permits.taken, permits.limit, limit, patient)
				}
			},
		})
	})
}

// The number of permits follows the answers: a silence halves it, once for all concurrent
// requests, and answers restore it one by one, slower with more permits.
func TestTurnsFollowAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		permits, asked := newClaimPermits(100), time.Now()
		want := func(limit int, when string) {
			t.Helper()
			if permits.limit != limit {
				t.Fatalf("%s there are %d permits, want %d", when, permits.limit, limit)
			}
		}
		time.Sleep(time.Second)
		for range 50 {
			permits.note(asked, locking.ErrNoQuorum)
		}
		want(50, "after what was asked together")
		for range 50 {
			time.Sleep(time.Second)
			permits.note(time.Now(), locking.ErrNoQuorum)
		}
		want(1, "while nobody answers")
		permits.note(time.Time{}, nil)
		want(2, "after an answer")
		for range 2 + 3 + 4 {
			permits.note(time.Time{}, nil)
		}
		want(5, "after ten answers")
		for range 10_000 {
			permits.note(time.Time{}, nil)
		}
		want(100, "in the end")
	})
}

// waitingBrief is the brief of an attempt that waits at a limit.
func waitingBrief(name string, priority int, at time.Duration) *Assignment {
	return &Assignment{Job: &job.Job{Job: jobs.Job{Name: name, Priority: priority}}, Tick: job.Tick{Start: noon.Add(at)}}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	list := []*Assignment{
		waitingBrief("late", 0, time.Second), waitingBrief("b", 0, 0), waitingBrief("high", 2, time.Hour), waitingBrief("low", -1, 0), waitingBrief("a", 0, 0),
	}
	slices.SortFunc(list, Order)
	var names []string
	for _, a := range list {
		names = append(names, a.Job.Name)
	}
	if got := strings.Join(names, " "); got != "high a b late low" {
		t.Errorf("they go in the order %s", got)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	p := newRunPermits(2)
	if p.acquire(waitingBrief("one", 0, 0)) != nil || p.acquire(waitingBrief("two", 0, 0)) != nil {
		t.Fatal("the first two who ask get a run permit at once")
	}
	low, high := p.acquire(waitingBrief("low", 0, 0)), p.acquire(waitingBrief("high", 1, 0))
	if low == nil || high == nil {
		t.Fatal("there are more than two permits")
	}
	p.release()
	if !high.granted() || low.granted() {
		t.Error("the larger priority goes first")
	}
	p.giveUp(low) // it stops waiting
	p.release()
	if low.granted() || p.taken != 1 {
		t.Errorf("%d permits taken, by low: %v", p.taken, low.granted())
	}
	if p.acquire(waitingBrief("third", 0, 0)) != nil {
		t.Error("a run permit that was free was not given")
	}
}

func TestFullError(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*fullError{
		"limit: group g is full (2 of 2): held by r1 for a, r2 for b":           {group: "g", size: 2, holders: []string{"r2 for b", "r1 for a"}},
		"limit: group g has no free slot (1 of 2 are taken): held by r1 for a":  {group: "g", size: 2, holders: []string{"r1 for a"}},
		"limit: group g has no free slot (0 of 1 are taken)":                    {group: "g", size: 1},
		"limit: group g has 3 slots, for which others on this replica go first": {group: "g", size: 3, behind: true},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if v := noSlot(e, job.Tick{}); v.Outcome != ledger.Skipped || v.Reason.String() != want {
			t.Errorf("verdict %+v", v)
		}
	}
	if v := noSlot(&locking.AcquireError{Reason: locking.ErrNoQuorum, Votes: locking.Votes{Of: 5}}, job.Tick{}); v.Outcome != ledger.Missed || !strings.HasPrefix(v.Reason.String(), "limit: asking for a slot: no quorum") {
		t.Errorf("verdict %+v", v)
	}
}

// fixedLease is a lease with a given deadline and answers.
type fixedLease struct {
	locking.Lease
	deadline time.Time
	err      error
}

func (l fixedLease) Deadline() time.Time          { return l.deadline }
func (l fixedLease) Extend(context.Context) error { return l.err }
func (l fixedLease) Claim() locking.Claim         { return locking.Claim{Name: "group:g:0"} }

// Two leases end with the first of them, and the error names it.
func TestPair(t *testing.T) {
	t.Parallel()
	soon, later := noon, noon.Add(time.Second)
	tests := []struct {
		job, slot fixedLease
		lost      bool
		why       string
	}{
		{fixedLease{deadline: soon}, fixedLease{deadline: later}, false, ""},
		{fixedLease{deadline: later}, fixedLease{deadline: soon}, false, "the lease of slot group:g:0 could not be kept"},
		{fixedLease{deadline: soon, err: locking.ErrLeaseLost}, fixedLease{deadline: soon}, true, ""},
		{fixedLease{deadline: soon}, fixedLease{deadline: later, err: fmt.Errorf("x: %w", locking.ErrLeaseLost)}, true, "the lease of slot group:g:0 could not be kept"},
	}
	for i, tt := range tests {
		x := &execution{run: &Run{lease: tt.job}, slot: tt.slot}
		both := x.tenure()
		err := both.Extend(t.Context())
		if !both.Deadline().Equal(soon) || errors.Is(err, locking.ErrLeaseLost) != tt.lost {
			t.Errorf("%d: until %v, extended with %v", i, both.Deadline(), err)
		}
		if got := x.slotLost(err).String(); got != tt.why {
			t.Errorf("%d: %q, want %q", i, got, tt.why)
		}
	}
}

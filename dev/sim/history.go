package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// What is the kind of an Event.
type What string

// What clients of the nodes do, and what happens to them.
const (
	Asked    What = "asks"       // begins an attempt
	Granted  What = "wins"       // has a claim, with Token, until Until
	Refused  What = "loses"      // has none, for Text
	Looked   What = "looks"      // at one node, and is told Text
	Extended What = "extends"    // has it until Until
	Ending   What = "releases"   // begins to give the claim back; from here on it claims nothing
	Handing  What = "hands over" // the same, to the next claimant of the tick
	Voiding  What = "voids"      // the same, unused
	Ended    What = "released"   // others know that it was given back
	Began    What = "begins"     // calls the job; Text: why it runs
	Stopped  What = "stops"      // the job's context has ended; Text: for what
	Returned What = "returns"    // the job has returned
	Wrote    What = "writes"     // the guard took a write
	Rejected What = "stale"      // the guard refused a write
	Serving  What = "serves"     // a replica knows the jobs Text from tick Tick on
	Dropped  What = "drops"      // a replica that serves has no such job any more
	Taken    What = "takes"      // it has it again
	Left     What = "leaves"     // it has drained, and recorded its ticks
	Died     What = "dies"       // the process was killed
	Paused   What = "paused"     // a quorum knows that the job is paused
	Resumed  What = "resumed"    // somebody asks for it to go on
	Happened What = "fault"
)

// Hint is what a look says that decides nothing: somebody is at the tick.
const Hint = "somebody is at it"

// Why runs begin and end, as far as promises are about it.
const (
	CatchUp = "catch_up"   // begins: no replica could run its tick in time
	ByLease = "lease lost" // ends: it cannot be kept
	ByTick  = "replaced"   // ends: the job's next tick replaces it
	ByDrain = "drained"    // ends: its replica drains
)

// An Event is one thing that was seen.
type Event struct {
	At      time.Duration // since the world began
	What    What
	Replica string
	Job     string
	Tick    time.Time // zero: none
	Stream  string    // of the tick; empty: the schedule
	Claim   string    // names the attempt; no two have the same
	Token   uint64
	Attempt int
	Until   time.Duration // the end of the lease, less nothing; of a pause, when it ends by itself; 0: never
	Rerun   bool          // the attempt asked to run at least once
	Beside  bool          // it asked to run beside others of its job
	Direct  bool          // it asked for a claim in one round
	Text    string
}

// About returns the event with the text.
func (e Event) About(text string) Event {
	e.Text = text
	return e
}

func (e Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%11.6fs %-8s %-8s", e.At.Seconds(), cmp.Or(e.Replica, "-"), e.What)
	if e.Job != "" {
		fmt.Fprintf(&b, " %s", e.Job)
	}
	if !e.Tick.IsZero() {
		fmt.Fprintf(&b, " tick %s%s", stamp(e.Tick), e.Stream)
	}
	if e.Claim != "" {
		fmt.Fprintf(&b, " (%s)", e.Claim)
	}
	if e.Token != 0 {
		fmt.Fprintf(&b, " token %d+%d", e.Token>>20, e.Token&(1<<20-1))
	}
	if e.Until != 0 {
		fmt.Fprintf(&b, " until %.6fs", e.Until.Seconds())
	}
	if e.Text != "" {
		fmt.Fprintf(&b, " %s", e.Text)
	}
	return b.String()
}

func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// A History has the events of a world, in order.
type History struct {
	start time.Time

	mu     sync.Mutex
	events []Event
	seen   map[Fault]int
}

// Add notes an event that happens now.
func (h *History) Add(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.At = time.Since(h.start)
	h.events = append(h.events, e)
}

// Since returns an instant as events have it.
func (h *History) Since(t time.Time) time.Duration { return t.Sub(h.start) }

func (h *History) count(f Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen[f]++
}

// order is that of the life of a claim: what has no place in it comes first.
func (w What) order() int {
	return slices.Index([]What{Asked, Refused, Granted, Began, Extended, Wrote, Rejected, Stopped, Returned, Voiding, Handing, Ending, Ended}, w)
}

// Events returns the events. Those of one instant are sorted, since different goroutines
// run in any order.
func (h *History) Events() []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	events := slices.Clone(h.events)
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Replica, b.Replica), cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.What.order(), b.What.order()), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Text, b.Text))
	})
	return events
}

// Faults returns how many of each kind there were.
func (h *History) Faults() map[Fault]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.seen)
}

package health

import (
	"sync"
	"time"
)

// A State is what is known of a node, or of the only store, without calling it.
type State struct {
	Node string
	// Up reports whether the node answered the last call. Votes reports whether it also
	// votes on current ticks, or the store grants them: it is not blank, takes writes, does not
	// abstain, and neither side refuses the other.
	Up, Votes bool
	// Offset is how far its clock is ahead of the local one, measured over the shortest
	// recent round trip, RTT. RTT is zero for a node that has never answered.
	Offset, RTT time.Duration
	// Latest is the round trip of its last answer.
	Latest time.Duration
}

// worse has the worse parts of two states of a node.
func (s State) worse(o State) State {
	s.Up, s.Votes = s.Up && o.Up, s.Votes && o.Votes
	s.RTT, s.Latest = max(s.RTT, o.RTT), max(s.Latest, o.Latest)
	if o.Offset.Abs() > s.Offset.Abs() {
		s.Offset = o.Offset
	}
	return s
}

// A Minute is the worst that a replica knew of its nodes in a minute.
type Minute struct {
	At    time.Time // its begin
	Nodes []State   // callers must not change them
}

// An Hour has the last 60 minutes. Its zero value is ready. Minutes are those of the wall clock, which
// also counts while the machine is suspended: nothing is known of that time.
type Hour struct {
	mu      sync.Mutex
	minutes [60]Minute // by the minute of the hour
}

// Note adds what is known now, and keeps the slice. The states are those of the same nodes each time.
func (h *Hour) Note(now time.Time, states []State) {
	at := now.UTC().Truncate(time.Minute)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.minutes { // the clock was set back: these would be mixed with minutes to come
		if h.minutes[i].At.After(at) {
			h.minutes[i] = Minute{}
		}
	}
	m := &h.minutes[at.Minute()]
	if m.At.Equal(at) {
		for i, before := range m.Nodes { // which readers may have
			states[i] = states[i].worse(before)
		}
	}
	*m = Minute{at, states}
}

// Minutes returns the minutes of the last hour in which something was noted, oldest first.
func (h *Hour) Minutes(now time.Time) (list []Minute) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for back := len(h.minutes) - 1; back >= 0; back-- {
		at := now.UTC().Truncate(time.Minute).Add(-time.Duration(back) * time.Minute)
		if m := h.minutes[at.Minute()]; m.At.Equal(at) {
			list = append(list, m)
		}
	}
	return list
}

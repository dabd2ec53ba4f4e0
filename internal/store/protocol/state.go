package protocol

import "maps"

// A State is all that a node stores of one job. The zero State is that of an unknown
// job. No function changes a State in place.
type State struct {
	// Fence is the largest token accepted; 0 if nothing is stored.
	Fence uint64
	// Open is the owner of the claim accepted last, until that claim ends.
	Open string
	// Streams are the latest claims, by stream.
	Streams map[string]Claim
	// Lock is the job's lock, TickLocks those of ticks whose runs may overlap.
	Lock      Lease
	TickLocks map[Place]Lease
	// Marker is the time until which tick locks may exist. It blocks the job's lock.
	Marker int64
	// Tombstones refuse late requests of owners that have ended.
	Tombstones map[string]Tombstone
	// Runs are the records of runs, oldest tick first.
	Runs Records
}

// A Place is a tick of a stream.
type Place struct {
	Stream string
	Tick   int64
}

// A Claim is the latest claim that a node has accepted for a stream.
type Claim struct {
	Tick    int64 // 0 for plain locks
	Token   uint64
	Owner   string // empty without a claim
	Mode    Mode
	Attempt int
	// Note is the client's text, such as the holder's name. It becomes the note of the
	// run's record.
	Note     string
	Overlaps bool
	Void     bool
	// Ended is what FINISH answered, empty before. Handed means that the tick is not
	// done.
	Ended  Code
	Handed bool
}

// done reports whether the claim closes its tick for every mode.
func (c Claim) done() bool { return c.Ended != "" && !c.Handed }

// excludes reports whether the claim blocks a request of the mode for its tick. A void
// rerun claim may cover the claim of a run, so it admits only reruns.
func (c Claim) excludes(mode Mode) bool {
	if c.Mode == AtMostOnce {
		return !c.Void
	}
	return mode == AtMostOnce
}

// A Lease is a lock with an end.
type Lease struct {
	Owner string
	// Committed is true for a lock set by COMMIT or EXTEND, false for one set by LOCK.
	Committed bool
	Until     int64
}

// A Tombstone refuses requests that its owner sent before it ended.
type Tombstone struct {
	Reason string // an operator's; else empty
	Until  int64
}

func (l Lease) lasts(now int64) bool { return l.Owner != "" && now <= l.Until }

// lockOf returns the lock that a try takes: its tick's if its runs may overlap.
func (s State) lockOf(t Try) Lease {
	if t.Overlaps {
		return s.TickLocks[t.place()]
	}
	return s.Lock
}

// withLock stores the try's lock, and with a tick's lock the marker.
func (s State) withLock(t Try, l Lease) State {
	if !t.Overlaps {
		s.Lock = l
		return s
	}
	s.TickLocks = clone(s.TickLocks)
	s.TickLocks[t.place()] = l
	s.Marker = max(s.Marker, l.Until)
	return s
}

// withoutLock deletes the try's lock if the try owns it.
func (s State) withoutLock(t Try) State {
	switch {
	case s.lockOf(t).Owner != t.Owner:
	case t.Overlaps:
		s.TickLocks = clone(s.TickLocks)
		delete(s.TickLocks, t.place())
	default:
		s.Lock = Lease{}
	}
	return s
}

func (s State) withClaim(stream string, c Claim) State {
	s.Streams = clone(s.Streams)
	s.Streams[stream] = c
	return s
}

func (s State) withTombstone(owner string, t Tombstone) State {
	s.Tombstones = clone(s.Tombstones)
	s.Tombstones[owner] = t
	return s
}

// Sweep drops expired locks and tombstones to free memory. No rule needs it.
func (s State) Sweep(now int64) State {
	s.TickLocks, s.Tombstones = clone(s.TickLocks), clone(s.Tombstones)
	maps.DeleteFunc(s.TickLocks, func(_ Place, l Lease) bool { return !l.lasts(now) })
	maps.DeleteFunc(s.Tombstones, func(_ string, t Tombstone) bool { return now > t.Until })
	if !s.Lock.lasts(now) {
		s.Lock = Lease{}
	}
	if now > s.Marker {
		s.Marker = 0
	}
	return s
}

// clone copies a map that may be nil.
func clone[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

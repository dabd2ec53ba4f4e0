package protocol

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Mode says how often a tick may run.
type Mode bool

// The modes, as a job's on_crash names them.
const (
	AtMostOnce  Mode = false // on_crash: skip
	AtLeastOnce Mode = true  // on_crash: rerun
)

// A Try describes a replica's try; every request carries it.
type Try struct {
	// Owner is the try's random value, which no other try ever uses.
	Owner  string
	Stream string
	// Tick is the scheduled time. A Plain lock has none.
	Tick  int64
	Plain bool
	// Overlaps takes the lock of the tick instead of the job's.
	Overlaps bool
	TTL      int64
	Mode     Mode
}

func (t Try) tickKey() TickKey { return TickKey{t.Stream, t.Tick} }

// A Bid is the claim that COMMIT asks a node to accept.
type Bid struct {
	Token   uint64
	Attempt int
	// Note is the client's text, see [Claim].
	Note string
	// Keep bounds the records of runs.
	Keep int
	// Join is set by a holder: its claim is issued, and the answer is no vote.
	Join bool
}

// An End describes how a run ended, for FINISH.
type End struct {
	// Note is the run's record. Keep bounds the records.
	Note string
	Keep int
	// Handover ends the claim but leaves its tick to another rerun.
	Handover bool
	// Straggler says that a request of the try may still arrive.
	Straggler bool
}

// A Node holds the clock and the limits of a node.
type Node struct {
	Now int64
	// Floor is the time up to which the node may have forgotten claims.
	Floor int64
	Grace int64
	// GCFence and GCTick are the largest of all jobs forgotten here.
	GCFence uint64
	GCTick  int64
}

// TokenAt is the token of an instant: 2^20 per second, so claims within one millisecond
// differ.
func TokenAt(at time.Time) uint64 {
	return uint64(at.Unix())<<20 + uint64(at.Nanosecond())<<20/uint64(time.Second)
}

// TimeOf is the inverse of TokenAt, in whole milliseconds.
func TimeOf(token uint64) time.Time { return time.UnixMilli(int64(token * 1000 >> 20)) }

// A Code is the kind of an answer.
type Code string

// The answers of a node.
const (
	OK      Code = "OK"
	Dead    Code = "DEAD"    // the try has ended, or an operator ended it
	Abstain Code = "ABSTAIN" // the node may have forgotten claims of the tick
	Future  Code = "FUTURE"  // the tick or the token is ahead of the node's clock
	Later   Code = "LATER"   // the stream has a later tick
	Done    Code = "DONE"    // the tick has run
	Claimed Code = "CLAIMED" // the tick is claimed
	Busy    Code = "BUSY"    // another try has the lock
	Unended Code = "UNENDED" // the claim accepted last has not ended: LOCK first
	Stale   Code = "STALE"   // the token or the attempt is too small
	Lost    Code = "LOST"    // the lease is not extended here
	RanOut  Code = "RANOUT"  // finished, but the lock had expired
	Late    Code = "LATE"    // finished, but another claim may have run since
	None    Code = "NONE"    // there was nothing to do
)

// An Answer is a node's reply.
type Answer struct {
	Code Code
	// Fence and Attempt are the largest so far, with OK and STALE.
	Fence   uint64
	Attempt int
	// Claim is the blocking claim, as far as the node knows it. Left is the time until
	// its lock ends.
	Claim Claim
	Left  int64
	// Reason is an operator's, with DEAD.
	Reason string
}

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
	TickLocks map[TickKey]Lease
	// Marker is the time until which tick locks may exist. It blocks the job's lock.
	Marker int64
	// Tombstones refuse late requests of owners that have ended.
	Tombstones map[string]Tombstone
	// Runs are the records of runs, oldest tick first.
	Runs Records
}

// A TickKey names a tick of a stream.
type TickKey struct {
	Stream string
	Tick   int64
}

// A Claim is the latest claim that a node has accepted for a stream. Its JSON is what
// consistent stores keep.
type Claim struct {
	Stream   string `json:"stream"`
	Tick     int64  `json:"tick,omitempty"` // 0 for plain locks
	Token    uint64 `json:"token"`
	Owner    string `json:"owner"` // the try's random value; empty without a claim
	Attempt  int    `json:"attempt"`
	Mode     Mode   `json:"rerun,omitempty"`
	Overlaps bool   `json:"overlaps,omitempty"` // it has the lock of its tick
	// Note is the client's text, such as the holder's name. It becomes the note of the
	// run's record.
	Note string `json:"holder,omitempty"`
	Void bool   `json:"void,omitempty"` // it was given back
	// Ended is what FINISH answered, one of OK, RANOUT and LATE; empty before. Handed means
	// that the tick is not done.
	Ended  Code `json:"ended,omitempty"`
	Handed bool `json:"handed,omitempty"`
}

// Open reports whether the claim has neither ended nor was given back.
func (c Claim) Open() bool { return c.Owner != "" && !c.Void && c.Ended == "" }

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
		return s.TickLocks[t.tickKey()]
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
	s.TickLocks[t.tickKey()] = l
	s.Marker = max(s.Marker, l.Until)
	return s
}

// withoutLock deletes the try's lock if the try owns it.
func (s State) withoutLock(t Try) State {
	switch {
	case s.lockOf(t).Owner != t.Owner:
	case t.Overlaps:
		s.TickLocks = clone(s.TickLocks)
		delete(s.TickLocks, t.tickKey())
	default:
		s.Lock = Lease{}
	}
	return s
}

func (s State) withClaim(c Claim) State {
	s.Streams = clone(s.Streams)
	s.Streams[c.Stream] = c
	return s
}

func (s State) withTombstone(owner string, t Tombstone) State {
	s.Tombstones = clone(s.Tombstones)
	s.Tombstones[owner] = t
	return s
}

// clone copies a map that may be nil.
func clone[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// A Record describes a run.
type Record struct {
	TickKey
	Owner string
	// Ended is what FINISH answered; empty if the end of the run is unknown.
	Ended Code
	Note  string
}

// Records are the records of a job's runs, oldest tick first. In addition, a claim in
// the State that is neither void nor ended is a run that started.
type Records struct {
	List []Record
	// Dropped is the latest tick whose record was dropped.
	Dropped int64
	// Success and Failure are the ticks of the newest dropped runs whose notes say that they
	// ended so; negative: unknown, up to that tick.
	Success, Failure int64
}

// with adds a record and drops the oldest ones beyond keep. Stores keep Dropped among
// the records, so it takes the place of one older record.
func (r Records) with(record Record, keep int) Records {
	at, _ := slices.BinarySearchFunc(r.List, record, compareRecords)
	r.List = slices.Insert(slices.Clone(r.List), at, record)
	extra := len(r.List) - keep
	if extra >= 0 && len(r.List) > extra && r.List[extra].Tick < r.Dropped {
		extra++
	}
	return r.DropOldest(extra)
}

// DropOldest drops the first n records.
func (r Records) DropOldest(n int) Records {
	if n = min(n, len(r.List)); n <= 0 {
		return r
	}
	if r.Success <= 0 && r.Failure <= 0 { // nothing is stored of them
		r.Success, r.Failure = -r.Dropped, -r.Dropped
	}
	for _, record := range r.List[:n] {
		outcome, read := record.outcome()
		r.Success = newest(r.Success, record.Tick, outcome == "succeeded", !read)
		r.Failure = newest(r.Failure, record.Tick, slices.Contains([]string{"failed", "timed_out", "lease_lost"}, outcome), !read)
	}
	r.Dropped = max(r.Dropped, r.List[n-1].Tick)
	r.List = r.List[n:]
	return r
}

// newest is the newest dropped run of a kind after one more was dropped. If that is unread, it
// may be of this kind.
func newest(known, tick int64, wanted, unread bool) int64 {
	switch {
	case tick <= max(known, -known):
	case wanted:
		return tick
	case unread:
		return -tick
	}
	return known
}

// outcome is that in the note. A record without an end needs none.
func (r Record) outcome() (outcome string, ok bool) {
	_, after, found := strings.Cut(r.Note, `"outcome":"`)
	outcome, _, ended := strings.Cut(after, `"`)
	return outcome, found && ended || r.Ended == ""
}

// compareRecords orders records as their stored text does: kind, then note.
func compareRecords(a, b Record) int {
	return cmp.Or(cmp.Compare(a.Tick, b.Tick), cmp.Compare(a.Kind(), b.Kind()), cmp.Compare(a.Note, b.Note),
		cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Owner, b.Owner))
}

// Kind is the letter stored before the note: S for a run that started, R for one that
// expired, L for one that ended late, F for any other.
func (r Record) Kind() byte {
	switch r.Ended {
	case "":
		return 'S'
	case RanOut:
		return 'R'
	case Late:
		return 'L'
	}
	return 'F'
}

// drop drops the records that f selects.
func (r Records) drop(f func(Record) bool) Records {
	if slices.ContainsFunc(r.List, f) {
		r.List = slices.DeleteFunc(slices.Clone(r.List), f)
	}
	return r
}

// endOf is what FINISH answered to an owner; empty without such a record.
func (r Records) endOf(owner string) Code {
	for _, x := range r.List {
		if x.Owner == owner && x.Ended != "" {
			return x.Ended
		}
	}
	return ""
}

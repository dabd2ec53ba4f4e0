package protocol

// A Mode says how often a tick may run.
type Mode int

// The modes, as a job's on_crash names them.
const (
	AtMostOnce  Mode = iota // on_crash: skip
	AtLeastOnce             // on_crash: rerun
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

func (t Try) place() Place { return Place{t.Stream, t.Tick} }

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

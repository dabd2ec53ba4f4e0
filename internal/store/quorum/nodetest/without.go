package nodetest

import (
	"maps"

	"github.com/quorate/quorate/internal/store/protocol"
)

// Without names checks to omit: a test that stays green without one of them does not
// test what that check protects. The rules stay unchanged: the node hides from them
// what they would check, or alters their result.
type Without struct {
	Fence   bool // accepts tokens that are not above the fence
	Tick    bool // ignores ticks that are claimed, done or past
	Restart bool // ignores its own restarts
	Compare bool // frees a lock whoever owns it
}

// seenBy is the state for a try, without the claim of its stream if ticks are ignored.
func (w Without) seenBy(j *jobCall) protocol.State {
	s := j.before
	if w.Tick {
		s.Streams = maps.Clone(s.Streams)
		delete(s.Streams, j.try.Stream)
		j.limits.GCTick = 0
	}
	return s
}

// restored puts back what seenBy has hidden, unless there is another claim now.
func (w Without) restored(j *jobCall, s protocol.State) protocol.State {
	hidden, had := j.before.Streams[j.try.Stream]
	if _, accepted := s.Streams[j.try.Stream]; w.Tick && had && !accepted {
		s.Streams = maps.Clone(s.Streams)
		s.Streams[j.try.Stream] = hidden
	}
	return s
}

// freed drops the try's lock, whoever owns it.
func (w Without) freed(try protocol.Try, s protocol.State) protocol.State {
	switch {
	case !w.Compare:
	case try.Overlaps:
		s.TickLocks = maps.Clone(s.TickLocks)
		delete(s.TickLocks, protocol.Place{Stream: try.Stream, Tick: try.Tick})
	default:
		s.Lock = protocol.Lease{}
	}
	return s
}

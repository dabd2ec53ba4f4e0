package nodes

import (
	"context"
	"sync"
)

// An era is how often the list of a Set was changed before it became what it
// is, as the nodes tell.
type era struct {
	mu       sync.Mutex
	epoch    int64
	sealedAt int64 // latest clock reading of the seals of the list before, ms
	fixed    bool  // a quorum has told; it does not change any more
}

// Epoch returns the epoch of the list: 0 until nodes that hold the list have
// said otherwise (Join, Learn), and one more with each change of the list. It is
// fixed once a quorum of nodes agrees. Every request names it, so that the
// replicas of a former list are refused.
func (s *Set) Epoch() int64 {
	s.era.mu.Lock()
	defer s.era.mu.Unlock()
	return s.era.epoch
}

// Learn finds out the epoch without changing anything on the nodes: it is for
// those who look or act without having joined.
func (s *Set) Learn(ctx context.Context) { s.examine(ctx) }

// seals returns the latest clock reading of the seals that the list rests on, 0
// if it was never changed.
func (e *era) seals() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sealedAt
}

// rest makes the list rest on the seals of another cell's, too: a change of the
// layout seals all cells before it opens one.
func (e *era) rest(sealedAt int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sealedAt = max(e.sealedAt, sealedAt)
}

// set takes the epoch from somebody who knows it.
func (e *era) set(epoch int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.epoch, e.fixed = epoch, true
}

// fix keeps what is known: a quorum is formatted accordingly.
func (e *era) fix() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fixed = true
}

// learn takes the epoch from the nodes that hold the list: the one that a quorum
// agrees on, else the largest, since the others have been left behind.
func (e *era) learn(views []view, quorum int) {
	epoch, agreed := agree(views, quorum)
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.fixed {
		e.epoch, e.fixed = epoch, agreed
	}
	for _, v := range views {
		if v.listed() && v.held.epoch == e.epoch && v.held.sealedFor == "" {
			e.sealedAt = max(e.sealedAt, v.held.sealedAt)
		}
	}
}

// agree returns the epoch of the nodes that hold the list, and whether it is
// that of a quorum.
func agree(views []view, quorum int) (epoch int64, agreed bool) {
	holders := map[int64]int{}
	for _, v := range views {
		if !v.listed() {
			continue
		}
		holders[v.held.epoch]++
		if holders[v.held.epoch] >= quorum {
			return v.held.epoch, true
		}
		epoch = max(epoch, v.held.epoch)
	}
	return epoch, false
}

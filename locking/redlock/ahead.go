package redlock

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
)

// A node whose clock is, or was, ahead may have a fence that the others cannot
// follow: they refuse tokens so far ahead of their clocks (N3.1). A token above it
// could never win, so such a fence is left out (C1). The node then refuses the token
// that the others may accept, and order is kept: that rests on nodes refusing, not on
// which token an attempt asks for.

// reach is the largest token that a quorum of the nodes would accept by their
// clocks, of those that have told their fence; false: too few have.
func (a *attempt) reach() (uint64, bool) {
	var limits [locking.MostNodes]uint64
	n := 0
	for _, v := range a.votes {
		if v.code == codeOK || v.code == codeStale {
			limits[n] = v.limit(a.set.Grace())
			n++
		}
	}
	if n < a.set.Quorum() {
		return 0, false
	}
	slices.Sort(limits[:n])
	return limits[n-a.set.Quorum()], true
}

// limit is the largest token that the node would accept by its clock if it was asked
// now: N3.1.
func (v vote) limit(grace time.Duration) uint64 {
	now := v.clock.Add(time.Since(v.received))
	return uint64(2*now.UnixMilli()+grace.Milliseconds()) << 19 / 1000
}

// above is the token that the ballot needs at least to be above the fences of the
// votes. It notes whose are left out.
func (a *attempt) above() uint64 {
	reach, known := a.reach()
	var token uint64
	for i, v := range a.votes {
		if a.leftOut[i] = known && v.fence >= reach; !a.leftOut[i] {
			token = max(token, v.fence+1)
		}
	}
	a.reachable = reach
	return token
}

// outbid tells whether a node wants a larger token or attempt, and may get it.
func (a *attempt) outbid() bool {
	for i, v := range a.votes {
		if v.code == codeStale && !a.leftOut[i] {
			return true
		}
	}
	return false
}

// isAhead tells whether the node refused because its fence was left out.
func (a *attempt) isAhead(node int) bool {
	return a.leftOut[node] && a.votes[node].code == codeStale
}

// missesAhead tells whether nodes that are ahead are all that a quorum lacks.
func (a *attempt) missesAhead() bool {
	ahead := 0
	for i := range a.votes {
		if a.isAhead(i) {
			ahead++
		}
	}
	return ahead > 0 && ahead+count(a.votes, codeOK) >= a.set.Quorum()
}

// aheadError says how far ahead of the others the node is.
func (a *attempt) aheadError(node int) error {
	by := time.Duration((a.votes[node].fence-a.reachable)*1000>>20) * time.Millisecond
	return fmt.Errorf("it counts tokens as used that lie %v beyond what the clocks of the other nodes allow: it was restarted, or its clock is ahead, or was", by.Round(time.Millisecond))
}

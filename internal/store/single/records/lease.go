package records

import (
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// A Lease is the right to work until a time. It counts only while the [Claims] have an open
// claim of its owner.
type Lease struct {
	Owner string `json:"owner,omitempty"` // empty: nobody has it
	Token uint64 `json:"token,omitempty"`
	Until int64  `json:"until,omitempty"` // its last millisecond, by the store's clock or the holder's
	TTL   int64  `json:"ttl,omitempty"`   // in milliseconds
	// Evicted are those from whom an operator took it.
	Evicted []Eviction `json:"evicted,omitempty"`
}

// An Eviction tells a holder, at its next extension, why it has lost its lease.
type Eviction struct {
	Owner  string `json:"owner"`
	Reason string `json:"reason"`
	Until  int64  `json:"until"` // it is kept until then
}

// AsOf is the time by which listings judge leases. On a store without a clock a lease ends
// by its holder's clock, from which that of the caller may differ by half the grace.
func AsOf(s kv.Stamp, grace time.Duration) time.Time {
	if s.Now.IsZero() {
		return s.At().Add(-grace / 2)
	}
	return s.Now
}

// Of returns the open claim whose lease it is at a time; the zero Claim if it does not count.
func (l Lease) Of(c Claims, now time.Time) Claim {
	if claim := c.Of(l.Owner); claim.Open() && now.UnixMilli() <= l.Until {
		return claim
	}
	return Claim{}
}

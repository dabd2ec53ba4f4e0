package locktest

import (
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
)

// A Record is what a Memory keeps of one claim of a tick.
type Record struct {
	Claim     locking.Claim
	StartNote []byte // the request's
	// Finished tells whether the lease was released; FinishNote came with it.
	Finished   bool
	FinishNote []byte
	// Late: others may have worked before the lease was released.
	Late bool
	// Held tells whether the lease lasts at the time of the call.
	Held bool
}

// Records returns the claims of a name's ticks, oldest first, without those
// that were voided. It remembers the last Keep.
func (m *Memory) Records(name string) []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, now := m.state(name), time.Now()
	all := make([]Record, len(s.records))
	for i, r := range s.records {
		all[i] = *r
		all[i].Held = s.holds(r.Claim.Token, now)
	}
	return all
}

func (s *lockState) start(claim locking.Claim, req locking.Request, keep int) *Record {
	r := &Record{Claim: claim, StartNote: slices.Clone(req.Note)}
	s.records = append(s.records, r)
	if len(s.records) > keep {
		s.records = slices.Delete(s.records, 0, len(s.records)-keep)
	}
	return r
}

func (s *lockState) forget(r *Record) {
	s.records = slices.DeleteFunc(s.records, func(have *Record) bool { return have == r })
}

package locktest

import (
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/locking"
)

// A Record is what a Memory keeps of one claim of a tick.
type Record struct {
	Claim     locking.Claim
	StartNote []byte // the request's
	// Finished reports whether the lease was released, with FinishNote.
	Finished   bool
	FinishNote []byte
	// Late: others may have worked before the lease was released.
	Late bool
	// Held reports whether the lease was still held when Records was called.
	Held bool

	owner string
}

// Records returns the claims of a name's ticks, oldest first, without voided ones. It
// returns the last Keep.
func (m *Memory) Records(name string) []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	of, now := m.name(name), time.Now().UnixMilli()
	all := make([]Record, len(of.records))
	for i, r := range of.records {
		stream := locking.Request{Stream: r.Claim.Stream}.InStream()
		locks := []protocol.Lease{of.state.Lock, of.state.TickLocks[protocol.Place{Stream: stream, Tick: r.Claim.Tick.UnixMilli()}]}
		all[i] = *r
		all[i].Held = slices.ContainsFunc(locks, func(l protocol.Lease) bool { return l.Owner == r.owner && now <= l.Until })
	}
	return all
}

package ledger

import (
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/onestore/records"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// running are the owners of a job's leases that count.
type running map[string]bool

func newRunning(claims, leases []store.Record, now time.Time) (running, error) {
	of, err := records.Decode[records.Claims](first(claims))
	if err != nil {
		return nil, err
	}
	r := running{}
	for _, record := range leases {
		lease, err := records.Decode[records.Lease](record)
		if err != nil {
			return nil, err
		}
		if lease.Of(of, now).Open() {
			r[lease.Owner] = true
		}
	}
	return r, nil
}

// entry is what a listing shows of a stored entry.
func (r running) entry(job string, stored records.Entry) (ledger.Entry, error) {
	e, err := ledger.DecodeNote(stored.Note)
	if err != nil {
		return ledger.Entry{}, err
	}
	e = e.Placed(job, stored.Stream, time.UnixMilli(stored.Tick).UTC())
	e.Token = locking.Token(stored.Token)
	switch stored.Kind {
	case records.NotRun, records.Finished, records.RanOut:
	case records.Late:
		if e.Outcome != ledger.LeaseLost { // else the run knew
			e.Reason = e.Reason.And(ledger.Reason{Code: ledger.CodeLateEnd})
		}
	case records.Started:
		e.Outcome = ledger.Running
		if !r[stored.Owner] {
			e.Outcome, e.Reason = ledger.Interrupted, ledger.Reason{Code: ledger.CodeInterrupted}
		}
	default:
		return ledger.Entry{}, fmt.Errorf("an entry of kind %q is unknown to this release: upgrade quorate", stored.Kind)
	}
	return e, nil
}

// first returns the only record of a list; one of version 0 if there is none.
func first(list []store.Record) store.Record {
	if len(list) == 0 {
		return store.Record{}
	}
	return list[0]
}

package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// running are the owners of a job's leases that count.
type running struct {
	owners map[string]bool
	// unknown: the claims or a lease cannot be read, so a run without an end may go on.
	unknown error
}

func (l *Ledger) newRunning(claims, leases []kv.Record, now time.Time) running {
	r := running{owners: map[string]bool{}}
	of, err := records.Decode[records.Claims](first(claims))
	r.skip(l.Unreadable, first(claims).Key, err)
	for _, record := range leases {
		lease, err := records.Decode[records.Lease](record)
		r.skip(l.Unreadable, record.Key, err)
		if lease.Of(of, now).Open() {
			r.owners[lease.Owner] = true
		}
	}
	return r
}

func (r *running) skip(u *unreadable.Log, k kv.Key, err error) {
	if err != nil {
		u.Skipped(k.String(), err)
		r.unknown = err
	}
}

// stored decodes a record of an entry. What cannot be read has the place that its key names, and
// Note is what is known of it.
func (l *Ledger) stored(r kv.Record) (stored records.Entry, note ledger.Entry) {
	stored, err := records.Decode[records.Entry](r)
	if err == nil && records.EntryKey(r.Key.Name, stored) != r.Key {
		err = fmt.Errorf("the record %s is that of another entry", r.Key)
	}
	if err == nil && !slices.Contains(records.Kinds(), stored.Kind) {
		err = fmt.Errorf("an entry of kind %q is unknown to this release: upgrade quorate", stored.Kind)
	}
	if err != nil {
		stored = records.EntryOf(r.Key)
	} else {
		note, err = ledger.DecodeNote(stored.Note)
	}
	if err != nil {
		l.Unreadable.Skipped(r.Key.String(), err)
		note = unreadable.Entry(err)
	}
	return stored, note
}

// entry is what a listing shows of a stored entry with a note.
func (r running) entry(job string, stored records.Entry, e ledger.Entry) ledger.Entry {
	e = e.Placed(job, stored.Stream, time.UnixMilli(stored.Tick).UTC())
	e.Token = locking.Token(stored.Token)
	switch stored.Kind {
	case records.Late:
		if e.Outcome != ledger.LeaseLost && e.Outcome != ledger.Unreadable { // else the run knew
			e.Reason = e.Reason.And(ledger.Reason{Code: ledger.CodeLateEnd})
		}
	case records.Started:
		switch {
		case r.owners[stored.Owner]:
			e.Outcome = ledger.Running
		case r.unknown != nil:
			unknown := unreadable.Entry(r.unknown)
			e.Outcome, e.Reason = unknown.Outcome, unknown.Reason
		default:
			why := ledger.Reason{Code: ledger.CodeInterrupted}
			if e.Outcome == ledger.Unreadable {
				why = why.And(e.Reason)
			}
			e.Outcome, e.Reason = ledger.Interrupted, why
		}
	}
	return e
}

// first returns the only record of a list; one of version 0 if there is none.
func first(list []kv.Record) kv.Record {
	if len(list) == 0 {
		return kv.Record{}
	}
	return list[0]
}

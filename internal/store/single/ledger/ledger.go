// Package ledger keeps the ledger, the roster and the sets of jobs on a consistent store.
//
// # Ledger
//
// Claims write the entries of runs. This package adds those of ticks that did not run, and
// reads both. A listing reads the entries together with the claims and leases of their job,
// all from one moment, so it is certain of every run:
//
//	an end                       → how the run ended, in its own words
//	a start, and a lease counts  → running
//	a start alone                → interrupted: the lease expired without an end
//
// Each entry is a record. Records of a job are read from the newest tick on, in pages, so
// the cost of a listing depends on its limits and not on what is stored.
//
// A job's past is one small record: what its logs amount to, the latest tick with a dropped
// entry, and those of the newest dropped success and failure. Entries are counted by reading them all, so that is done once for about a
// tenth of the number to keep. Until then a job has up to a tenth more, for each replica
// that adds some. Small numbers are exact.
//
// # Roster
//
// A heartbeat lists the replicas, and then writes the replica's record with the time of the
// store's clock in the answer. So clocks of replicas do no harm, and a heartbeat costs two
// calls.
package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Ledger is a [ledger.Store] and more on a consistent store. It may be used by many
// goroutines. If the store does not answer, the error of every method matches
// locking.ErrNoQuorum.
type Ledger struct {
	access
	grace time.Duration
	keep  int // of the ticks of a job that did not run, and of its runs

	added  counts
	memory atomic.Pointer[time.Time] // since when the store remembers; nil: unknown
}

// New returns the ledger on s. Recorded ticks may be ahead of the store's clock by half the
// grace, which is that of the locks.
func New(s kv.Store, grace time.Duration) *Ledger {
	return &Ledger{access: access{store: s}, grace: grace, keep: jobs.MaxKeep}
}

// RemembersSince implements [ledger.Rememberer]. The store has what was stored in its incarnation,
// which began then at the latest, as the last listing has shown.
func (l *Ledger) RemembersSince() (time.Time, bool) {
	if since := l.memory.Load(); since != nil {
		return *since, true
	}
	return time.Time{}, false
}

// remember stores since when the store remembers, by the local clock.
func (l *Ledger) remember(record kv.Record, s kv.Stamp) {
	incarnation, ok := decoded[records.Incarnation](l.access, record)
	if !ok {
		return // claims are refused, and the checks say why
	}
	var since time.Time // always
	if incarnation, _ = incarnation.Now(s, l.grace); incarnation.Since != 0 {
		since = time.Now().Round(0).Add(time.UnixMilli(incarnation.Since).Sub(s.At()))
	}
	l.memory.Store(&since)
}

var (
	_ ledger.Rememberer = (*Ledger)(nil)
	_ ledger.Skimmer    = (*Ledger)(nil)
	_ ledger.Archive    = (*Ledger)(nil)
)

// maxUnanswered is the try after which no answer ends a Record.
const maxUnanswered = 3

// Record implements [ledger.Store]. The owner of an entry is the call that wrote it, so a
// call whose answer was lost recognizes its entry.
func (l *Ledger) Record(ctx context.Context, e ledger.Entry) (first bool, err error) {
	own := records.Entry{
		Kind: records.NotRun, Stream: cmp.Or(e.Stream, locking.StreamSchedule), Tick: e.OrderKey().UnixMilli(),
		Owner: rand.Text(), Rank: e.Rank(), Note: ledger.EncodeNote(e),
	}
	doing := "recording a tick of " + e.Job
	for n := range tries {
		t, done, err := l.recording(ctx, doing, e.Job, own)
		switch {
		case err != nil:
			return false, err
		case done:
			return first, nil
		case len(t.Put) == 0:
			return false, nil
		}
		first = t.If[0].Version == 0
		won, err := l.commit(ctx, doing, t)
		switch {
		case won:
			if first && l.added.due(e.Job, l.keep/10) {
				_ = l.trim(ctx, e.Job, l.keep-l.keep/10, 0) // or the next time
			}
			return first, nil
		case err != nil && (n >= maxUnanswered || !errors.Is(err, kv.ErrUnavailable)):
			return false, err
		case err != nil:
			retry.Sleep(ctx, time.Second<<n/8)
		}
	}
	return false, outrun(doing)
}

// recording decides whether the entry is to be stored; done: an earlier try has done it.
func (l *Ledger) recording(ctx context.Context, doing, job string, own records.Entry) (t kv.Txn, done bool, err error) {
	list, s, err := l.read(ctx, doing, records.EntryKey(job, own), pastKey(job))
	if err != nil {
		return t, false, err
	}
	have, readable := decoded[records.Entry](l.access, list[0])
	p, _ := decoded[past](l.access, list[1])
	switch {
	case have.Owner == own.Owner:
		return t, true, nil
	case time.UnixMilli(own.Tick).After(s.At().Add(l.grace / 2)):
		return t, false, fmt.Errorf("%s: %w: the store's clock says %v", doing, locking.ErrFuture, s.At())
	case own.Tick <= p.Trimmed, list[0].Version != 0 && readable && !outranks(own, have):
		return t, false, nil
	}
	return kv.Txn{Incarnation: s.Incarnation, If: unchanged(list[0]), Put: []kv.Write{records.Put(list[0].Key, own)}}, false, nil
}

// outranks reports whether e replaces have as the record of a tick that did not run.
func outranks(e, have records.Entry) bool {
	return cmp.Or(cmp.Compare(e.Rank, have.Rank), bytes.Compare(e.Note, have.Note)) > 0
}

// Copied returns what stores the entries of a job of another store, none of which is Running, and what is
// known of dropped ones.
func Copied(job string, all ledger.Skimmed) []kv.Write {
	var writes []kv.Write
	for _, e := range all.Entries {
		r := records.Entry{
			Kind: records.Finished, Stream: cmp.Or(e.Stream, locking.StreamSchedule), Tick: e.OrderKey().UnixMilli(),
			Token: uint64(e.Token), Note: ledger.EncodeNote(e),
		}
		if !e.Ran() {
			r.Kind, r.Rank = records.NotRun, e.Rank()
		}
		writes = append(writes, records.Put(records.EntryKey(job, r), r))
	}
	if !all.Trimmed.IsZero() {
		last := all.Trimmed.UnixMilli()
		writes = append(writes, records.Put(pastKey(job), past{
			Trimmed: last, Seen: last, Success: newDroppedRun(all.TrimmedSuccess, all.Trimmed), Failure: newDroppedRun(all.TrimmedFailure, all.Trimmed),
		}))
	}
	return writes
}

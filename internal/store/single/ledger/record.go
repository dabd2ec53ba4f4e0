package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
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
			retry.After(ctx, time.Second<<n/8)
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
	return kv.Txn{Life: s.Life, If: unchanged(list[0]), Put: []kv.Write{records.Put(list[0].Key, own)}}, false, nil
}

// outranks reports whether e replaces have as the record of a tick that did not run.
func outranks(e, have records.Entry) bool {
	return cmp.Or(cmp.Compare(e.Rank, have.Rank), bytes.Compare(e.Note, have.Note)) > 0
}

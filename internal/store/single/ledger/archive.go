package ledger

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A past is what is stored of a job's past beside its entries and logs.
type past struct {
	Trimmed int64 `json:"trimmed,omitempty"` // the latest tick with a dropped entry
	// Success and Failure are of the newest dropped runs that recorded such an end. Seen is Trimmed;
	// else a release that does not know the three has stored the past.
	Seen    int64      `json:"seen,omitempty"`
	Success droppedRun `json:"success,omitempty"`
	Failure droppedRun `json:"failure,omitempty"`
	// Logs is the number of logs, and Bytes what they amount to.
	Logs  int `json:"logs,omitempty"`
	Bytes int `json:"bytes,omitempty"`
}

// A droppedRun is the tick of a run; 0: none was dropped; negative: unknown, up to that tick.
type droppedRun int64

func newDroppedRun(known, trimmed time.Time) droppedRun {
	if known.IsZero() {
		return droppedRun(-trimmed.UnixMilli())
	}
	return droppedRun(known.UnixMilli())
}

// at is its time; zero if unknown.
func (d droppedRun) at() time.Time {
	if d <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(d)).UTC()
}

// drop adds a dropped run. If it is unread, it may be of the wanted kind.
func (d *droppedRun) drop(tick droppedRun, wanted, unread bool) {
	switch {
	case tick <= max(*d, -*d):
	case wanted:
		*d = tick
	case unread:
		*d = -tick
	}
}

// drop adds dropped entries.
func (p *past) drop(list []ledger.Entry) {
	if p.Seen != p.Trimmed {
		p.Success, p.Failure = droppedRun(-p.Trimmed), droppedRun(-p.Trimmed)
	}
	for _, e := range list {
		tick := e.OrderKey().UnixMilli()
		unread := e.Ran() && (e.Outcome == ledger.Unreadable || e.Outcome == "")
		p.Success.drop(droppedRun(tick), e.Outcome == ledger.Succeeded, unread)
		p.Failure.drop(droppedRun(tick), e.Outcome.Failure(), unread)
		p.Trimmed = max(p.Trimmed, tick)
	}
	p.Seen = p.Trimmed
}

// pastKey comes before those of all logs of the job.
func pastKey(job string) kv.Key { return kv.Key{Kind: kv.Logs, Name: job} }

// logKey orders the logs of a job like its entries.
func logKey(job string, tick time.Time, token locking.Token) kv.Key {
	return kv.Key{Kind: kv.Logs, Name: job, Sub: fmt.Sprintf("%s %016x", records.EntryOrder(tick.UnixMilli()), token)}
}

// Store implements [ledger.Archive].
func (l *Ledger) Store(ctx context.Context, job string, h jobs.History, logs ...ledger.Log) error {
	h = h.WithDefaults()
	doing := "storing a log of " + job
	keys := []kv.Key{pastKey(job)}
	for _, log := range logs {
		keys = append(keys, logKey(job, log.Tick, log.Token))
	}
	var p past
	var now time.Time
	err := l.update(ctx, doing, keys, func(list []kv.Record, s kv.Stamp) (t kv.Txn, err error) {
		now = s.At()
		t, p = l.storing(list, logs)
		return t, nil
	})
	if err != nil {
		return err
	}
	var earliest int64
	if h.MaxAge > 0 {
		earliest = now.Add(-h.MaxAge).UnixMilli()
	}
	oldLogs, oldEntries, err := l.older(ctx, doing, job, earliest)
	if err != nil {
		return err
	}
	if oldLogs || p.Logs > h.Keep+h.Keep/10 || p.Bytes > max(0, h.MaxBytes)/8*9 {
		if err := l.trimLogs(ctx, job, h, earliest); err != nil {
			return err
		}
	}
	if l.added.due(job, h.Keep/10) || oldEntries {
		return l.trim(ctx, job, h.Keep, earliest)
	}
	return nil
}

// storing is the transaction that stores the logs, whose records, after that of the past, are
// list, and the past then. The log of a run that has ended stays.
func (l *Ledger) storing(list []kv.Record, logs []ledger.Log) (t kv.Txn, p past) {
	p, _ = decoded[past](l.access, list[0])
	t.If = unchanged(list...)
	for i, log := range logs {
		have := list[i+1]
		if have.Version != 0 {
			old, err := ledger.DecodeLog(have.Value)
			if err != nil {
				l.Unreadable.Skipped(have.Key.String(), err)
			}
			if err == nil && old.At.IsZero() && !log.At.IsZero() {
				continue
			}
			p.Logs--
		}
		text := ledger.EncodeLog(log)
		p.Logs++
		p.Bytes += len(text) - len(have.Value)
		t.Put = append(t.Put, kv.Write{Key: have.Key, Value: text})
	}
	if len(t.Put) > 0 {
		t.Put = append(t.Put, records.Put(list[0].Key, p))
	}
	return t, p
}

// older reports whether there are logs and entries of ticks before the earliest to keep.
func (l *Ledger) older(ctx context.Context, doing, job string, earliest int64) (logs, entries bool, err error) {
	if earliest <= 0 {
		return false, false, nil
	}
	from := records.EntryOrder(earliest - 1)
	ranges := []kv.Range{kv.Between(kv.Logs, job, from, ""), kv.Between(kv.Entries, job, from, "")}
	ranges[0].Limit, ranges[1].Limit = 1, 1
	lists, _, err := l.list(ctx, doing, ranges...)
	if err != nil {
		return false, false, err
	}
	return len(lists[0]) > 0, len(lists[1]) > 0, nil
}

// Log implements [ledger.Archive].
func (l *Ledger) Log(ctx context.Context, job string, tick time.Time, token locking.Token) (ledger.Log, error) {
	doing := "reading a log of " + job
	list, _, err := l.read(ctx, doing, logKey(job, tick, token))
	if err != nil {
		return ledger.Log{}, err
	}
	if list[0].Version == 0 {
		return ledger.Log{}, ledger.ErrNoLog
	}
	log, err := ledger.DecodeLog(list[0].Value)
	if err != nil {
		return ledger.Log{}, fmt.Errorf("%s: %w", doing, err)
	}
	log.Job, log.Tick, log.Token = job, tick, token
	return log, nil
}

// Trim drops the runs of a job that are more than any History keeps. Call it for every
// hundredth claim of a job: the locks add entries of which this package is not told.
func (l *Ledger) Trim(ctx context.Context, job string) error { return l.trim(ctx, job, l.keep, 0) }

// An item is an entry as far as trimming needs it.
type item struct {
	record kv.Record
	tick   int64
	ran    bool
}

// trim drops the entries of a job that are more than keep, and those of ticks before the
// earliest.
func (l *Ledger) trim(ctx context.Context, job string, keep int, earliest int64) error {
	doing := "dropping old entries of " + job
	var all []item
	err := l.each(ctx, doing, kv.Of(kv.Entries, job), func(list []kv.Record, _ kv.Stamp) error {
		for _, r := range list {
			e, ok := decoded[records.Entry](l.access, r)
			if !ok {
				e = records.EntryOf(r.Key)
			}
			all = append(all, item{r, e.Tick, e.Kind != records.NotRun})
		}
		return nil
	})
	drop := surplus(all, keep, earliest)
	if err != nil || len(drop) == 0 {
		return err
	}
	keys, entries := make([]kv.Key, len(drop)), make([]ledger.Entry, len(drop))
	for i, d := range drop {
		stored, note := l.stored(d.record)
		note.Token = locking.Token(stored.Token)
		keys[i], entries[i] = d.record.Key, note.Placed(job, stored.Stream, time.UnixMilli(stored.Tick).UTC())
	}
	return l.drop(ctx, doing, job, func(p *past) ([]kv.Key, error) {
		p.drop(entries)
		return keys, nil
	})
}

// surplus returns the items to drop, of a list with the newest ticks first. The newest run
// stays at any age, or the newest tick if none ran.
func surplus(all []item, keep int, earliest int64) []item {
	var drop []item
	runs, others := 0, 0
	for _, x := range all {
		n := &others
		if x.ran {
			n = &runs
		}
		if *n >= keep || x.tick < earliest {
			drop = append(drop, x)
		} else {
			*n++
		}
	}
	if runs+others == 0 && len(drop) > 0 {
		stays := max(0, slices.IndexFunc(drop, func(x item) bool { return x.ran }))
		drop = slices.Delete(drop, stays, stays+1)
	}
	return drop
}

// trimLogs drops the logs of a job that h does not keep, and those of ticks before the
// earliest. Whoever stores a log meanwhile changes the past, so they are counted again.
func (l *Ledger) trimLogs(ctx context.Context, job string, h jobs.History, earliest int64) error {
	doing := "dropping old logs of " + job
	return l.drop(ctx, doing, job, func(p *past) (drop []kv.Key, err error) {
		p.Logs, p.Bytes = 0, 0
		stop := records.EntryOrder(earliest - 1)
		logs := kv.Between(kv.Logs, job, "0", "")
		err = l.each(ctx, doing, logs, func(list []kv.Record, _ kv.Stamp) error {
			for _, r := range list {
				old := earliest > 0 && r.Key.Sub >= stop
				if len(drop) > 0 || old || p.Logs >= h.Keep || p.Bytes+len(r.Value) > h.MaxBytes {
					drop = append(drop, r.Key)
					continue
				}
				p.Logs++
				p.Bytes += len(r.Value)
			}
			return nil
		})
		return drop, err
	})
}

// drop deletes what decide returns, and stores the past that it has changed first.
func (l *Ledger) drop(ctx context.Context, doing, job string, decide func(*past) ([]kv.Key, error)) error {
	var rest []kv.Key
	err := l.update(ctx, doing, []kv.Key{pastKey(job)}, func(list []kv.Record, _ kv.Stamp) (t kv.Txn, err error) {
		p, _ := decoded[past](l.access, list[0])
		if rest, err = decide(&p); err != nil {
			return t, err
		}
		n := min(len(rest), l.store.Limits().Keys-2)
		t = kv.Txn{If: unchanged(list[0]), Put: []kv.Write{records.Put(list[0].Key, p)}, Delete: rest[:n]}
		rest = rest[n:]
		return t, nil
	})
	if err != nil {
		return err
	}
	return l.erase(ctx, doing, rest...)
}

// counts has the number of entries that this replica has added to each job since it trimmed
// the job's entries. The zero value is ready to use.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

// due counts one more, and reports whether there are enough to trim. The first count of a job
// is random, so jobs are trimmed as often if replicas start again and again.
func (c *counts) due(job string, enough int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	n, known := c.of[job]
	if !known && enough > 0 {
		n = rand.IntN(enough)
	}
	if n++; n >= enough {
		n = 0
	}
	c.of[job] = n
	return n == 0
}

package ledger

import (
	"context"
	"slices"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Trim drops the runs of a job that are more than any History keeps. Call it for every
// hundredth claim of a job: the locks add entries of which this package is not told.
func (l *Ledger) Trim(ctx context.Context, job string) error { return l.trim(ctx, job, l.keep, 0) }

// An item is an entry as far as trimming needs it.
type item struct {
	key  kv.Key
	tick int64
	ran  bool
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
			all = append(all, item{r.Key, e.Tick, e.Kind != records.NotRun})
		}
		return nil
	})
	drop := surplus(all, keep, earliest)
	if err != nil || len(drop) == 0 {
		return err
	}
	keys := make([]kv.Key, len(drop))
	for i, d := range drop {
		keys[i] = d.key
	}
	return l.drop(ctx, doing, job, func(p *past) ([]kv.Key, error) {
		p.Trimmed = max(p.Trimmed, drop[0].tick)
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
func (l *Ledger) trimLogs(ctx context.Context, job string, h ledger.History, earliest int64) error {
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

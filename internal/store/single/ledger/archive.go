package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A past is what is stored of a job's past beside its entries and logs.
type past struct {
	Trimmed int64 `json:"trimmed,omitempty"` // the latest tick with a dropped entry
	// Logs is the number of logs, and Bytes what they amount to.
	Logs  int `json:"logs,omitempty"`
	Bytes int `json:"bytes,omitempty"`
}

// pastKey comes before those of all logs of the job.
func pastKey(job string) kv.Key { return kv.Key{Kind: kv.Logs, Name: job} }

// logKey orders the logs of a job like its entries.
func logKey(job string, tick time.Time, token locking.Token) kv.Key {
	return kv.Key{Kind: kv.Logs, Name: job, Sub: fmt.Sprintf("%s %016x", records.EntryOrder(tick.UnixMilli()), token)}
}

// Store implements [ledger.Archive].
func (l *Ledger) Store(ctx context.Context, job string, h ledger.History, logs ...ledger.Log) error {
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

package schedtest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// kept is what a Ledger keeps of a job besides its entries.
type kept struct {
	from time.Time       // entries of earlier ticks were dropped
	logs []scheduler.Log // oldest tick first
}

// Store implements [scheduler.Archive].
func (l *Ledger) Store(ctx context.Context, job string, h scheduler.History, logs ...scheduler.Log) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h = h.WithDefaults()
	runs, err := l.runs(job)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kept[job]
	for _, log := range logs {
		k.logs = slices.DeleteFunc(k.logs, func(have scheduler.Log) bool { return same(have, log) })
		k.logs = append(k.logs, log)
	}
	slices.SortFunc(k.logs, func(a, b scheduler.Log) int {
		return cmp.Or(a.Tick.Compare(b.Tick), cmp.Compare(a.Token, b.Token))
	})
	var earliest time.Time
	if h.MaxAge > 0 {
		earliest = time.Now().Add(-h.MaxAge)
	}
	k.logs = fitting(k.logs, h, earliest)
	k.from = firstKept(append(runs, l.ticks[job]...), h.Keep, earliest)
	l.ticks[job] = slices.DeleteFunc(l.ticks[job], func(e scheduler.Entry) bool { return e.OrderKey().Before(k.from) })
	l.kept[job] = k
	return nil
}

func same(a, b scheduler.Log) bool { return a.Token == b.Token && a.Tick.Equal(b.Tick) }

// fitting drops the oldest logs until the rest is what h keeps.
func fitting(logs []scheduler.Log, h scheduler.History, earliest time.Time) []scheduler.Log {
	bytes := 0
	for i, log := range slices.Backward(logs) {
		bytes += len(log.Text)
		if len(logs)-i > h.Keep || bytes > h.MaxBytes || log.Tick.Before(earliest) {
			return slices.Clone(logs[i+1:])
		}
	}
	return logs
}

// firstKept is the first tick whose entries stay.
func firstKept(all []scheduler.Entry, keep int, earliest time.Time) time.Time {
	if len(all) == 0 {
		return time.Time{}
	}
	scheduler.SortEntries(all)
	all = all[:min(len(all), keep)]
	for len(all) > 1 && all[len(all)-1].OrderKey().Before(earliest) {
		all = all[:len(all)-1]
	}
	return all[len(all)-1].OrderKey()
}

// Log implements [scheduler.Archive].
func (l *Ledger) Log(ctx context.Context, job string, tick time.Time, token locking.Token) (scheduler.Log, error) {
	if err := ctx.Err(); err != nil {
		return scheduler.Log{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, log := range l.kept[job].logs {
		if same(log, scheduler.Log{Tick: tick, Token: token}) {
			return log, nil
		}
	}
	return scheduler.Log{}, scheduler.ErrNoLog
}

var _ scheduler.Archive = (*Ledger)(nil)

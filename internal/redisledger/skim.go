package redisledger

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// Limits per call, since a call keeps the node from voting, and for concurrent calls.
const (
	skimJobs    = 250
	skimRecords = 500
	skimAtOnce  = 3
)

// Skim implements [ledger.Skimmer].
func (l *Ledger) Skim(ctx context.Context, stretches []ledger.Stretch, perTick bool) ([]ledger.Skimmed, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	skimmed := make([]ledger.Skimmed, len(stretches))
	turns := make(chan struct{}, skimAtOnce)
	var wg sync.WaitGroup
	for from := 0; from < len(stretches); {
		some := portion(stretches[from:])
		into := skimmed[from : from+len(some)]
		from += len(some)
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			if ctx.Err() != nil {
				return
			}
			if err := l.skim(ctx, some, into, perTick); err != nil {
				cancel(err) // the first error stays
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return skimmed, nil
}

// portion returns as many of the stretches as fit into one call, at least one.
func portion(stretches []ledger.Stretch) []ledger.Stretch {
	records := 0
	for i, s := range stretches {
		if records += s.Limit; i > 0 && (i == skimJobs || records > skimRecords) {
			return stretches[:i]
		}
	}
	return stretches
}

func (l *Ledger) skim(ctx context.Context, stretches []ledger.Stretch, into []ledger.Skimmed, perTick bool) error {
	spans := make([]span, len(stretches))
	for i, s := range stretches {
		spans[i] = span{job: s.Job, latest: notAfter(s.NotAfter), earliest: s.Since, most: s.Limit}
	}
	pages, err := l.pages(ctx, spans)
	if err != nil {
		return err
	}
	for i, s := range stretches {
		all := pages[i].known(s.Job)
		if perTick {
			into[i].Entries = ticks(all)
		} else {
			into[i].Entries = entries(all)
		}
		for j := range into[i].Entries {
			l.nameNodes(&into[i].Entries[j])
		}
		if m := pages[i].merge; m.trimmed {
			into[i].Trimmed = time.UnixMilli(m.gone).UTC()
		}
		if !pages[i].complete {
			into[i].Rest = time.UnixMilli(pages[i].horizon).UTC()
		}
	}
	return nil
}

// notAfter is the upper end of a range of scores: up to the given time, or unbounded if
// that is zero.
func notAfter(t time.Time) string {
	if t.IsZero() {
		return "+inf"
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

var _ ledger.Skimmer = (*Ledger)(nil)

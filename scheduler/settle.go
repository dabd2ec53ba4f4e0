package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A settlement is a request and its ticks, until the audit log has the result. The result
// comes from the ledger, so every replica that handled the request may settle it; the first
// one does.
type settlement struct {
	act   acts.Act
	ticks []job.Tick
	text  string        // the result, if known without the ledger
	why   ledger.Reason // why ticks without an entry will not run
	next  time.Time
}

// result returns the result of the request, "" if it is still open. It records ticks that
// can no longer run.
func (s *settlement) result(ctx context.Context, cfg Config, now time.Time) (string, error) {
	if s.text != "" {
		return s.text, nil
	}
	expired := ledger.Reason{Code: ledger.CodeExpired}
	if len(s.ticks) == 0 {
		return expired.String(), nil
	}
	known, err := s.known(ctx, cfg.Ledger)
	if err != nil {
		return "", err
	}
	why := s.why
	if !now.Before(s.act.Expires()) {
		why = cmp.Or(why, expired)
	}
	var all []ledger.Entry
	for _, t := range s.ticks {
		e, ok := known[t.At.UnixMilli()]
		switch {
		case ok && (e.Outcome == ledger.Running || e.HandedOver()), !ok && why.IsZero():
			return "", nil
		case !ok:
			e = t.Entry(&job.Job{Definition: Job{Name: s.act.Job}}, cfg.Replica)
			e.Outcome, e.Reason = ledger.Missed, why
			if _, err := cfg.Ledger.Record(ctx, e); err != nil {
				return "", err
			}
		}
		all = append(all, e)
	}
	return summary(all), nil
}

// known reads the ledger's entries of the ticks, by order key in milliseconds.
func (s *settlement) known(ctx context.Context, store ledger.Store) (map[int64]ledger.Entry, error) {
	const others = 50 // entries of other streams, at the same instants
	last := s.ticks[len(s.ticks)-1]
	entries, err := store.Ticks(ctx, ledger.Query{
		Job: s.act.Job, Before: last.At.Add(time.Millisecond), Limit: len(s.ticks) + others,
	})
	if err != nil {
		return nil, err
	}
	known := map[int64]ledger.Entry{}
	for _, e := range entries {
		if e.Stream == last.Stream {
			known[e.OrderKey().UnixMilli()] = e
		}
	}
	return known, nil
}

// summary says briefly how the ticks of a request ended.
func summary(all []ledger.Entry) string {
	if len(all) == 1 {
		e := all[0]
		line, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(e.Reason.String()+"; "+e.Error, "; "), "; "), "\n")
		if line == "" {
			return string(e.Outcome)
		}
		return string(e.Outcome) + ": " + line
	}
	counts := map[ledger.Outcome]int{}
	for _, e := range all {
		counts[e.Outcome]++
	}
	var parts []string
	for _, o := range ledger.Outcomes() {
		if n := counts[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	return fmt.Sprintf("%d ticks: %s", len(all), strings.Join(parts, ", "))
}

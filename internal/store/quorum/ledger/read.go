package ledger

import (
	"context"
	"strconv"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// read collects entries page by page, newest ticks first, up to the limit. Choose
// selects the entries to list.
func (l *Ledger) read(ctx context.Context, q ledger.Query, choose func([]known) []ledger.Entry) ([]ledger.Entry, error) {
	found := []ledger.Entry{}
	r := span{job: q.Job, latest: latestTick(q.Before), earliest: q.Since, most: pageSize(q)}
	for len(found) < q.Limit {
		pages, err := l.pages(ctx, []span{r})
		if err != nil {
			return nil, err
		}
		entries := pages[0].known(q.Job)
		chosen := choose(entries)
		for _, e := range chosen {
			if q.Wants(e) {
				l.nameNodes(&e)
				found = append(found, e)
			}
		}
		if pages[0].complete || pages[0].horizon < q.Since.UnixMilli() {
			break
		}
		if len(entries) == 0 {
			r.most *= 2 // one tick fills the page
		}
		r.latest = strconv.FormatInt(pages[0].horizon, 10)
	}
	return found[:min(len(found), q.Limit)], nil
}

// pageSize is how many records per node probably hold the result: one per tick, and
// more for reruns. A filter may leave out many.
func pageSize(q ledger.Query) int {
	if q.Filters() {
		return 2*q.Limit + 16
	}
	return q.Limit + q.Limit/4 + 2
}

// latestTick is the upper end of a range of scores: below the given time, or unbounded
// if that is zero.
func latestTick(before time.Time) string {
	if before.IsZero() {
		return "+inf"
	}
	ms := before.UnixMilli()
	if before.After(time.UnixMilli(ms)) {
		return strconv.FormatInt(ms, 10)
	}
	return "(" + strconv.FormatInt(ms, 10)
}

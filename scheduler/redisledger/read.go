package redisledger

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
)

// read collects entries page by page, newest ticks first, until there are as
// many as asked for. choose says which of the known entries are listed.
func (l *Ledger) read(ctx context.Context, q scheduler.Query, choose func([]known) []scheduler.Entry) ([]scheduler.Entry, error) {
	found := []scheduler.Entry{}
	latest, size := latestTick(q.Before), pageSize(q)
	for len(found) < q.Limit {
		p, err := l.page(ctx, q.Job, latest, size)
		if err != nil {
			return nil, err
		}
		entries, err := p.known(q.Job)
		if err != nil {
			return nil, err
		}
		chosen := choose(entries)
		found = append(found, slices.DeleteFunc(chosen, func(e scheduler.Entry) bool { return !q.Wants(e) })...)
		if p.complete || p.horizon < q.Since.UnixMilli() {
			break
		}
		if len(entries) == 0 {
			size *= 2 // one tick fills the page
		}
		latest = strconv.FormatInt(p.horizon, 10)
	}
	return found[:min(len(found), q.Limit)], nil
}

// pageSize is how many records of each node are likely to hold what the query asks
// for: one for each tick, more where some were tried again, and one beyond, since a
// page may end in the middle of a tick. A filter may leave out many.
func pageSize(q scheduler.Query) int {
	if len(q.Outcomes)+len(q.Triggers) > 0 {
		return 2*q.Limit + 16
	}
	return q.Limit + q.Limit/4 + 3
}

// latestTick is the upper end of a range of scores: below the given time, or
// anything if that is zero.
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

// A page is what the nodes that answered know of a range of ticks.
type page struct {
	merge merger
	// horizon is a tick in milliseconds: of ticks after it the nodes have said
	// all they know. If the page is complete they have of every tick.
	horizon  int64
	complete bool
}

func (l *Ledger) page(ctx context.Context, job, latest string, size int) (page, error) {
	keys := []string{l.set.JobKey(job, "runs"), l.set.JobKey(job, "lock"), l.set.JobKey(job, "shares")}
	doing := "reading the ledger of " + job
	replies, err := answers(l.set, doing, l.set.Call(ctx, l.lua.read, keys, latest, size))
	if err != nil {
		return page{}, err
	}
	p := page{merge: newMerger(l.set.Quorum(), len(replies)), complete: true}
	for _, r := range replies {
		if err := p.add(r, size); err != nil {
			return page{}, fmt.Errorf("%s: %s: %w", doing, r.Node, err)
		}
	}
	return p, nil
}

// add takes the answer of one node in: who has the lock or a share of it, then
// records. A full page may have been cut off in the middle of its last tick.
func (p *page) add(r nodes.Reply, size int) error {
	n, err := strconv.Atoi(r.Arg(0))
	if err != nil || n < 0 || n >= len(r.Args) {
		return fmt.Errorf("it says that %q hold the lock", r.Arg(0))
	}
	owners, records := r.Args[1:n+1], r.Args[n+1:]
	for i, text := range records {
		rec, err := nodes.DecodeRecord(text)
		if err != nil {
			return err
		}
		p.merge.add(rec, owners...)
		if i == size-1 {
			p.complete = false
			p.horizon = max(p.horizon, rec.Tick.UnixMilli())
		}
	}
	return nil
}

// known returns what is known of the ticks that the page covers.
func (p *page) known(job string) ([]known, error) {
	if !p.complete {
		p.merge.forgetUpTo(p.horizon)
	}
	return p.merge.known(job)
}

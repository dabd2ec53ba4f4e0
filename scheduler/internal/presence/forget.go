package presence

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

const (
	// forgetEvery is the pause between two checks.
	forgetEvery = time.Hour
	// forgetAtOnce bounds the jobs per check, so deletions do not delay votes.
	forgetAtOnce  = 20
	forgetTimeout = time.Minute
)

// A Forgetter deletes the stored data of jobs that no replica has served for long. Each
// hour one of the live replicas does it. It is harmless if two do, because they see
// different live replicas.
type Forgetter struct {
	Replica  string
	Roster   roster.Roster                               // may be nil
	Forget   func(ctx context.Context, key string) error // nil: nothing is deleted
	After    time.Duration                               // 0: never
	Observer event.Observer
	Now      func() time.Time
	Serves   func(key string) bool // on this replica
}

// Run checks once every hour until ctx ends, each replica at its own minute. The first
// check waits until this replica and those that started with it have published their jobs.
func (f Forgetter) Run(ctx context.Context) {
	if f.Roster == nil || f.Forget == nil || f.After == 0 {
		return
	}
	spread := job.Weight("", time.Time{}, f.Replica) % uint64(forgetEvery-served.Settling)
	for in := served.Settling + time.Duration(spread); retry.Sleep(ctx, in); in = forgetEvery {
		f.check(ctx)
	}
}

// check deletes the jobs that were removed longest ago. It does nothing if the roster
// cannot be read.
func (f Forgetter) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, forgetTimeout)
	defer cancel()
	now := f.Now()
	live, err := f.Roster.Replicas(ctx)
	if err != nil || !f.mine(live, now) {
		return
	}
	known, err := f.Roster.Jobs(ctx)
	if err != nil {
		return
	}
	for _, gone := range f.abandoned(known, live, now) {
		err := f.Forget(ctx, gone[0].StoredAs())
		if err == nil { // then its place on the list: a node that was away keeps both, and is asked again later
			err = f.Roster.Unpublish(ctx, gone)
		}
		if ctx.Err() != nil {
			return
		}
		f.Observer(event.Event{Kind: event.Forgotten, Entry: ledger.Entry{Job: gone[0].Name}, Since: now.Add(-gone[0].Age), Err: err})
		if errors.Is(err, locking.ErrNoQuorum) {
			return
		}
	}
}

// mine reports whether it is this replica's turn, which changes each hour. Nobody has it
// while a replica may not have published its jobs yet.
func (f Forgetter) mine(live []roster.Replica, now time.Time) bool {
	var ids []string
	for _, r := range live {
		if now.Sub(r.Started) < served.Settling {
			return false
		}
		if r.State != roster.StateDraining {
			ids = append(ids, r.ID)
		}
	}
	return job.Rank("", now.Truncate(forgetEvery), f.Replica, ids) == 0
}

// abandoned returns the jobs that no replica has served for After, the longest
// first. Each has its versions, the last served first.
func (f Forgetter) abandoned(known []roster.JobInfo, live []roster.Replica, now time.Time) [][]roster.JobInfo {
	var gone [][]roster.JobInfo
	for key, versions := range served.ByKey(known) {
		slices.SortStableFunc(versions, func(a, b roster.JobInfo) int { return cmp.Compare(a.Age, b.Age) })
		if versions[0].Age >= f.After && !f.Serves(key) && served.By(versions, live, now) == "" {
			gone = append(gone, versions)
		}
	}
	slices.SortFunc(gone, func(a, b []roster.JobInfo) int {
		return cmp.Or(cmp.Compare(b[0].Age, a[0].Age), strings.Compare(a[0].StoredAs(), b[0].StoredAs()))
	})
	return gone[:min(len(gone), forgetAtOnce)]
}

// A removed job was served until a time, in the set with that hash.
type removed struct {
	job    posted // as this replica served it
	at     int64  // Unix milliseconds
	hash   string
	others []string // replicas that may serve the job, as last seen
}

// removals are the jobs that this replica no longer serves, until that is published.
type removals struct {
	replica string
	roster  roster.Roster
	sets    roster.JobSets // may be nil

	mu   sync.Mutex
	hash string // of the set that this replica serves
	gone map[string]removed
	read map[string]map[string]bool // the keys of sets that other replicas serve, by hash, while removals are pending
}

// replace stores that the jobs of before were removed at now, except those of list, the
// set with the hash.
func (r *removals) replace(before map[string]posted, list []*job.Job, hash string, now int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, j := range before {
		r.gone[key] = removed{job: j, at: now, hash: r.hash}
	}
	for _, j := range list {
		delete(r.gone, j.Key)
	}
	r.hash = hash
}

// publish publishes removed jobs that no other replica serves, and reports whether
// those are all.
func (r *removals) publish(ctx context.Context, others []roster.Replica) bool {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	for _, o := range others {
		r.readSet(ctx, o.ConfigHash)
	}
	list := r.list(others)
	if len(list) > 0 && r.roster.Publish(ctx, list) != nil {
		list = nil // later
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, info := range list {
		if key := info.StoredAs(); unixMillis(info.Account.Removed) == r.gone[key].at {
			delete(r.gone, key)
		}
	}
	if len(r.gone) == 0 {
		r.read = nil
	}
	return len(r.gone) == 0
}

// readSet reads which jobs another replica's set has, if a removal depends on it. An
// unknown set, or one that was too large to store, may have any job. The published versions
// do not help, since each replica writes its own set with a version that many serve.
func (r *removals) readSet(ctx context.Context, hash string) {
	r.mu.Lock()
	known := len(r.gone) == 0 || hash == r.hash || r.read[hash] != nil
	r.mu.Unlock()
	if known || r.sets == nil {
		return
	}
	packed, err := r.sets.JobSet(ctx, hash)
	if err != nil {
		return
	}
	set, err := roster.UnpackJobs(packed)
	if err != nil || len(set.Jobs) != set.Count {
		return
	}
	keys := make(map[string]bool, len(set.Jobs))
	for _, j := range set.Jobs {
		keys[j.Key] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read == nil {
		r.read = map[string]map[string]bool{}
	}
	r.read[hash] = keys
}

// list returns the published form of removed jobs that no other replica can be serving.
// If a replica that served the job is gone, it was the last one, and nobody knows when it
// stopped.
func (r *removals) list(others []roster.Replica) []roster.JobInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []roster.JobInfo
	for key, j := range r.gone {
		left := func(id string) bool {
			return !slices.ContainsFunc(others, func(o roster.Replica) bool { return o.ID == id })
		}
		if slices.ContainsFunc(j.others, left) {
			delete(r.gone, key)
			continue
		}
		j.others = nil
		for _, o := range others {
			keys, ok := r.read[o.ConfigHash]
			if o.ConfigHash != r.hash && (!ok || keys[key]) {
				j.others = append(j.others, o.ID)
			}
		}
		r.gone[key] = j
		if len(j.others) > 0 {
			continue
		}
		info := j.job.info(r.replica)
		info.Published, info.ConfigHash = fromUnixMillis(j.at), j.hash
		info.Account = roster.Account{First: info.Since, Removed: fromUnixMillis(j.at)}
		list = append(list, info)
	}
	return list
}

package presence

import (
	"context"
	"slices"
	"sync"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
)

// A removed job was served until a time, in the set with that hash.
type removed struct {
	posted
	at     int64 // Unix milliseconds
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
		r.gone[key] = removed{posted: j, at: now, hash: r.hash}
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
		if slices.ContainsFunc(j.others, func(id string) bool { return !slices.ContainsFunc(others, replicaIs(id)) }) {
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
		info := j.info(r.replica)
		info.Published, info.ConfigHash = fromUnixMillis(j.at), j.hash
		info.Account = roster.Account{First: info.Since, Removed: fromUnixMillis(j.at)}
		list = append(list, info)
	}
	return list
}

func replicaIs(id string) func(roster.Replica) bool {
	return func(r roster.Replica) bool { return r.ID == id }
}

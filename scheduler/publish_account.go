package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/internal/roster"
)

// Accounts are published together with the jobs: every few minutes, and after a drain. They
// need not be exact: a replica that reads the past looks further back if they lag.

// accounts are the accounts of the jobs on one replica.
type accounts struct {
	until  map[string]time.Time // by key; without jobs whose past it does not know
	behind bool                 // there are such jobs that it may run
}

// A removed job was served until a time, in the set with that hash.
type removed struct {
	posted
	at     int64 // Unix milliseconds
	hash   string
	others []string // replicas that may serve the job, as last seen
}

// remove stores all jobs as removed. The caller takes back those that stay.
func (p *publisher) remove(before map[string]posted, now int64) {
	if p.roster == nil {
		return
	}
	for key, j := range before {
		p.gone[key] = removed{posted: j, at: now, hash: p.hash}
	}
}

// addAccounts adds the accounts to the list. versions are the published ones, none if they
// were not read.
func (p *publisher) addAccounts(list []JobInfo, versions map[string][]JobInfo) {
	var now accounts
	if p.account != nil {
		learned := make(map[string]time.Time, len(versions))
		for _, info := range list {
			if of := versions[info.StoredAs()]; len(of) > 0 {
				learned[info.StoredAs()] = roster.AccountOf(of).Until
			}
		}
		now = p.account(learned)
		p.mu.Lock()
		p.behind = now.behind
		p.mu.Unlock()
	}
	for i, info := range list {
		list[i].Account = Account{First: info.Since, Until: now.until[info.StoredAs()]}
	}
}

// publishRemoved publishes removed jobs that no other replica serves, and reports whether
// those are all.
func (p *publisher) publishRemoved(ctx context.Context, others []Replica) bool {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	for _, r := range others {
		p.readSet(ctx, r.ConfigHash)
	}
	list := p.removals(others)
	if len(list) > 0 && p.roster.Publish(ctx, list) != nil {
		list = nil // later
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, info := range list {
		if key := info.StoredAs(); unixMillis(info.Account.Removed) == p.gone[key].at {
			delete(p.gone, key)
		}
	}
	if len(p.gone) == 0 {
		p.read = nil
	}
	return len(p.gone) == 0
}

// readSet reads which jobs another replica's set has, if a removal depends on it. An
// unknown set, or one that was too large to store, may have any job. The published versions
// do not help, since each replica writes its own set with a version that many serve.
func (p *publisher) readSet(ctx context.Context, hash string) {
	p.mu.Lock()
	known := len(p.gone) == 0 || hash == p.hash || p.read[hash] != nil
	p.mu.Unlock()
	if known || p.sets == nil {
		return
	}
	packed, err := p.sets.JobSet(ctx, hash)
	if err != nil {
		return
	}
	set, err := UnpackJobs(packed)
	if err != nil || len(set.Jobs) != set.Count {
		return
	}
	keys := make(map[string]bool, len(set.Jobs))
	for _, j := range set.Jobs {
		keys[j.Key] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.read == nil {
		p.read = map[string]map[string]bool{}
	}
	p.read[hash] = keys
}

// removals returns the published form of removed jobs that no other replica can be serving.
// If a replica that served the job is gone, it was the last one, and nobody knows when it
// stopped.
func (p *publisher) removals(others []Replica) []JobInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []JobInfo
	for key, j := range p.gone {
		if slices.ContainsFunc(j.others, func(id string) bool { return !slices.ContainsFunc(others, replicaIs(id)) }) {
			delete(p.gone, key)
			continue
		}
		j.others = nil
		for _, r := range others {
			keys, ok := p.read[r.ConfigHash]
			if r.ConfigHash != p.hash && (!ok || keys[key]) {
				j.others = append(j.others, r.ID)
			}
		}
		p.gone[key] = j
		if len(j.others) > 0 {
			continue
		}
		info := p.info(j.posted)
		info.Published, info.ConfigHash = fromUnixMillis(j.at), j.hash
		info.Account = Account{First: info.Since, Removed: fromUnixMillis(j.at)}
		list = append(list, info)
	}
	return list
}

func replicaIs(id string) func(Replica) bool {
	return func(r Replica) bool { return r.ID == id }
}

// others returns the other live replicas.
func (p *publisher) others() []Replica {
	if p.live == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.live()), func(r Replica) bool { return r.ID == p.replica })
}

// finish publishes everything once more after this replica has drained and left the roster,
// so later replicas need not look further back. It does not wait long.
func (p *publisher) finish(ctx context.Context) {
	if p.roster == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	left, err := p.roster.Replicas(ctx)
	left = slices.DeleteFunc(left, func(r Replica) bool { return !p.isPeer(r) })
	var stopped time.Time
	if err == nil && len(left) == 0 {
		stopped = p.wall()
	}
	p.renew()
	list := p.take()
	p.addAccounts(list, nil)
	for i := range list {
		list[i].Account.Stopped = stopped
	}
	if len(list) > 0 {
		_ = p.roster.Publish(ctx, list) // without it other replicas look further back
	}
	if len(left) > 0 { // a roll-out, perhaps of a configuration without some of the jobs
		p.serve(nil)
	}
	p.publishRemoved(ctx, left)
}

// isPeer reports whether another replica is alive and does not drain.
func (p *publisher) isPeer(r Replica) bool { return r.ID != p.replica && r.State != StateDraining }

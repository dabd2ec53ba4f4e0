package scheduler

import (
	"context"
	"slices"
	"time"
)

// How far jobs are accounted for is published together with the jobs: every few minutes,
// and when the replica has drained. It is never needed exactly, since whoever looks up the
// past looks further back where it lags.

// accounts are how far jobs are accounted for, as one replica sees it.
type accounts struct {
	until  map[string]time.Time // by key; none of those whose past it does not know
	behind bool                 // there are such that it may run
}

// A removed job was served until then, as part of a set with that hash.
type removed struct {
	posted
	at     int64 // Unix milliseconds
	hash   string
	others []string // replicas that were last seen to serve that set
}

// remove notes the jobs that are taken out. The caller takes back those that stay.
func (p *publisher) remove(before map[string]posted, now int64) {
	if p.roster == nil {
		return
	}
	for key, j := range before {
		p.gone[key] = removed{posted: j, at: now, hash: p.hash}
	}
}

// addAccounts adds how far the jobs are accounted for. The versions are those that were
// published of jobs, none if they were not read.
func (p *publisher) addAccounts(list []JobInfo, versions map[string][]JobInfo) {
	var now accounts
	if p.account != nil {
		learned := make(map[string]time.Time, len(versions))
		for _, info := range list {
			if of := versions[info.StoredAs()]; len(of) > 0 {
				learned[info.StoredAs()] = accountOf(of).Until
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

// publishRemoved says which jobs were removed that no other replica serves, and tells
// whether those are all.
func (p *publisher) publishRemoved(ctx context.Context, others []Replica) bool {
	unserved, all := p.unserved(others)
	if len(unserved) == 0 {
		return all
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	known, err := p.roster.Jobs(ctx)
	if whole(err) != nil {
		return false
	}
	for _, v := range known {
		if v.servedIn(others) >= 0 {
			delete(unserved, v.StoredAs()) // as part of another set
		}
	}
	list := p.removals(unserved)
	err = p.roster.Publish(ctx, list)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, info := range list {
		if key := info.StoredAs(); !lacks(err, key) && millis(info.Account.Removed) == p.gone[key].at {
			delete(p.gone, key)
		}
	}
	return len(p.gone) == 0
}

// unserved returns the keys of jobs that were removed and that no other replica serves as
// part of the same set, and whether there are none that are. Where a replica went away that
// did, it was the last one, not this one, and nobody knows when it stopped.
func (p *publisher) unserved(others []Replica) (keys map[string]bool, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys, all = map[string]bool{}, true
	for key, j := range p.gone {
		if slices.ContainsFunc(j.others, func(id string) bool { return !slices.ContainsFunc(others, replicaIs(id)) }) {
			delete(p.gone, key)
			continue
		}
		j.others = nil
		for _, r := range others {
			if r.ConfigHash == j.hash {
				j.others = append(j.others, r.ID)
			}
		}
		p.gone[key] = j
		if len(j.others) == 0 {
			keys[key] = true
		} else {
			all = false
		}
	}
	return keys, all
}

func replicaIs(id string) func(Replica) bool {
	return func(r Replica) bool { return r.ID == id }
}

// removals is what is published of jobs that were removed.
func (p *publisher) removals(keys map[string]bool) []JobInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []JobInfo
	for key := range keys {
		j, ok := p.gone[key]
		if !ok {
			continue
		}
		info := p.info(j.posted)
		info.Published, info.ConfigHash = fromMillis(j.at), j.hash
		info.Account = Account{First: info.Since, Removed: fromMillis(j.at)}
		list = append(list, info)
	}
	return list
}

// others are the replicas that live, without this one.
func (p *publisher) others() []Replica {
	if p.live == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.live()), func(r Replica) bool { return r.ID == p.replica })
}

// finish publishes all once more when this replica has drained and left the roster: what
// comes next need not look further back. It does not wait long.
func (p *publisher) finish(ctx context.Context) {
	if p.roster == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	left, err := p.roster.Replicas(ctx)
	left = slices.DeleteFunc(left, func(r Replica) bool { return !p.goesOn(r) })
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
		_ = p.roster.Publish(ctx, list) // without it others look further back
	}
	if len(left) > 0 { // a roll-out, perhaps of a configuration without some of the jobs
		p.serve(nil)
	}
	p.publishRemoved(ctx, left)
}

// goesOn tells whether another replica lives and does not drain.
func (p *publisher) goesOn(r Replica) bool { return r.ID != p.replica && r.State != StateDraining }

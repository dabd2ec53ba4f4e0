package scheduler

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

const (
	publishTimeout = 30 * time.Second
)

// A publisher publishes the jobs that this replica serves: changes at once, and everything
// periodically, since nodes may have lost their memory.
type publisher struct {
	roster  Roster  // may be nil
	sets    JobSets // may be nil
	replica string
	wall    func() time.Time
	retry   time.Duration

	// Set by Run: the other live replicas, and what the engine knows of the past, see
	// engine.accounted. Nil before.
	live    func() []Replica
	account func(learned map[string]time.Time) accounts

	mu         sync.Mutex
	jobs       map[string]posted // by key
	hash       string            // of the whole set
	since      time.Time         // when the set was first served
	pending    map[string]bool   // keys of jobs that are not published yet
	begun      map[string]bool   // keys of versions that other replicas may have served before
	gone       map[string]removed
	read       map[string]map[string]bool // the keys of sets that other replicas serve, by hash, while removals are pending
	behind     bool                       // other replicas may have accounted for ticks before this one came
	setPending bool                       // the set is not published yet
	more       chan struct{}              // holds one element after a change
}

// A posted job is one that this replica serves, and since when. It is encoded when it is
// published.
type posted struct {
	*job.Job
	since int64 // Unix milliseconds; 0: unknown
}

func newPublisher(cfg Config) *publisher {
	return &publisher{
		roster: cfg.Roster, sets: cfg.JobSets, replica: cfg.Replica, wall: cfg.Clock, retry: cfg.BeatEvery,
		pending: map[string]bool{}, begun: map[string]bool{}, gone: map[string]removed{}, more: make(chan struct{}, 1),
	}
}

// serve sets the jobs that this replica serves, with their hashes. Without a roster it
// stores nothing to be published.
func (p *publisher) serve(list []*job.Job) {
	hash := job.SetHash(list)
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.jobs
	if p.hash != hash {
		p.since, p.setPending = p.wall(), true
	}
	now := unixMillis(p.wall())
	p.remove(before, now)
	p.jobs, p.hash = make(map[string]posted, len(list)), hash
	for _, j := range list {
		have := before[j.Key]
		post := posted{Job: j, since: now}
		if have.Job != nil && have.Hash == j.Hash {
			post.since = have.since
		}
		p.jobs[j.Key] = post
		delete(p.gone, j.Key)
		if p.roster != nil {
			p.compare(have, post)
		}
	}
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// compare marks what is new of a job.
func (p *publisher) compare(have, post posted) {
	if have.Job == nil || have.Hash != post.Hash {
		p.begun[post.Key] = true
	}
	if have.Job == nil || !reflect.DeepEqual(p.info(have), p.info(post)) {
		p.pending[post.Key] = true
	}
}

// serves reports whether this replica serves the job with the key.
func (p *publisher) serves(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.jobs[key]
	return ok
}

// job returns the job with the key, nil if this replica does not serve it.
func (p *publisher) job(key string) *job.Job {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.jobs[key].Job
}

// info is the published form of a job.
func (p *publisher) info(j posted) JobInfo {
	return JobInfo{
		Name: j.Name, Key: j.RenamedFrom(), Hash: j.Hash, Func: j.Func, Schedule: j.Spec, Timezone: j.Timezone,
		Description: j.Description, Tags: j.Tags, Paused: j.Paused, Definition: definition(j.Schedule), Jitter: j.Jitter, Params: j.PublishedParams(),
		Replica: p.replica, Since: fromUnixMillis(j.since),
	}
}

// definition is the published form of the job's schedule.
func definition(s schedule.Schedule) string {
	text, err := schedule.Definition(s)
	if err != nil || len(text) > MaxDefinition {
		return ""
	}
	return text
}

// serving is the set of jobs that a replica serves, since when, and their number.
type serving struct {
	hash  string
	since time.Time
	jobs  int
}

func (p *publisher) serving() serving {
	p.mu.Lock()
	defer p.mu.Unlock()
	return serving{p.hash, p.since, len(p.jobs)}
}

// run publishes until ctx ends.
func (p *publisher) run(ctx context.Context) {
	if p.roster == nil {
		return
	}
	all := time.NewTicker(roster.PublishEvery)
	defer all.Stop()
	for {
		var again <-chan time.Time
		if !p.publishAll(ctx) {
			again = time.After(p.retry)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.more:
		case <-again:
		case <-all.C:
			p.renew()
		}
	}
}

// publishAll publishes changes, the set, and removed jobs. It reports whether nothing is
// left to publish.
func (p *publisher) publishAll(ctx context.Context) bool {
	published := p.publish(ctx)
	kept := p.storeSet(ctx)
	return p.publishRemoved(ctx, p.others()) && kept && published
}

// renew marks everything for publication.
func (p *publisher) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setPending = true
	for key := range p.jobs {
		p.pending[key] = true
	}
}

// publish publishes marked jobs, and reports whether that worked.
func (p *publisher) publish(ctx context.Context) bool {
	list := p.take()
	if len(list) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	versions, err := p.known(ctx)
	if err == nil {
		p.learn(list, versions)
		p.addAccounts(list, versions)
		err = p.roster.Publish(ctx, list)
	}
	if err != nil {
		p.putBack(list)
	}
	return err == nil
}

// known reads the published versions, if this replica has anything to learn from them.
func (p *publisher) known(ctx context.Context) (map[string][]JobInfo, error) {
	p.mu.Lock()
	learns := len(p.begun) > 0 || p.behind
	p.mu.Unlock()
	if !learns {
		return nil, nil
	}
	known, err := p.roster.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	return roster.ByKey(known), nil
}

// learn finds since when versions are served that this replica has begun to serve.
func (p *publisher) learn(list []JobInfo, versions map[string][]JobInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, info := range list {
		key := info.StoredAs()
		if have, ok := p.jobs[key]; ok && have.Hash == info.Hash && p.begun[key] {
			list[i].Since = roster.BeganToServe(info, versions[key])
			have.since = unixMillis(list[i].Since)
			p.jobs[key] = have
			delete(p.begun, key)
		}
	}
	if len(p.begun) == 0 {
		p.begun = map[string]bool{} // a map never shrinks
	}
}

// take returns the marked jobs and removes the marks.
func (p *publisher) take() []JobInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []JobInfo
	for key := range p.pending {
		if j, ok := p.jobs[key]; ok {
			info := p.info(j)
			info.Published, info.ConfigHash = p.wall(), p.hash
			list = append(list, info)
		}
	}
	p.pending = map[string]bool{} // a large map stays large
	return list
}

func (p *publisher) putBack(list []JobInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, info := range list {
		p.pending[info.StoredAs()] = true
	}
}

// unixMillis is the compact form of a time; 0 if it is zero.
func unixMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromUnixMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

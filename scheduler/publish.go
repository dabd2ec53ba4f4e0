package scheduler

import (
	"context"
	"reflect"
	"sync"
	"time"
)

const (
	publishEvery   = 5 * time.Minute
	publishTimeout = 30 * time.Second
	// settling is how long after its start, or after a change of its jobs, a
	// replica may not have published them.
	settling = 2 * publishEvery
)

// A publisher makes known which jobs this replica serves: at once what has
// changed, and everything now and then, since nodes may have lost their memory.
type publisher struct {
	roster  Roster  // may be nil
	sets    JobSets // may be nil
	replica string
	wall    func() time.Time
	retry   time.Duration

	mu     sync.Mutex
	jobs   map[string]posted // by key
	hash   string            // of the whole set
	since  time.Time         // that is served
	fresh  map[string]bool   // keys of what is not published yet
	begun  map[string]bool   // keys of versions that others may have served before
	untold bool              // what the set consists of
	more   chan struct{}     // holds one element after something became fresh
}

// A posted job is one that this replica serves, and since when. What is published
// of it is written out when it is.
type posted struct {
	*Job
	since int64 // Unix milliseconds; 0: not known
}

func newPublisher(cfg Config) *publisher {
	return &publisher{
		roster: cfg.Roster, sets: cfg.JobSets, replica: cfg.Replica, wall: cfg.Clock, retry: cfg.BeatEvery,
		fresh: map[string]bool{}, begun: map[string]bool{}, more: make(chan struct{}, 1),
	}
}

// serve says that this replica serves exactly the hashed jobs of list. Where there
// is nobody to tell, nothing is kept of what is to be told.
func (p *publisher) serve(list []*Job) {
	hash := setHash(list)
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.jobs
	if p.hash != hash {
		p.since, p.untold = p.wall(), true
	}
	p.jobs, p.hash = make(map[string]posted, len(list)), hash
	now := millis(p.wall())
	for _, j := range list {
		have := before[j.Key]
		post := posted{Job: j, since: now}
		if have.Job != nil && have.Hash == j.Hash {
			post.since = have.since
		}
		p.jobs[j.Key] = post
		if p.roster != nil {
			p.compare(have, post)
		}
	}
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// compare notes what is new of a job.
func (p *publisher) compare(have, post posted) {
	if have.Job == nil || have.Hash != post.Hash {
		p.begun[post.Key] = true
	}
	if have.Job == nil || !reflect.DeepEqual(p.info(have), p.info(post)) {
		p.fresh[post.Key] = true
	}
}

// serves tells whether this replica serves the job with the key.
func (p *publisher) serves(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.jobs[key]
	return ok
}

// info is what is published of a job.
func (p *publisher) info(j posted) JobInfo {
	return JobInfo{
		Name: j.Name, Key: j.renamedFrom(), Hash: j.Hash, Func: j.Func, Schedule: j.Spec, Timezone: j.Timezone,
		Description: j.Description, Tags: j.Tags, Paused: j.Paused, Definition: j.definition(), Jitter: j.Jitter,
		Replica: p.replica, Since: fromMillis(j.since),
	}
}

// definition is what is published of the job's schedule.
func (j *Job) definition() string {
	text, err := Definition(j.Schedule)
	if err != nil || len(text) > MaxDefinition {
		return ""
	}
	return text
}

// serving is which set of jobs a replica serves, since when, and how many they are.
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
	all := time.NewTicker(publishEvery)
	defer all.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.more:
		case <-all.C:
			p.renew()
		}
		for !p.tell(ctx) && sleep(ctx, p.retry) {
		}
	}
}

// tell publishes what is fresh, and says what the set consists of. It returns whether
// that worked.
func (p *publisher) tell(ctx context.Context) bool {
	published := p.publish(ctx)
	return p.keepSet(ctx) && published
}

// renew makes everything fresh.
func (p *publisher) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.untold = true
	for key := range p.jobs {
		p.fresh[key] = true
	}
}

// publish tells the roster what is fresh, and whether that worked.
func (p *publisher) publish(ctx context.Context) bool {
	list := p.take()
	if len(list) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	list, unknown := p.split(list, p.learn(ctx, list))
	var untold []JobInfo
	if len(list) > 0 {
		_, untold = p.split(list, p.roster.Publish(ctx, list))
	}
	return len(unknown)+len(untold) == 0
}

// split puts those of the list back that an answer lacks, which came with err.
func (p *publisher) split(list []JobInfo, err error) (told, lacking []JobInfo) {
	if err == nil {
		return list, nil
	}
	for _, info := range list {
		if lacks(err, info.StoredAs()) {
			lacking = append(lacking, info)
		} else {
			told = append(told, info)
		}
	}
	p.putBack(lacking)
	return told, lacking
}

// learn finds out since when versions are served that this replica has begun to
// serve.
func (p *publisher) learn(ctx context.Context, list []JobInfo) error {
	p.mu.Lock()
	begun := len(p.begun) > 0
	p.mu.Unlock()
	if !begun {
		return nil
	}
	known, err := p.roster.Jobs(ctx)
	if whole(err) != nil {
		return err
	}
	versions := byKey(known)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, info := range list {
		key := info.StoredAs()
		if have, ok := p.jobs[key]; ok && have.Hash == info.Hash && p.begun[key] && !lacks(err, key) {
			list[i].Since = info.servedSince(versions[key])
			have.since = millis(list[i].Since)
			p.jobs[key] = have
			delete(p.begun, key)
		}
	}
	if len(p.begun) == 0 {
		p.begun = map[string]bool{} // a map never shrinks
	}
	return err
}

// take returns what is fresh as of now; nothing is fresh afterwards.
func (p *publisher) take() []JobInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []JobInfo
	for key := range p.fresh {
		if j, ok := p.jobs[key]; ok {
			info := p.info(j)
			info.Published, info.ConfigHash = p.wall(), p.hash
			list = append(list, info)
		}
	}
	p.fresh = map[string]bool{} // a map that was large stays so
	return list
}

func (p *publisher) putBack(list []JobInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, info := range list {
		p.fresh[info.StoredAs()] = true
	}
}

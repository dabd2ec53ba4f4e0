// Package presence tells other replicas, through the roster, that this one is alive and which
// jobs it serves. It orders the live replicas for a tick. It deletes what is stored of jobs that none serves any more.
package presence

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

const (
	publishTimeout = 30 * time.Second
	finishTimeout  = 2 * time.Second
)

// A Publisher publishes the jobs that this replica serves: changes at once, and everything
// periodically, since nodes may have lost their memory.
type Publisher struct {
	replica  string
	instance string
	roster   roster.Roster // may be nil
	now      func() time.Time
	retry    time.Duration
	set      jobSet
	removed  removals

	// The other live replicas, and what the engine knows of the past. Set before Run and
	// Finish, and nil before that.
	Live    func() []roster.Replica
	Account func(learned map[string]time.Time) Accounts

	mu      sync.Mutex
	jobs    map[string]posted // by key
	hash    string            // of the whole set
	since   time.Time         // when the set was first served
	pending map[string]bool   // keys of jobs that are not published yet
	begun   map[string]bool   // keys of versions that other replicas may have served before
	behind  bool              // other replicas may have accounted for ticks before this one came
	more    chan struct{}     // holds one element after a change
}

// New returns a Publisher for the replica, which is one process under that ID. Without a roster it
// publishes nothing; it tries again after the pause retry.
func New(replica, instance string, to roster.Roster, sets roster.JobSets, now func() time.Time, retry time.Duration) *Publisher {
	return &Publisher{
		replica: replica, instance: instance, roster: to, now: now, retry: retry, set: jobSet{store: sets},
		removed: removals{replica: replica, roster: to, sets: sets, gone: map[string]removed{}},
		pending: map[string]bool{}, begun: map[string]bool{}, more: make(chan struct{}, 1),
	}
}

// Serve sets the jobs that this replica serves, with their hashes. Without a roster it
// stores nothing to be published.
func (p *Publisher) Serve(list []*job.Job) {
	hash, read := job.SetHash(list), p.now()
	now := unixMillis(read)
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.jobs
	if p.hash != hash {
		p.since = read
	}
	p.set.serve(hash, list)
	if p.roster != nil {
		p.removed.replace(before, list, hash, now)
	}
	p.jobs, p.hash = make(map[string]posted, len(list)), hash
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
	p.Wake()
}

// compare marks what is new of a job.
func (p *Publisher) compare(have, post posted) {
	if have.Job == nil || have.Hash != post.Hash {
		p.begun[post.Key] = true
	}
	if have.Job == nil || !reflect.DeepEqual(have.info(p.replica), post.info(p.replica)) {
		p.pending[post.Key] = true
	}
}

// Serves reports whether this replica serves the job with the key.
func (p *Publisher) Serves(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.jobs[key]
	return ok
}

// Job returns the job with the key, nil if this replica does not serve it.
func (p *Publisher) Job(key string) *job.Job {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.jobs[key].Job
}

// Serving is the set of jobs that a replica serves, since when, and their number.
type Serving struct {
	Hash  string
	Since time.Time
	Jobs  int
}

// Serving returns what this replica serves now.
func (p *Publisher) Serving() Serving {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Serving{p.hash, p.since, len(p.jobs)}
}

// Set describes the jobs that this replica serves now.
func (p *Publisher) Set() roster.JobSet {
	p.set.mu.Lock()
	list := p.set.list
	p.set.mu.Unlock()
	return roster.JobSet{Count: len(list), Jobs: slices.Collect(Texts(list))}
}

// Run publishes until ctx ends.
func (p *Publisher) Run(ctx context.Context) {
	if p.roster == nil {
		return
	}
	all := time.NewTicker(served.PublishEvery)
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
func (p *Publisher) publishAll(ctx context.Context) bool {
	published := p.publish(ctx)
	kept := p.set.publish(ctx)
	return p.removed.publish(ctx, p.others()) && kept && published
}

// renew marks everything for publication.
func (p *Publisher) renew() {
	p.set.renew()
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.jobs {
		p.pending[key] = true
	}
}

// publish publishes marked jobs, and reports whether that worked.
func (p *Publisher) publish(ctx context.Context) bool {
	list := p.take()
	if len(list) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	versions, err := p.known(ctx)
	accounted := false
	if err == nil {
		p.learn(list, versions)
		accounted = p.addAccounts(list, versions)
		err = p.roster.Publish(ctx, list)
	}
	if err != nil || !accounted { // Wake brings the accounts
		p.putBack(list)
	}
	return err == nil
}

// Wake publishes what is marked: after a change, or when there are accounts for the first time.
func (p *Publisher) Wake() {
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// known reads the published versions, if this replica has anything to learn from them.
func (p *Publisher) known(ctx context.Context) (map[string][]roster.JobInfo, error) {
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
	return served.ByKey(known), nil
}

// learn finds since when versions are served that this replica has begun to serve.
func (p *Publisher) learn(list []roster.JobInfo, versions map[string][]roster.JobInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, info := range list {
		key := info.StoredAs()
		if have, ok := p.jobs[key]; ok && have.Hash == info.Hash && p.begun[key] {
			list[i].Since = served.BeganToServe(info, versions[key])
			have.since = unixMillis(list[i].Since)
			p.jobs[key] = have
			delete(p.begun, key)
		}
	}
	if len(p.begun) == 0 {
		p.begun = map[string]bool{} // a map never shrinks
	}
}

// Accounts are the accounts of the jobs on one replica. They need not be exact: a replica
// that reads the past looks further back if they lag.
type Accounts struct {
	First  time.Time            // when the replica first could run ticks; zero: it never could
	Until  map[string]time.Time // by key; without jobs whose past it does not know
	Behind bool                 // there are such jobs that it may run
}

// addAccounts adds the accounts to the list, if this replica could run ticks yet: false. versions
// are the published ones, none if they were not read.
func (p *Publisher) addAccounts(list []roster.JobInfo, versions map[string][]roster.JobInfo) bool {
	var now Accounts
	if p.Account != nil {
		learned := make(map[string]time.Time, len(versions))
		for _, info := range list {
			if of := versions[info.StoredAs()]; len(of) > 0 {
				learned[info.StoredAs()] = served.AccountOf(of).Until
			}
		}
		now = p.Account(learned)
		p.mu.Lock()
		p.behind = now.Behind
		p.mu.Unlock()
	}
	if now.First.IsZero() {
		return false
	}
	for i, info := range list {
		list[i].Account = roster.Account{First: served.Later(info.Since, now.First), Until: now.Until[info.StoredAs()]}
	}
	return true
}

// take returns the marked jobs and removes the marks.
func (p *Publisher) take() []roster.JobInfo {
	now := p.now() // before the lock: simulated replicas wait for their clock while they are frozen
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []roster.JobInfo
	for key := range p.pending {
		if j, ok := p.jobs[key]; ok {
			info := j.info(p.replica)
			info.Published, info.ConfigHash = now, p.hash
			list = append(list, info)
		}
	}
	p.pending = map[string]bool{} // a large map stays large
	return list
}

func (p *Publisher) putBack(list []roster.JobInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, info := range list {
		p.pending[info.StoredAs()] = true
	}
}

// others returns the other live replicas.
func (p *Publisher) others() []roster.Replica {
	if p.Live == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Live()), p.isSelf)
}

// Finish publishes everything once more after this replica has drained and left the roster,
// so later replicas need not look further back. It does not wait long.
func (p *Publisher) Finish(ctx context.Context) {
	if p.roster == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	left, err := p.roster.Replicas(ctx)
	left = slices.DeleteFunc(left, func(r roster.Replica) bool { return !p.isPeer(r) })
	var stopped time.Time
	if err == nil && len(left) == 0 {
		stopped = p.now()
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
		p.Serve(nil)
	}
	p.removed.publish(ctx, left)
}

// isPeer reports whether another replica is alive and does not drain.
func (p *Publisher) isPeer(r roster.Replica) bool {
	return !p.isSelf(r) && r.State != roster.StateDraining
}

func (p *Publisher) isSelf(r roster.Replica) bool {
	return r.ID == p.replica && r.Instance == p.instance
}

// A posted job is one that this replica serves, and since when. It is encoded when it is
// published.
type posted struct {
	*job.Job
	since int64 // Unix milliseconds; 0: unknown
}

// info is the published form of a job that the replica serves.
func (j posted) info(replica string) roster.JobInfo {
	return roster.JobInfo{
		Name: j.Name, Key: j.RenamedFrom(), Hash: j.Hash, Func: j.Func, Schedule: j.Spec, Timezone: j.Timezone,
		Description: j.Description, Tags: j.Tags, Paused: j.Paused, Definition: definition(j.Schedule), Jitter: j.Jitter, Params: j.PublishedParams(),
		Replica: replica, Since: fromUnixMillis(j.since),
	}
}

// definition is the published form of the job's schedule.
func definition(s schedule.Schedule) string {
	text, err := schedule.Definition(s)
	if err != nil || len(text) > roster.MaxDefinition {
		return ""
	}
	return text
}

// Passing reports whether a call of a store may succeed soon: it was not answered, or the
// store refuses, which may be corrected at any time.
func Passing(err error) bool {
	return errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, locking.ErrRefused) || errors.Is(err, context.DeadlineExceeded)
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

// A jobSet is the set of jobs that this replica serves, as a whole.
type jobSet struct {
	store roster.JobSets // may be nil

	mu      sync.Mutex
	hash    string
	list    []*job.Job
	pending bool // it is not published yet
}

func (s *jobSet) serve(hash string, list []*job.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = s.pending || s.hash != hash
	s.hash, s.list = hash, list
}

// renew marks the set for publication.
func (s *jobSet) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = true
}

// publish stores the set, and reports whether that worked. One of the replicas that serve it
// writes it; the others renew it.
func (s *jobSet) publish(ctx context.Context) bool {
	s.mu.Lock()
	hash, list, pending := s.hash, s.list, s.pending && s.store != nil
	s.pending = false
	s.mu.Unlock()
	if !pending {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	kept, err := s.store.RenewSet(ctx, hash)
	if err == nil && !kept {
		packed, unwritten := roster.PackJobs(len(list), Texts(list))
		if unwritten != nil {
			return true // settings that have no written form: to try again would not help
		}
		err = s.store.KeepSet(ctx, hash, packed)
	}
	if err != nil {
		s.renew()
	}
	return err == nil
}

// Texts describes the jobs, in the order of their keys.
func Texts(list []*job.Job) iter.Seq[roster.JobText] {
	sorted := slices.SortedFunc(slices.Values(list), func(x, y *job.Job) int { return strings.Compare(x.Key, y.Key) })
	return func(yield func(roster.JobText) bool) {
		for _, j := range sorted {
			if !yield(roster.JobText{Name: j.Name, Key: j.Key, Hash: j.Hash, Code: j.Code, Settings: j.ShownSettings()}) {
				return
			}
		}
	}
}

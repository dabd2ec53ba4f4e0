package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// requests are what people asked for, as the desk last read it.
type requests struct {
	replica  string
	desk     *desk
	jobs     *jobTable
	dispatch *dispatcher

	started  map[string]bool // by this replica
	settling map[string]bool // expired requests
}

// apply applies open requests that are new here.
func (r *requests) apply(open commands.Open) {
	seen := map[string]bool{}
	for _, command := range open.Requests {
		seen[command.ID] = true
		if !r.started[command.ID] {
			r.started[command.ID] = r.start(command)
		}
	}
	for _, command := range open.Expired {
		seen[command.ID] = true
		if !r.settling[command.ID] {
			r.settling[command.ID] = true
			r.desk.add(r.settlementOf(command))
		}
	}
	some, more := forget(r.started, seen), forget(r.settling, seen)
	if some || more {
		r.withdraw(seen)
	}
}

// withdraw drops ticks of requests that are no longer open: they were done or withdrawn.
func (r *requests) withdraw(seen map[string]bool) {
	gone := func(t job.Tick) bool { return t.Command != nil && !seen[t.Command.ID] }
	for _, j := range r.jobs.list {
		for _, q := range j.queues {
			q.ticks = slices.DeleteFunc(q.ticks, gone)
			if a := q.claiming; a != nil && gone(a.Tick) {
				a.StopWaiting(errWithdrawn)
			}
		}
	}
	r.desk.forget(seen)
}

// errWithdrawn ends the waiting of a tick whose request was withdrawn.
var errWithdrawn = errors.New("the request is open no more")

// forget drops what was not seen, and reports whether there was any.
func forget[V any](ids map[string]V, seen map[string]bool) bool {
	before := len(ids)
	maps.DeleteFunc(ids, func(id string, _ V) bool { return !seen[id] })
	return len(ids) < before
}

// start starts a request. It returns false if this replica cannot, or not yet.
func (r *requests) start(command commands.Command) bool {
	if command.Kind == commands.Cancel {
		return r.cancelRun(command)
	}
	j := r.jobs.keyed(command.Job)
	if j == nil {
		return false
	}
	s := r.settlementOf(command)
	if s.text != "" {
		r.desk.add(s)
		return true
	}
	for _, t := range s.ticks {
		r.dispatch.offer(j, t)
	}
	return true
}

// cancelRun ends the context of the run if it is on this replica.
func (r *requests) cancelRun(command commands.Command) bool {
	for _, j := range r.jobs.all() {
		for _, run := range j.running {
			if run.Tick.Entry(run.Job, "").ID() != command.Run {
				continue
			}
			run.Cancel(&attempt.StopError{Reason: ledger.Reason{Code: ledger.CodeCancelled, Details: &ledger.Details{By: job.OrAnotherReplica(command.By), Text: command.Reason}}})
			r.desk.add(settlement{command: command, text: "cancelled on replica " + r.replica})
			return true
		}
	}
	return false
}

// settlementOf returns the request with its ticks.
func (r *requests) settlementOf(command commands.Command) settlement {
	s := settlement{command: command}
	switch command.Kind {
	case commands.Trigger:
		s.ticks = []job.Tick{tickFor(command, commands.StreamManual, command.At, command.At, command.Trigger)}
	case commands.Backfill:
		j := r.jobs.keyed(command.Job)
		if j == nil {
			break // a replica with the job settles it, or it expires
		}
		for i, at := range command.Backfill(j.Schedule) {
			s.ticks = append(s.ticks, tickFor(command, commands.StreamBackfill, command.At.Add(time.Duration(i)*time.Millisecond), at, ledger.ByBackfill))
		}
		switch n := len(s.ticks); {
		case n == 0:
			s.text = "nothing to do: the schedule has no ticks in that range"
		case n > commands.MaxBackfill:
			s.text = fmt.Sprintf("refused: the range has more than %d ticks; ask for parts of it", commands.MaxBackfill)
		}
	case commands.Cancel:
		s.text = "the run had ended, or its replica had died"
	}
	return s
}

// tickFor is a tick of the command.
func tickFor(a commands.Command, stream string, at, nominal time.Time, trigger ledger.Trigger) job.Tick {
	return job.Tick{
		Stream: stream, At: at, Nominal: nominal, Start: at, Until: a.Expires(), Trigger: trigger, Command: &a,
	}
}

// ended queues the settlement of a request after an attempt for its last tick.
func (r *requests) ended(t *ticket, superseded bool) {
	command := t.Tick.Command
	if command == nil {
		return
	}
	s := r.settlementOf(*command)
	if n := len(s.ticks); n == 0 || !s.ticks[n-1].At.Equal(t.Tick.At) {
		return
	}
	if superseded {
		s.why = ledger.Reason{Code: ledger.CodeSuperseded, Variant: ledger.VariantRequest}
	}
	r.desk.add(s)
}

const (
	deskTimeout = 5 * time.Second  // for one reading of the commands, or one settlement
	settleEvery = 30 * time.Second // between two tries to settle a request
	closingTime = 2 * time.Second  // for settlements at the end of Run
)

// A desk reads open requests periodically, passes them to the loop, and stores their
// results. It has its own goroutine.
type desk struct {
	cfg    Config
	clock  clocks
	opened chan commands.Open
	done   <-chan struct{} // closed when the loop has ended

	mu   sync.Mutex
	todo map[string]*settlement // by the id of the command
	more chan struct{}          // holds one element after something was added
}

func newDesk(s *Scheduler) *desk {
	return &desk{
		cfg: s.cfg, clock: s.clock, done: s.done, opened: make(chan commands.Open),
		todo: map[string]*settlement{}, more: make(chan struct{}, 1),
	}
}

// run works until the loop has ended, and then settles what it can.
func (d *desk) run(ctx context.Context) {
	if d.cfg.Commands == nil {
		return
	}
	for d.read(ctx) {
		d.settle(ctx)
		d.wait()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	d.settle(ctx)
}

// read passes the commands to the loop. It returns false when that has ended. Without an answer
// the loop keeps the commands that it has.
func (d *desk) read(ctx context.Context) bool {
	select {
	case <-d.done:
		return false
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, deskTimeout)
	defer cancel()
	open, err := d.cfg.Commands.Open(ctx)
	if err != nil {
		return true
	}
	select {
	case d.opened <- open:
		return true
	case <-d.done:
		return false
	}
}

// wait waits about CommandsEvery, at random, so replicas do not all ask at once, or until there
// is something to settle. The default keeps it below two seconds, which the commands promise.
func (d *desk) wait() {
	every := d.cfg.CommandsEvery
	timer := time.NewTimer(every - every/8 + rand.N(every/4))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.more:
	case <-d.done:
	}
}

// add queues a settlement. Any goroutine may call it.
func (d *desk) add(s settlement) {
	d.mu.Lock()
	if have := d.todo[s.command.ID]; have != nil && s.why.IsZero() {
		s.why = have.why
	}
	d.todo[s.command.ID] = &s
	d.mu.Unlock()
	select {
	case d.more <- struct{}{}:
	default:
	}
}

// forget drops settlements of requests that are no longer open.
func (d *desk) forget(open map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	forget(d.todo, open)
}

func (d *desk) settle(ctx context.Context) {
	for _, s := range d.due() {
		d.try(ctx, s)
	}
}

// due returns the settlements to try now, and postpones each.
func (d *desk) due() []*settlement {
	d.mu.Lock()
	defer d.mu.Unlock()
	var due []*settlement
	now := d.clock.wall()
	for _, s := range d.todo {
		if !s.next.After(now) {
			s.next = now.Add(settleEvery/2 + rand.N(settleEvery))
			due = append(due, s)
		}
	}
	return due
}

func (d *desk) try(ctx context.Context, s *settlement) {
	ctx, cancel := context.WithTimeout(ctx, deskTimeout)
	defer cancel()
	result, err := s.result(ctx, d.cfg, d.clock.wall())
	if err != nil || result == "" || d.cfg.Commands.Close(ctx, s.command.ID, result) != nil {
		return // later
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.todo[s.command.ID] == s {
		delete(d.todo, s.command.ID)
	}
}

// A settlement is a request and its ticks, until the audit log has the result. The result
// comes from the ledger, so every replica that handled the request may settle it; the first
// one does.
type settlement struct {
	command commands.Command
	ticks   []job.Tick
	text    string        // the result, if known without the ledger
	why     ledger.Reason // why ticks without an entry will not run
	next    time.Time
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
	if !now.Before(s.command.Expires()) {
		why = cmp.Or(why, expired)
	}
	var all []ledger.Entry
	for _, t := range s.ticks {
		e, ok := known[t.At.UnixMilli()]
		switch {
		case ok && (e.Outcome == ledger.Running || e.HandedOver()), !ok && why.IsZero():
			return "", nil
		case !ok:
			e = t.Entry(&job.Job{Job: jobs.Job{Name: s.command.Job}}, cfg.Replica)
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
		Job: s.command.Job, Before: last.At.Add(time.Millisecond), Limit: len(s.ticks) + others,
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

// skipPaused decides a tick of a paused job, and reports whether the job is paused.
// Requests run all the same.
func (d *dispatcher) skipPaused(j *jobState, t job.Tick) bool {
	if t.Command != nil {
		return false
	}
	pauses, tick := d.pauses, t.Nominal
	if t.Trigger == ledger.ByRerun { // its run has begun, so it continues when the pause has ended, by either clock
		pauses, tick = commands.Open{Pauses: pauses.Pauses}, d.now()
	}
	why := j.PausedFor(pauses, tick)
	if why.IsZero() {
		return false
	}
	if t.Trigger != ledger.ByRerun { // the ledger has its run, and seekRerun offers it again
		d.rec.Decided(j.Job, t, job.Because(ledger.Skipped, why))
	}
	return true
}

// pauseChanged handles a change of the pauses or of the job's definition; before: the job
// was paused.
func (e *engine) pauseChanged(j *jobState, before bool) {
	if before && j.PausedFor(e.dispatch.pauses, time.Time{}).IsZero() {
		e.pasts.seekRerun(j, e.clock.wall())
		return
	}
	e.dispatch.stopPaused(j)
}

// stopPaused decides the job's waiting ticks if it is paused: queued ones at once, and
// those that attempts claim. Runs continue, with their tries.
func (d *dispatcher) stopPaused(j *jobState) {
	if !slices.ContainsFunc(j.queues, func(q *tickQueue) bool { return q.claiming != nil || len(q.ticks) > 0 }) {
		return
	}
	why := j.PausedFor(d.pauses, time.Time{})
	if why.IsZero() {
		return
	}
	for _, q := range j.queues {
		d.prune(j, q)
		if a := q.claiming; a != nil && a.Tick.Command == nil {
			a.StopWaiting(&attempt.PausedError{Reason: why})
		}
	}
}

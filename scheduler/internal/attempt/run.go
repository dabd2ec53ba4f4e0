package attempt

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/presence"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Run is a tick that this replica has won. Nothing in it changes after the loop has
// learned of it, except in its log and its pulse, which any goroutine may read.
type Run struct {
	deps       *Deps
	assignment *Assignment
	lease      locking.Lease
	Claim      locking.Claim // what was granted
	Trigger    ledger.Trigger
	CaughtUp   bool
	Started    time.Time // zero until the loop learns of it

	log   runLog // what the function logs
	pulse pulse  // how the lease was extended
}

// entry is the ledger's entry of the run, with its claim and the extensions of its lease.
func (r *Run) entry(o ledger.Outcome) ledger.Entry {
	e := r.deps.entry(r.assignment, r.Trigger, o, r.Started)
	e.Token, e.Attempt, e.Votes, e.Poll = r.Claim.Token, r.Claim.Attempt, r.Claim.Votes, r.Claim.Poll
	e.Beats = r.pulse.beats.Load()
	return e
}

// An execution is how a run is carried out, in the attempt's goroutine. The function's
// goroutine, and the one that watches it, use it until the function has returned.
type execution struct {
	attempt *attempt // the one that has won the run
	run     *Run
	slot    locking.Lease   // of the job's group; nil if it has none, and once it is free again
	keeper  *locking.Keeper // of lease and slot; nil until the function is about to be called
	spent   int             // failed calls of attempts that handed the tick over
	end     ending          // valid at any time, since the function may end its goroutine
	tx      transaction     // of the function, that ends the run

	lostOnce sync.Once
	refused  refusals // of the run's writes, from any goroutine
}

// carryOut runs the job under the claim that was won, and ends the claim.
func (a *attempt) carryOut(lease locking.Lease, took time.Duration) {
	// 1. Wait for a slot of the job's group.
	run := &Run{
		deps: a.deps, assignment: a.assignment, lease: lease, Claim: lease.Claim(), Trigger: a.window.trigger(), CaughtUp: a.window.caughtUp,
	}
	slot, ok := a.takeSlot(run)
	x := &execution{attempt: a, run: run, slot: slot}
	defer x.freeSlot()
	// 2. Give the claim back if the tick does not run after all.
	if paused := a.assignment.PauseVerdict(); ok && paused.Kind == job.Settled {
		ok = a.window.stop(paused)
	}
	if !ok {
		a.deps.void(lease)
		a.conclude(a.window.verdict)
		return
	}
	// 3. Begin the run.
	run.Started = a.deps.engine.Now()
	a.loop.Report(Progress{Phase: Won, Run: run})
	run.notify(event.Event{Kind: event.Claimed, Took: took})
	defer x.finish() // also when the function ends its goroutine
	// 4. Call the function, if there is time for it: the ledger, or a pause of the process,
	// may have taken long.
	x.takeOver()
	if x.inTime() {
		run.notifyStarted()
		keeping := run.keeping()
		keeping.MaxHold = a.deps.cfg.MaxHold
		x.keeper = locking.Keep(a.assignment.runCtx, x.tenure(), keeping)
		x.calls()
	}
}

// keeping is how leases are kept, without the bound for runs.
func (r *Run) keeping() locking.KeepConfig {
	cfg := &r.deps.cfg
	return locking.KeepConfig{
		Every: cfg.ExtendEvery, Margin: cfg.SafetyMargin, TTL: cfg.TTL,
		Extended: func(e locking.Extension) {
			r.pulse.add(e, r.deps.engine.Now())
			r.notify(event.Event{Kind: event.Extended, Deadline: e.Deadline, Left: e.Left, Took: e.Took, Err: e.Err})
		},
	}
}

// inTime reports whether there is time left for the function if the lease is not extended.
func (x *execution) inTime() bool {
	return !locking.Expired(time.Now(), x.tenure().Deadline().Add(-x.run.deps.cfg.SafetyMargin))
}

// cause is why ctx, of the run or of a call, has ended; nil if it has not. It also notices
// an expired lease before ctx does: the process may have been stopped.
func (x *execution) cause(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if cause := context.Cause(x.keeper.Context()); cause != nil {
		return cause
	}
	if !x.inTime() {
		return locking.ErrLeaseLost
	}
	return nil
}

// notify sends an event of the run during the run.
func (r *Run) notify(e event.Event) { r.notifyOf(r.entry(ledger.Running), e) }

// notifyOf sends an event of the run that entry describes.
func (r *Run) notifyOf(entry ledger.Entry, e event.Event) {
	e.Entry, e.Run = entry.Named(r.assignment.Job.Name), entry.ID()
	r.deps.cfg.Observer(e)
}

// notifyStarted sends event.Started, and event.Late if the run starts too late. Requested
// ticks of the past are not late.
func (r *Run) notifyStarted() {
	by := r.Started.Sub(r.assignment.Tick.Start)
	r.notify(event.Event{Kind: event.Started, By: by})
	if r.assignment.Job.LateAfter > 0 && by > r.assignment.Job.LateAfter && r.assignment.Tick.Trigger != ledger.ByBackfill {
		r.notify(event.Event{Kind: event.Late, By: by})
	}
}

// notifyLost sends event.LeaseLost once, if that is the cause.
func (x *execution) notifyLost(cause error) {
	if errors.Is(cause, locking.ErrLeaseLost) {
		x.lostOnce.Do(func() { x.run.notify(event.Event{Kind: event.LeaseLost, Err: cause}) })
	}
}

// maxBeats bounds how many extensions of a run are stored. It may last for days.
const maxBeats = 16

// A pulse collects beats. It has one writer at a time and any number of readers, which must
// not change them.
type pulse struct{ beats atomic.Pointer[ledger.Beats] }

// add adds an extension that ended now.
func (p *pulse) add(x locking.Extension, now time.Time) {
	b := ledger.Beat{At: now.Add(-x.Took), Left: x.Left, Took: x.Took, Failed: x.Err != nil, Answers: x.Poll.Answers}
	all := ledger.Beats{Least: b}
	if before := p.beats.Load(); before != nil {
		all = *before
	}
	all.Count++
	if b.Left < all.Least.Left {
		all.Least = b
	}
	if b.Failed {
		err := x.Err
		if lost, ok := errors.AsType[*slotError](err); ok {
			err = lost // the joined text names it after the job's
		}
		all.Failed++
		all.Lapse, all.Why = b, err.Error()
	}
	keep := all.Last[max(0, len(all.Last)+1-maxBeats):]
	all.Last = append(slices.Clip(keep), b)
	p.beats.Store(&all)
}

// A runLog keeps the end of a run's log. The zero value is ready to use. Functions that
// outlive their run may still write to it.
type runLog struct {
	mu   sync.Mutex
	text []byte
	cut  int
}

// Write takes a line.
func (l *runLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, line...)
	if len(l.text) > 2*ledger.MaxLog { // rarely, so a flood is not copied line by line
		l.trim()
	}
	return len(line), nil
}

// trim drops the beginning, in whole lines if the end is not all one line, else in whole
// letters.
func (l *runLog) trim() {
	over := len(l.text) - ledger.MaxLog
	if over <= 0 {
		return
	}
	if end := bytes.IndexByte(l.text[over-1:], '\n'); end >= 0 && over+end < len(l.text) {
		over += end
	}
	for n := 1; n < utf8.UTFMax && !utf8.RuneStart(l.text[over]); n++ { // half a letter
		over++
	}
	l.cut += over
	l.text = append(l.text[:0], l.text[over:]...)
}

// written is the number of bytes ever written.
func (l *runLog) written() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut + len(l.text)
}

// end returns the kept text, and how many bytes were dropped before it.
func (l *runLog) end() (text string, cut int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trim()
	return strings.ToValidUTF8(string(l.text), "\uFFFD"), l.cut
}

// handler returns a handler that writes lines to base and, from level info, to the log. The
// log leaves out base's attributes: they are the run's.
func (l *runLog) handler(base *slog.Logger) slog.Handler {
	kept := slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: shortTime})
	return teeHandler{base.Handler(), kept}
}

// shortTime writes the time of a line in UTC, to the millisecond.
func shortTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
		a.Value = slog.StringValue(a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return a
}

// A teeHandler writes each line to both handlers, if their levels allow.
type teeHandler struct{ base, kept slog.Handler }

func (h teeHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.base.Enabled(ctx, level) || h.kept.Enabled(ctx, level)
}

func (h teeHandler) Handle(ctx context.Context, r slog.Record) error {
	var errs []error
	for _, to := range []slog.Handler{h.base, h.kept} {
		if to.Enabled(ctx, r.Level) {
			errs = append(errs, to.Handle(ctx, r.Clone()))
		}
	}
	return errors.Join(errs...)
}

func (h teeHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return teeHandler{h.base.WithAttrs(attrs), h.kept.WithAttrs(attrs)}
}

func (h teeHandler) WithGroup(name string) slog.Handler {
	return teeHandler{h.base.WithGroup(name), h.kept.WithGroup(name)}
}

// archiveTimeout bounds storing the log of a run, and dropping old logs.
const archiveTimeout = 2 * time.Second

// archive stores the run's log. It is best effort within archiveTimeout: the run has ended.
func (r *Run) archive(e ledger.Entry) {
	text, cut := r.log.end()
	if r.deps.cfg.Archive == nil || text == "" && !r.assignment.Job.History.Bounded() {
		return
	}
	var logs []ledger.Log
	if text != "" {
		logs = []ledger.Log{{Job: e.Job, Tick: e.OrderKey(), Token: e.Token, Text: text, Cut: cut}}
	}
	ctx, cancel := context.WithTimeout(r.deps.stops.Releases, archiveTimeout)
	defer cancel()
	err := r.deps.cfg.Archive.Store(ctx, e.Job, r.assignment.Job.History, logs...)
	for presence.Passing(err) && retry.Sleep(ctx, endPause) {
		err = r.deps.cfg.Archive.Store(ctx, e.Job, r.assignment.Job.History, logs...)
	}
	if err != nil {
		r.notifyOf(e, event.Event{Kind: event.NotArchived, Err: err})
	}
}

// logEvery is how often the log of a long run is stored, if it has grown: for readers at
// other replicas, and in case the replica dies.
const logEvery = 5 * time.Second

// storeLog stores the log of a run if it has grown, and returns its stored length. If that
// fails, it is stored later.
func (r *Run) storeLog(ctx context.Context, stored int) int {
	written := r.log.written()
	if written == stored {
		return stored
	}
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	log := r.LogSoFar()
	if r.deps.cfg.Archive.Store(ctx, log.Job, r.assignment.Job.History, log) != nil {
		return stored
	}
	return written
}

// LogSoFar is the run's entry and its log until now.
func (r *Run) LogSoFar() ledger.Log {
	e := r.entry(ledger.Running)
	text, cut := r.log.end()
	return ledger.Log{Job: e.Job, Tick: e.OrderKey(), Token: e.Token, Text: text, Cut: cut, At: r.deps.engine.Now(), Run: e}
}

package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Run is one attempt at a tick.
type Run struct {
	ID          *string         `json:"id" jsonschema:"ID of the run; null if it did not run."`
	Job         string          `json:"job" jsonschema:"Name of the job."`
	Tick        string          `json:"tick" jsonschema:"Nominal time."`
	Token       *locking.Token  `json:"token" jsonschema:"Fencing token of the claim."`
	Attempt     *int            `json:"attempt" jsonschema:"From 1: the n-th run of the tick."`
	Calls       *int            `json:"tries" jsonschema:"Calls of the function in this attempt."`
	Trigger     *ledger.Trigger `json:"trigger" jsonschema:"Cause of the run."`
	Parent      *string         `json:"parent" jsonschema:"ID of the run that triggered it."`
	Replica     *string         `json:"replica" jsonschema:"Replica that ran or recorded it."`
	Outcome     ledger.Outcome  `json:"outcome"`
	Reason      *string         `json:"reason" jsonschema:"Why it did not run, or how it ended, in words."`
	Code        *ledger.Code    `json:"reason_code" jsonschema:"The same as a code."`
	Started     *string         `json:"started"`
	Finished    *string         `json:"finished"`
	Error       *string         `json:"error" jsonschema:"Error or stack of the function."`
	Hash        *string         `json:"hash" jsonschema:"Version of the job."`
	StaleWrites int             `json:"stale_writes" jsonschema:"Writes that a guard refused; for a tick, of all attempts."`
	// InterruptedOn is about an earlier attempt, in listings of ticks.
	InterruptedOn *string `json:"interrupted_on" jsonschema:"Of a tick that ran again: replica of the last attempt that lost its replica or its lease."`

	Poll  *Poll  `json:"poll" jsonschema:"Answers of the nodes to the claim; null if unknown. A running run has them once it has logged something."`
	Beats *Beats `json:"beats" jsonschema:"Extensions of the lease; null if there are none, or unknown."`
}

// A Tick is one tick: the fields of its run, and the votes of its claim, such as "3/3".
type Tick struct {
	Run
	Votes         *string `json:"votes" jsonschema:"How many nodes granted the claim, of those whose answer was awaited, such as 3/3 or 3/4: a quorum ends the vote. One number if the answers are unknown. poll has all."`
	Interruptions int     `json:"interruptions" jsonschema:"Earlier attempts that lost their replica or their lease, so the tick ran again."`

	Page     string `json:"-"` // ID of its page, also of a tick that did not run
	Recorded bool   `json:"recorded" jsonschema:"false: computed from the schedule, since no replica recorded it."`
}

// NewRun returns an entry of the ledger as a run.
func NewRun(e ledger.Entry) Run {
	row := Run{
		Job: e.Job, Tick: Text(Stamp(e.Tick)), Token: Optional(e.Token), Attempt: Optional(e.Attempt),
		Calls: Optional(e.Calls), Trigger: Optional(e.Trigger), Parent: Optional(e.Parent), Replica: Optional(e.Replica),
		Outcome: e.Outcome, Reason: Optional(e.Reason.String()), Code: Optional(e.Reason.Code), Started: Stamp(e.Started),
		Finished: Stamp(e.Finished), Error: Optional(e.Error), Hash: Optional(e.Hash),
		StaleWrites: e.StaleWrites, InterruptedOn: Optional(e.InterruptedOn), Poll: newPoll(e.Poll), Beats: NewBeats(e.Beats),
	}
	if e.Token != 0 {
		row.ID = Optional(e.ID())
	}
	return row
}

// Ran is that of the entry.
func (r Run) Ran() bool {
	e := ledger.Entry{Outcome: r.Outcome}
	if r.Token != nil {
		e.Token = *r.Token
	}
	return e.Ran()
}

// NewTick returns an entry of the ledger as a tick.
func NewTick(e ledger.Entry) Tick {
	row := Tick{Run: NewRun(e), Votes: Optional(Votes(e)), Interruptions: e.Interruptions, Page: e.ID(), Recorded: !e.Computed}
	if e.Computed {
		row.Reason = Optional(Text(row.Reason) + " (computed, not recorded)")
	}
	return row
}

// Votes says how many nodes granted the claim, of those whose answer was awaited: a round
// ends with a quorum. Without each node's answer it says only how many granted it.
func Votes(e ledger.Entry) string {
	of := awaited(e.Poll)
	switch {
	case e.Votes.Of == 0:
		return ""
	case of == 0 && e.Votes.For < e.Votes.Of:
		return strconv.Itoa(e.Votes.For)
	case of == 0:
		of = e.Votes.Of
	}
	return fmt.Sprintf("%d/%d", e.Votes.For, of)
}

// Took is how long the run took, or has been running; false if unknown.
func (r Run) Took(now time.Time) (time.Duration, bool) {
	switch {
	case r.Started == nil:
		return 0, false
	case r.Finished != nil:
		return Time(r.Finished).Sub(Time(r.Started)), true
	case r.Outcome != ledger.Running:
		return 0, false // its end is unknown
	}
	return now.Sub(Time(r.Started)), true
}

// A Poll has each node's answer to the claim of a run.
type Poll struct {
	Rounds *int         `json:"rounds" jsonschema:"Rounds of requests that the claim took."`
	Nodes  []NodeAnswer `json:"nodes" jsonschema:"Answers in the order of the configuration."`
	Errors *string      `json:"said" jsonschema:"Why nodes did not grant it, in words."`
}

// A NodeAnswer is one node's answer.
type NodeAnswer struct {
	Node   *string `json:"node" jsonschema:"Name of the node; null if the list of nodes has changed since."`
	Answer string  `json:"answer" jsonschema:"granted, not awaited, held, abstained, unreachable or refused."`
}

// Beats are the extensions of the lease of a run.
type Beats struct {
	Count  int     `json:"count" jsonschema:"Number of extensions."`
	Failed int     `json:"failed" jsonschema:"How many failed."`
	Least  Beat    `json:"least" jsonschema:"The one that began with the least time left."`
	Lapse  *Beat   `json:"lapse" jsonschema:"The last one that failed."`
	Why    *string `json:"why" jsonschema:"Why it failed."`
	Last   []Beat  `json:"last" jsonschema:"The last ones, oldest first."`
}

// A Beat is one attempt to extend a lease.
type Beat struct {
	At      string `json:"at"`
	Left    int64  `json:"left_ms" jsonschema:"Time left of the lease when it began."`
	Took    int64  `json:"took_ms" jsonschema:"Duration."`
	Failed  bool   `json:"failed"`
	Granted *int   `json:"granted" jsonschema:"How many nodes granted it; null if unknown."`
	Nodes   *int   `json:"nodes" jsonschema:"Number of nodes whose answer was awaited: a quorum decides; null if unknown."`
	// Refused: a node has answered, and did not grant it. One that is down has not answered.
	Refused bool `json:"-"`
}

// newPoll returns nil if the answers are not known.
func newPoll(p locking.Poll) *Poll {
	if p.Nodes() == 0 {
		return nil
	}
	row := &Poll{Rounds: Optional(int(p.Rounds)), Errors: Optional(p.Errors)}
	for i, a := range p.Answers[:p.Nodes()] {
		row.Nodes = append(row.Nodes, NodeAnswer{Node: Optional(p.Name(i)), Answer: a.String()})
	}
	return row
}

// NewBeats returns the extensions of a lease as listings show them; nil for none.
func NewBeats(b *ledger.Beats) *Beats {
	if b == nil {
		return nil
	}
	row := &Beats{Count: b.Count, Failed: b.Failed, Least: newBeat(b.Least), Why: Optional(b.Why), Last: []Beat{}}
	if b.Failed > 0 {
		row.Lapse = new(newBeat(b.Lapse))
	}
	for _, one := range b.Last {
		row.Last = append(row.Last, newBeat(one))
	}
	return row
}

// awaited counts the nodes whose answer was awaited, 0 if the answers are unknown.
func awaited(p locking.Poll) int {
	n := 0
	for _, a := range p.Answers[:p.Nodes()] {
		if a != locking.NotAwaited {
			n++
		}
	}
	return n
}

func newBeat(b ledger.Beat) Beat {
	row := Beat{At: Text(Stamp(b.At)), Left: b.Left.Milliseconds(), Took: b.Took.Milliseconds(), Failed: b.Failed}
	if n := awaited(locking.Poll{Answers: b.Answers}); n > 0 {
		granted := 0
		for _, a := range b.Answers {
			switch a {
			case locking.Granted:
				granted++
			case locking.NotAwaited, locking.Unreachable, 0: // 0: there is no such node
			default:
				row.Refused = true
			}
		}
		row.Granted, row.Nodes = &granted, &n
	}
	return row
}

// maxAttempts bounds the entries that are read of one tick.
const maxAttempts = 100

// Found is one run, for callers that read it repeatedly.
type Found struct {
	// Attempts of the run, newest first. For a tick that did not run: its entry.
	Attempts []ledger.Entry

	r      Reader
	d      Directory
	q      ledger.Query
	stream string
}

// Find returns the run with an ID; ErrNotFound if the ledger has nothing of it.
func (r Reader) Find(ctx context.Context, id string) (*Found, error) {
	job, rest, _ := strings.Cut(id, "@")
	stamp, stream, ok := splitRunTime(rest)
	if !ok {
		return nil, invalid("%q is not a run ID; write one as listings show it, such as nightly-report@20270101T020000.000Z", id)
	}
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	f := &Found{r: r, d: d, stream: stream, q: ledger.Query{
		Job: d.Key(job), Limit: maxAttempts, Since: stamp, Before: stamp.Add(time.Millisecond),
	}}
	if err := f.Refresh(ctx); err != nil {
		return nil, err
	}
	if len(f.Attempts) == 0 {
		if err := d.Require(f.q.Job); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("run %s %w: its tick was never decided, or the ledger no longer keeps it", id, ErrNotFound)
	}
	return f, nil
}

// Refresh reads the run's attempts again.
func (f *Found) Refresh(ctx context.Context) error {
	list, err := f.r.entries(ctx, f.d, false, f.q)
	if list = f.own(list); err == nil && len(list) == 0 {
		// Whether a tick without an entry was missed depends on the entry before it.
		before := ledger.Query{Job: f.q.Job, Before: f.q.Before, Limit: maxAttempts}
		list, err = f.r.entries(ctx, f.d, true, before)
		list = f.own(list)
	}
	if err == nil && len(list) > 0 {
		f.Attempts = list
	}
	return err
}

// own are the entries of the tick, and of its stream.
func (f *Found) own(list []ledger.Entry) []ledger.Entry {
	return slices.DeleteFunc(list, func(e ledger.Entry) bool { return e.OrderKey().Before(f.q.Since) || e.Stream != f.stream })
}

// LogSoFar returns the log of an attempt that may not have reported its end. Live: this process runs
// it; else the log is from the ledger.
func (f *Found) LogSoFar(ctx context.Context, e ledger.Entry) (log ledger.Log, live bool, err error) {
	if f.r.Live != nil && e.Outcome == ledger.Running {
		if log, ok := f.r.Live(e.Job, e.Token); ok {
			return log, true, nil
		}
	}
	log, err = f.r.Records.Ledger.Log(ctx, f.q.Job, e.OrderKey(), e.Token)
	if errors.Is(err, ledger.ErrNoLog) {
		return ledger.Log{}, false, fmt.Errorf("log of %s %w: the run has logged nothing yet, or the ledger no longer keeps its log", e.ID(), ErrNotFound)
	}
	return log, false, err
}

// splitRunTime splits what follows "JOB@" in a run ID.
func splitRunTime(text string) (at time.Time, stream string, ok bool) {
	const form = "20060102T150405.000Z"
	if len(text) < len(form) {
		return time.Time{}, "", false
	}
	at, err := time.Parse(form, text[:len(form)])
	stream, dot := strings.CutPrefix(text[len(form):], ".")
	return at, stream, err == nil && (dot || stream == "")
}

// A Log is what a run has logged.
type Log struct {
	ID      *string        `json:"id" jsonschema:"ID of the run."`
	Job     string         `json:"job"`
	Tick    string         `json:"tick"`
	Token   *locking.Token `json:"token" jsonschema:"Fencing token of the run."`
	Attempt *int           `json:"attempt"`
	Replica *string        `json:"replica" jsonschema:"Replica that ran it."`
	Outcome ledger.Outcome `json:"outcome"`
	AsOf    *string        `json:"as_of" jsonschema:"When the log of a running run was stored; null: the log is complete."`
	Cut     int            `json:"cut" jsonschema:"How many bytes before text were dropped."`
	Text    string         `json:"text" jsonschema:"The end of the log."`
}

// Log returns the log of one run of the named job. Run is its ID or its tick; attempt selects one
// attempt. Empty and 0 select the last run that has ended. Without a job, run must be an ID, and the
// run may still be running. The error is ErrNotFound if there is no such run or no log.
func (r Reader) Log(ctx context.Context, job, run string, attempt int) (Log, error) {
	if job == "" {
		return r.logOf(ctx, run, attempt)
	}
	d, err := r.Directory(ctx)
	if err != nil {
		return Log{}, err
	}
	key := d.Key(job)
	list, err := r.Records.Ledger.Runs(ctx, ledger.Query{Job: key, Limit: jobs.MaxKeep})
	if err == nil && len(list) == 0 {
		err = d.Require(key)
	}
	if err != nil {
		return Log{}, err
	}
	i := slices.IndexFunc(list, func(e ledger.Entry) bool {
		return isRun(e, run) && (attempt == 0 || e.Attempt == attempt) && (run != "" || e.Outcome != ledger.Running)
	})
	if i < 0 {
		what := fmt.Sprintf("no run of %s has ended", job)
		if run != "" {
			what = fmt.Sprintf("%s has no run %q", job, run)
		}
		if attempt != 0 {
			what += fmt.Sprintf(" as attempt %d", attempt)
		}
		return Log{}, fmt.Errorf("%w: %s; quorate runs %s lists them", ErrNotFound, what, job)
	}
	e := list[i]
	log, err := r.Records.Ledger.Log(ctx, key, e.OrderKey(), e.Token)
	if errors.Is(err, ledger.ErrNoLog) {
		return Log{}, fmt.Errorf("log of %s %w: the run logged nothing, or its log is not stored yet, or no longer kept", e.ID(), ErrNotFound)
	}
	return newLog(d.named(e), log), err
}

// logOf returns the log of the run with an ID, of a running one up to now.
func (r Reader) logOf(ctx context.Context, run string, attempt int) (Log, error) {
	f, err := r.Find(ctx, run)
	if err != nil {
		return Log{}, err
	}
	for _, e := range f.Attempts {
		if e.Ran() && (attempt == 0 || e.Attempt == attempt) {
			log, _, err := f.LogSoFar(ctx, e)
			return newLog(e, log), err
		}
	}
	if attempt == 0 {
		return Log{}, fmt.Errorf("log of %s %w: the tick did not run", run, ErrNotFound)
	}
	return Log{}, fmt.Errorf("log of %s %w: the run has no attempt %d", run, ErrNotFound, attempt)
}

// isRun reports whether text is the ID or the tick of an entry. Empty text matches any.
func isRun(e ledger.Entry, text string) bool {
	_, id, _ := strings.Cut(e.ID(), "@")
	return text == "" || strings.HasSuffix(text, "@"+id) || text == Text(Stamp(e.Tick))
}

// newLog returns a log as a row.
func newLog(e ledger.Entry, log ledger.Log) Log {
	row := NewRun(e)
	return Log{
		ID: row.ID, Job: row.Job, Tick: row.Tick, Token: row.Token, Attempt: row.Attempt, Replica: row.Replica,
		Outcome: row.Outcome, AsOf: Stamp(log.At), Cut: log.Cut, Text: log.Text,
	}
}

package view

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A Service is what people ask of a cluster. A [Control] answers directly, from the store; the
// command line has another one that asks the API of a replica, which calls a Control. Listings
// come in pages: the caller asks for the next one with Page.Next.
type Service interface {
	Reads
	Servers
	History
	Commands
}

// Reads are the current state.
type Reads interface {
	// Jobs lists jobs. If it returns rows and an error, only their pauses are unknown.
	Jobs(ctx context.Context, q JobQuery) (Page[Job], error)
	Locks(ctx context.Context) ([]Lock, error)
	// Pauses lists the pauses in force, oldest first.
	Pauses(ctx context.Context) ([]Command, error)
}

// Servers are the replicas and the nodes.
type Servers interface {
	Replicas(ctx context.Context) ([]Replica, error)
	// Left lists the replicas that left in the last 24 hours.
	Left(ctx context.Context) ([]Replica, error)
	Nodes(ctx context.Context) ([]Node, error)
	// Check judges all nodes, or the only store. It takes longer than Nodes.
	Check(ctx context.Context) (Checkup, error)
}

// History has past and next ticks, and past commands.
type History interface {
	Ticks(ctx context.Context, q EntryQuery) (Page[Tick], error)
	Runs(ctx context.Context, q EntryQuery) (Page[Run], error)
	// Attempts lists the attempts of the run with an ID, newest first.
	Attempts(ctx context.Context, run string) ([]Tick, error)
	// Log returns the log of a run of a job. Without a job, run is its ID. Attempt 0 is the last.
	Log(ctx context.Context, job, run string, attempt int) (Log, error)
	// Next lists the ticks that start after from, of a job, or of all for "".
	Next(ctx context.Context, job string, from time.Time, limit int) ([]Next, error)
	Audit(ctx context.Context, q AuditQuery) (Page[Command], error)
}

// Commands change the cluster. A command names its job by its current or former name.
type Commands interface {
	// Trigger requests one run of a job. The row has the ID of the run.
	Trigger(ctx context.Context, command commands.Command) (Command, error)
	// PauseOrResume pauses or resumes, as the command's kind says; an ID selects the pause to end.
	PauseOrResume(ctx context.Context, command commands.Command, id string) (PauseResult, error)
	Cancel(ctx context.Context, command commands.Command, waiting bool) (Cancelled, error)
	// Backfill requests a backfill and returns its ticks, oldest first; dry only returns them.
	Backfill(ctx context.Context, command commands.Command, dry bool) ([]time.Time, error)
	// Release takes a lock from its holder. Token 0 stands for the only holder. If it returns a
	// lock and an error, only the audit log failed.
	Release(ctx context.Context, command commands.Command, token locking.Token) (Lock, error)
}

var _ Service = Control{}

// A Page is a part of a listing.
type Page[R any] struct {
	Items []R     `json:"items"`
	Next  *string `json:"next" jsonschema:"Cursor of the next page; null if there is none."`
	// Unknown is rare, so programs that do not know it miss nothing.
	Unknown *string `json:"unknown,omitempty" jsonschema:"What is not known about the items: pauses, while the nodes are new or have restarted. Else missing."`
}

// PauseResult is the result of a pause or resume.
type PauseResult struct {
	Command Command `json:"act"`
	Doubt   *string `json:"doubt" jsonschema:"Why the command may be a mistake; null: nothing speaks against it."`
}

// A JobQuery selects jobs. Cursors are names.
type JobQuery struct {
	Limit int    // 0: all
	After string // only later names
	Text  string // that the name, the tags or the description contain
}

// Jobs lists the versions of jobs. It reads the ledger only for the jobs on the page.
func (r Reader) Jobs(ctx context.Context, q JobQuery) (Page[Job], error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return Page[Job]{}, err
	}
	var names []string
	more := false
	for _, v := range d.Versions {
		if v.Name <= q.After || len(names) > 0 && v.Name == names[len(names)-1] || !Matches(v.JobInfo, q.Text) {
			continue
		}
		if more = len(names) == q.Limit && q.Limit > 0; more {
			break
		}
		names = append(names, v.Name)
	}
	if len(names) == 0 {
		return Page[Job]{Items: []Job{}}, nil
	}
	rows, err := r.jobs(ctx, d, names...)
	if err != nil {
		return Page[Job]{}, err
	}
	open, err := r.OpenCommands(ctx)
	markPaused(rows, open)
	p := Page[Job]{Items: rows, Unknown: Optional(open.Unknown)}
	if more {
		p.Next = &names[len(names)-1]
	}
	return p, err
}

// Matches searches the name, tags and description of a job.
func Matches(j roster.JobInfo, text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(append([]string{j.Name, j.Description}, j.Tags...), func(s string) bool {
		return strings.Contains(strings.ToLower(s), text)
	})
}

// Ticks lists ticks, newest first. Ticks of one job, and of each, include computed ones that no
// replica recorded.
func (r Reader) Ticks(ctx context.Context, q EntryQuery) (Page[Tick], error) {
	q.Ticks = true
	return pageOf(ctx, r, q, NewTick)
}

// Runs lists runs, newest first, one row for each attempt.
func (r Reader) Runs(ctx context.Context, q EntryQuery) (Page[Run], error) {
	q.Ticks = false
	return pageOf(ctx, r, q, NewRun)
}

// pageOf reads a page of entries.
func pageOf[R any](ctx context.Context, r Reader, q EntryQuery, row func(ledger.Entry) R) (Page[R], error) {
	if q.After.IsZero() {
		q.After = Until(q.Before)
	}
	var p EntryPage
	var err error
	switch {
	case q.Job != "":
		p, err = r.jobPage(ctx, q)
	case q.Each:
		each := q.filter()
		each.Limit, each.Before = q.Limit, q.Before
		p.Entries, err = r.entriesOfEach(ctx, q.Ticks, each)
	default:
		p, err = r.Recent(ctx, q)
	}
	rows, err := rowsOf(p.Entries, err, row)
	return Page[R]{Items: rows, Next: Optional(p.Next.String())}, err
}

// Attempts lists the attempts of a run, newest first. Nodes' answers that its record lacks are
// those of its log.
func (r Reader) Attempts(ctx context.Context, run string) ([]Tick, error) {
	f, err := r.Find(ctx, run)
	if err != nil {
		return nil, err
	}
	if e := &f.Attempts[0]; e.Votes.Of == 0 && (e.Outcome == ledger.Running || e.Outcome == ledger.Interrupted) {
		if log, _, err := f.LogSoFar(ctx, *e); err == nil { // else unknown
			e.Votes, e.Poll, e.Beats = log.Run.Votes, log.Run.Poll, log.Run.Beats
		}
	}
	return rowsOf(f.Attempts, nil, NewTick)
}

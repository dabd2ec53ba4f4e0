package listing

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// A Log is what a run has logged.
type Log struct {
	ID      *string           `json:"id"`
	Job     string            `json:"job"`
	Tick    string            `json:"tick"`
	Token   *locking.Token    `json:"token"`
	Attempt *int              `json:"attempt"`
	Replica *string           `json:"replica"`
	Outcome scheduler.Outcome `json:"outcome"`
	// AsOf is up to when it has what the run logs, which goes on; null: to the end.
	AsOf *string `json:"as_of"`
	// Cut is how many bytes before the text are not kept.
	Cut  int    `json:"cut"`
	Text string `json:"text"`
}

// Log returns what a run of the named job has logged. Run is its id or its tick,
// attempt which of several is meant; empty and 0 stand for the last one, of those
// that have ended. The error is ErrNotFound if there is no such run, or no log.
func (r Reader) Log(ctx context.Context, job, run string, attempt int) (Log, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return Log{}, err
	}
	e, err := r.find(ctx, d, job, func(e scheduler.Entry) bool {
		return isRun(e, run) && (attempt == 0 || e.Attempt == attempt) && (run != "" || e.Outcome != scheduler.Running)
	})
	if errors.Is(err, errNoRun) {
		return Log{}, noSuchRun(job, run, attempt)
	}
	if err != nil {
		return Log{}, err
	}
	log, err := r.Ledger.Log(ctx, e.Job, e.OrderKey(), e.Token)
	if errors.Is(err, scheduler.ErrNoLog) {
		return Log{}, fmt.Errorf("log of %s %w: it logged nothing, or not long ago, or its log is not kept any more", e.ID(), ErrNotFound)
	}
	return NewLog(d.named(e), log), err
}

// errNoRun: no run of a job is the one that was looked for.
var errNoRun = errors.New("no such run")

// find returns the latest run of a job that is the one, with the key of the job.
func (r Reader) find(ctx context.Context, d Directory, job string, is func(scheduler.Entry) bool) (scheduler.Entry, error) {
	key := d.Key(job)
	list, err := r.Ledger.Runs(ctx, scheduler.Query{Job: key, Limit: scheduler.MaxKeep})
	if err != nil {
		return scheduler.Entry{}, err
	}
	for _, e := range list {
		if is(e) {
			return e, nil
		}
	}
	if len(list) == 0 {
		if err := d.Require(key); err != nil {
			return scheduler.Entry{}, err
		}
	}
	return scheduler.Entry{}, errNoRun
}

// noSuchRun is the error for a run that the ledger does not have.
func noSuchRun(job, run string, attempt int) error {
	what := fmt.Sprintf("no run of %s has ended", job)
	if run != "" {
		what = fmt.Sprintf("%s has no run %q", job, run)
	}
	if attempt != 0 {
		what += fmt.Sprintf(" as attempt %d", attempt)
	}
	return fmt.Errorf("%w: %s; quorate runs %s lists them", ErrNotFound, what, job)
}

// isRun tells whether text names the run of an entry: any, its id, or its tick.
func isRun(e scheduler.Entry, text string) bool {
	_, id, _ := strings.Cut(e.ID(), "@")
	return text == "" || strings.HasSuffix(text, "@"+id) || text == *Stamp(e.Tick)
}

// NewLog returns what a run has logged as a row.
func NewLog(e scheduler.Entry, log scheduler.Log) Log {
	row := NewRun(e)
	return Log{
		ID: row.ID, Job: row.Job, Tick: row.Tick, Token: row.Token, Attempt: row.Attempt, Replica: row.Replica,
		Outcome: row.Outcome, AsOf: Stamp(log.At), Cut: log.Cut, Text: log.Text,
	}
}

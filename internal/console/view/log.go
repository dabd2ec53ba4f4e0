package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

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

// Log returns the log of one run of the named job. Run is its ID or its tick; attempt
// selects one attempt. Empty and 0 select the last run that has ended. The error is
// ErrNotFound if there is no such run or no log.
func (r Reader) Log(ctx context.Context, job, run string, attempt int) (Log, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return Log{}, err
	}
	key := d.Key(job)
	list, err := r.Ledger.Runs(ctx, ledger.Query{Job: key, Limit: ledger.MaxKeep})
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
		return Log{}, noSuchRun(job, run, attempt)
	}
	e := list[i]
	log, err := r.Ledger.Log(ctx, key, e.OrderKey(), e.Token)
	if errors.Is(err, ledger.ErrNoLog) {
		return Log{}, fmt.Errorf("log of %s %w: the run logged nothing, or its log is not stored yet, or no longer kept", e.ID(), ErrNotFound)
	}
	return NewLog(d.named(e), log), err
}

// noSuchRun describes the run that was not found.
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

// isRun reports whether text is the ID or the tick of an entry. Empty text matches any.
func isRun(e ledger.Entry, text string) bool {
	_, id, _ := strings.Cut(e.ID(), "@")
	return text == "" || strings.HasSuffix(text, "@"+id) || text == Text(Stamp(e.Tick))
}

// NewLog returns a log as a row.
func NewLog(e ledger.Entry, log ledger.Log) Log {
	row := NewRun(e)
	return Log{
		ID: row.ID, Job: row.Job, Tick: row.Tick, Token: row.Token, Attempt: row.Attempt, Replica: row.Replica,
		Outcome: row.Outcome, AsOf: Stamp(log.At), Cut: log.Cut, Text: log.Text,
	}
}

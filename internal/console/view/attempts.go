package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

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
	if err := f.Again(ctx); err != nil {
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

// Again reads the run's attempts again.
func (f *Found) Again(ctx context.Context) error {
	for _, read := range []func(context.Context, ledger.Query) ([]ledger.Entry, error){f.r.Ledger.Runs, f.r.Ledger.Ticks} {
		list, err := read(ctx, f.q)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(e ledger.Entry) bool { return e.Stream != f.stream })
		if len(list) > 0 {
			f.Attempts = f.d.namedAll(list)
			return nil
		}
	}
	return nil
}

// Log returns what an attempt has logged so far; ErrNotFound if the ledger has nothing.
func (f *Found) Log(ctx context.Context, e ledger.Entry) (ledger.Log, error) {
	log, err := f.r.Ledger.Log(ctx, f.q.Job, e.OrderKey(), e.Token)
	if errors.Is(err, ledger.ErrNoLog) {
		return ledger.Log{}, fmt.Errorf("log of %s %w: the run has logged nothing yet, or the ledger no longer keeps its log", e.ID(), ErrNotFound)
	}
	return log, err
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

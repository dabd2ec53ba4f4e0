package listing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// mostAttempts bounds what is read of one tick.
const mostAttempts = 100

// Found is a run that was found, for who looks at it again and again.
type Found struct {
	// Attempts are those of the run, the last one first, or what became of the tick
	// if it never ran.
	Attempts []scheduler.Entry

	r      Reader
	d      Directory
	q      scheduler.Query
	stream string
}

// Find finds the run with an id; ErrNotFound if nothing is known of it.
func (r Reader) Find(ctx context.Context, id string) (*Found, error) {
	job, rest, _ := strings.Cut(id, "@")
	stamp, stream, ok := cutStamp(rest)
	if !ok {
		return nil, invalid("%q is no id of a run; write one as listings show it, such as nightly-report@20270101T020000.000Z", id)
	}
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	f := &Found{r: r, d: d, stream: stream, q: scheduler.Query{
		Job: d.Key(job), Limit: mostAttempts, Since: stamp, Before: stamp.Add(time.Millisecond),
	}}
	if err := f.Again(ctx); err != nil {
		return nil, err
	}
	if len(f.Attempts) == 0 {
		if err := d.Require(f.q.Job); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("run %s %w: it was never decided, or is not kept any more", id, ErrNotFound)
	}
	return f, nil
}

// Again reads what has become of the run.
func (f *Found) Again(ctx context.Context) error {
	for _, read := range []func(context.Context, scheduler.Query) ([]scheduler.Entry, error){f.r.Ledger.Runs, f.r.Ledger.Ticks} {
		list, err := read(ctx, f.q)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(e scheduler.Entry) bool { return e.Stream != f.stream })
		if len(list) > 0 {
			f.Attempts = f.d.namedAll(list)
			return nil
		}
	}
	return nil
}

// Log returns what an attempt has logged, as far as the ledger has it; ErrNotFound
// if it has nothing.
func (f *Found) Log(ctx context.Context, e scheduler.Entry) (scheduler.Log, error) {
	log, err := f.r.Ledger.Log(ctx, f.q.Job, e.OrderKey(), e.Token)
	if errors.Is(err, scheduler.ErrNoLog) {
		return scheduler.Log{}, fmt.Errorf("log of %s %w: it has logged nothing yet, or its log is not kept any more", e.ID(), ErrNotFound)
	}
	return log, err
}

// Attempts returns the attempts of the run with an id, the last one first, or what
// became of the tick if it never ran; ErrNotFound if nothing is known of it.
func (r Reader) Attempts(ctx context.Context, id string) ([]scheduler.Entry, error) {
	f, err := r.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	return f.Attempts, nil
}

// cutStamp takes what follows the name in the id of a run apart.
func cutStamp(text string) (at time.Time, stream string, ok bool) {
	const form = "20060102T150405.000Z"
	if len(text) < len(form) {
		return time.Time{}, "", false
	}
	at, err := time.Parse(form, text[:len(form)])
	stream, dot := strings.CutPrefix(text[len(form):], ".")
	return at, stream, err == nil && (dot || stream == "")
}

package listing

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// mostAttempts bounds what is read of one tick.
const mostAttempts = 100

// Attempts returns the attempts of the run with an id, the last one first, or what
// became of the tick if it never ran; ErrNotFound if nothing is known of it.
func (r Reader) Attempts(ctx context.Context, id string) ([]scheduler.Entry, error) {
	job, rest, _ := strings.Cut(id, "@")
	stamp, stream, ok := cutStamp(rest)
	if !ok {
		return nil, invalid("%q is no id of a run; write one as listings show it, such as nightly-report@20270101T020000.000Z", id)
	}
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	q := scheduler.Query{Job: d.Key(job), Limit: mostAttempts, Since: stamp, Before: stamp.Add(time.Millisecond)}
	for _, read := range []func(context.Context, scheduler.Query) ([]scheduler.Entry, error){r.Ledger.Runs, r.Ledger.Ticks} {
		list, err := read(ctx, q)
		if err != nil {
			return nil, err
		}
		var found []scheduler.Entry
		for _, e := range list {
			if e.Stream == stream {
				found = append(found, d.named(e))
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	if err := d.Require(q.Job); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("run %s %w: it was never decided, or is not kept any more", id, ErrNotFound)
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

package jobs

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/quorate/quorate/locking"
)

// A Run describes a call to its function.
type Run struct {
	// ID identifies the run of this tick: the same for every try and attempt.
	ID string
	// Job is the name of the job in the configuration.
	Job string
	// Key is what the job was called before it was renamed; empty if it never
	// was. Its tokens grow on from those of that name.
	Key string
	// Tick is the scheduled instant, whenever the run really began.
	Tick time.Time
	// Token is the fencing token of the claim. Send it along with every side
	// effect, so that a sink can refuse a run that was paused too long.
	Token locking.Token
	// Attempt distinguishes the runs of one tick: each has another, larger than those
	// before it, from 1. Numbers may be missing, of claims that were given back before the
	// function was called.
	Attempt int
	// Try counts the calls of the function within the claim, from 1.
	Try int
	// Trigger says why the run was asked for: "schedule" for a tick that came due.
	Trigger string
	// Parent is the ID of the run that asked for this one, for trigger "chain".
	Parent string
	// Replica is the id of the replica that runs it.
	Replica string
	// Logger carries the fields above. A bound Handler never sees nil.
	Logger *slog.Logger

	withheld *Withheld
}

// Fence names the resource that the run writes to, by default its job as it was
// first called, and the token to write with: a Run is a fence.Bearer, which
// guards take.
func (r Run) Fence() (resource string, token locking.Token) {
	return cmp.Or(r.Key, r.Job), r.Token
}

// A Handler is a registered function with its params bound.
type Handler func(ctx context.Context, run Run) error

// Limits are what the configuration allows a job.
type Limits struct {
	// SafetyMargin is how long before the end of the lease the context ends:
	// the time a function has to stop. Zero if unknown.
	SafetyMargin time.Duration
	// Timeout of one run; zero for none.
	Timeout time.Duration
	// TTL is how long the lease lasts unless it is extended. Zero if unknown.
	TTL time.Duration
	// Resolve returns the value of a reference in a string of the params, such as
	// ${env:NAME} or ${file:/path}. It is called at each run for each of them. Nil:
	// strings with references are left as they are.
	Resolve func(reference string) (string, error)
}

// FormatTick formats t for other processes: RFC 3339 in UTC, with milliseconds only if
// there are any.
func FormatTick(t time.Time) string {
	if t.Nanosecond()/int(time.Millisecond) == 0 {
		return t.UTC().Format("2006-01-02T15:04:05Z")
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

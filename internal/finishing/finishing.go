// Package finishing lets a transaction of a job's function end the function's run. The engine puts
// a Preparer into the context of each call of the function; package sqlfence asks it what to
// store.
package finishing

import "context"

// An End is what a transaction stores as the end of a run.
type End struct {
	Job       string // under which the store knows the job
	Token     uint64 // of the run
	Note      []byte // of the run's entry in the ledger, if it commits
	Followers []Follower
}

// A Follower is a request for a job that runs after this one.
type Follower struct{ ID, Job, By, Reason, Parent string }

// A Preparer returns the end of the run that succeeds now. From then on the engine knows that a
// transaction may have ended the run, whatever the function returns. An error means that the run
// cannot be ended like this; the text says why.
type Preparer func() (End, error)

type key struct{}

// With returns a context that has the Preparer.
func With(ctx context.Context, p Preparer) context.Context {
	return context.WithValue(ctx, key{}, p)
}

// From returns the Preparer of a context; nil if it has none.
func From(ctx context.Context) Preparer {
	p, _ := ctx.Value(key{}).(Preparer)
	return p
}

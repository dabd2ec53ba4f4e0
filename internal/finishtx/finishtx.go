// Package finishtx lets a transaction of a job's function end the function's run. The engine puts
// a Preparer into the context of each call of the function; package sqlfence asks it what to
// store.
package finishtx

import "context"

// An End is what a transaction stores as the end of a run.
type End struct {
	Schema    string   // of the store's functions, quoted
	Job       string   // under which the store knows the job
	Token     uint64   // of the run
	Owner     string   // of its claim, which no other program knows
	Note      []byte   // of the run's entry in the ledger, if it commits
	Followers []string // the keys of the jobs that run after this one
	// Requests are those for the followers, in their stored form, by their IDs.
	Requests map[string][]byte
	// Look asks the store of the replica, not the database of the transaction, for the claim:
	// whether the store has it, and if not, the token of the claim that has excluded it, if any.
	Look func(ctx context.Context) (has bool, seen uint64, err error)
}

// A Preparer returns the end of the run that succeeds now. From then on the engine knows that a
// transaction may have ended the run, whatever the function returns. An error means that the run
// cannot be ended like this; the text says why.
type Preparer func() (End, error)

type key struct{}

// A call is what a context has of the call of a function.
type call struct {
	prepare Preparer
	schema  string
}

// With returns the context of a call: the Preparer, and the schema of the store, quoted, which is
// empty if the store is no database.
func With(ctx context.Context, p Preparer, schema string) context.Context {
	return context.WithValue(ctx, key{}, call{p, schema})
}

// From returns the Preparer of a context; nil if it has none.
func From(ctx context.Context) Preparer {
	c, _ := ctx.Value(key{}).(call)
	return c.prepare
}

// Schema returns the schema of a context, and whether it is that of a call.
func Schema(ctx context.Context) (schema string, is bool) {
	c, is := ctx.Value(key{}).(call)
	return c.schema, is
}

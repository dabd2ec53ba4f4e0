// Package jobs is what the author of a job sees: a [Registry] of typed
// functions, the [Run] each call is told about, and the errors that say how a
// run ended.
//
//	registry := jobs.NewRegistry()
//	jobs.Register(registry, "report", func(ctx context.Context, run jobs.Run, p ReportParams) error {
//		…
//	})
//
// # Params
//
// A job's params are the mapping of that name in its configuration, decoded
// strictly into the function's own struct: an unknown key, a value of another
// type, a number too large for its field are each a [ParamError] that names
// the key, and all of them are reported together.
//
// A field is known by its json tag, else by its name in any case. Numbers,
// strings, booleans, slices, maps with string keys, pointers, nested and
// embedded structs and any are filled from the like; a [time.Duration] from
// text such as "30s", a type with UnmarshalText from a string ([time.Time]:
// RFC 3339), a [ParamUnmarshaler] from whatever it accepts. A key without a
// value (null) is a key that is not there. A function without params takes
// [NoParams].
//
// The struct may have, on its pointer or its value:
//
//   - SetDefaults(), called before decoding;
//   - Validate() error, called after it;
//   - ValidateLimits(Limits) error, to compare a param with the job's limits.
//
// The last two return a *ParamError to point at a key, several with
// [errors.Join].
//
// # Middleware
//
// [Registry.Use] puts a [Middleware] around every function, [Register] around
// one:
//
//	registry.Use(traced, measured)                    // traced(measured(…))
//	jobs.Register(registry, "report", report, limited) // … limited(report)
//
// It runs once per call of the function, so once per try.
//
// # Secrets
//
// A string that holds ${env:NAME} or ${file:/path} is resolved anew for each
// run, so that a rotated secret is read without a restart. What it resolved to
// is printed as *** in the error of that run and in the lines of its logger. A
// [Withheld] does the same for secrets that no run needs.
//
// # What a function promises
//
// To return soon after its context has ended. The cause of the context says
// why: [ErrTimeout], [ErrCancelled], [ErrDraining] or locking.ErrLeaseLost. A
// function must send run.Token along with its side effects where the sink can
// check it: a paused process may wake up after its lease has gone. The guards of
// locking/fence take the Run itself:
//
//	err := sqlfence.Do(ctx, db, run, func(tx *sql.Tx) error { … })
package jobs

// Package jobs is for authors of jobs: a [Registry] of typed functions, the [Run]
// that each call receives, and the errors that say how a run ended.
//
//	registry := jobs.NewRegistry()
//	jobs.Register(registry, "report", func(ctx context.Context, run jobs.Run, p ReportParams) error {
//		…
//	})
//
// # What a function must do
//
// It must return soon after its context has ended. The cause of the context says
// why: [ErrTimeout], [ErrCancelled], [ErrDraining] or locking.ErrLeaseLost.
//
// It must send run.Token along with its side effects if the sink can check it: a
// paused process may wake up after its lease has ended. The guards of locking/fence
// accept the Run itself:
//
//	err := sqlfence.Do(ctx, db, run, func(tx *sql.Tx) error { … })
//
// # How a run ends
//
// A function that returns nil before its context ends has succeeded. After that the run has
// timed out, was cancelled or has lost its lease, whatever the function returns. An error,
// or a panic, is a failure, and the job's retry policy may call the function again. [Permanent] marks an error that
// a retry cannot fix. [Skip] says that there was nothing to do.
//
// # Params
//
// The job's params in the configuration are decoded strictly into the function's own
// struct. An unknown key, a value of another type and a number too large for its
// field are each a [ParamError] that names the key. All of them are reported together.
//
// The key of a field is its json tag, else its name in any case. Values are decoded as
// encoding/json decodes them, embedded structs, []byte (base64), [json.RawMessage] and the
// option string of a tag included, except that
//
//   - a [time.Duration] is text such as "30s", and a [time.Time] RFC 3339;
//   - a tag is matched as it is written;
//   - lists and maps replace a default, and do not add to it;
//   - a key with the value null counts as absent.
//
// A [ParamUnmarshaler] takes what it accepts. Else a type with UnmarshalJSON gets its value as
// JSON, and one with UnmarshalText takes a string; both keep their own defaults and checks. As
// in encoding/json, a struct has these methods of what it embeds, and is decoded by them. A
// function without params takes [NoParams].
//
// The struct, or its pointer, may have these methods:
//
//   - SetDefaults(), called before decoding;
//   - Validate() error, called after it;
//   - ValidateLimits(Limits) error, to compare a param with the job's limits.
//
// The last two may return a *ParamError to name a key, or several with [errors.Join].
//
// # Middleware
//
// [Registry.Use] puts a [Middleware] around every function, [Register] around one. It
// runs once per call of the function, so once per try.
//
//	registry.Use(traced, measured)                     // traced(measured(…))
//	jobs.Register(registry, "report", report, limited) // … limited(report)
//
// # What came before
//
// A function that works on what is new since its last success asks the ledger for it:
//
//	before, err := run.Previous(ctx) // before.Success is zero the first time
//
// # Secrets
//
// A string with ${env:NAME} or ${file:/path} is resolved for each run, so a rotated
// secret needs no restart. Errors of that run and lines of its logger show the value as
// ***, unless the reference says that it is no secret: ${plain:env:NAME}. A [Withheld] does
// the same for secrets that no run needs.
package jobs

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

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/mask"
)

// A Registry holds the functions that a configuration may name. Register
// everything before its first use; after that it may be used from any goroutine.
type Registry struct {
	bind     map[string]binder
	shapes   map[string]*Shape
	around   []Middleware // of every function
	mistakes []error
}

// binder decodes params and returns the function with them bound.
type binder func(params map[string]any, limits Limits) (Handler, error)

// NewRegistry returns an empty Registry.
func NewRegistry() *Registry {
	return &Registry{bind: map[string]binder{}, shapes: map[string]*Shape{}}
}

// NoParams is the params type of a function that takes none.
type NoParams struct{}

// errNilMiddleware: Use or Register was given a nil Middleware.
var errNilMiddleware = errors.New("a middleware is nil: remove it")

// Register makes fn known under name, with the middleware around it, the first
// one outermost. Mistakes (a bad name, a name taken, no function, a P that is
// neither a struct, nor a map with string keys, nor decodes itself from JSON) are kept for Err, so that
// registering is one line.
func Register[P any](r *Registry, name string, fn func(ctx context.Context, run Run, params P) error, middleware ...Middleware) {
	switch {
	case fn == nil:
		r.mistake(name, "the function is nil")
	case slices.ContainsFunc(middleware, func(m Middleware) bool { return m == nil }):
		r.mistake(name, errNilMiddleware.Error())
	case !isParams(reflect.TypeFor[P]()):
		r.mistake(name, fmt.Sprintf("its params are a %s: use a struct, jobs.NoParams for none", reflect.TypeFor[P]()))
	default:
		r.add(name, newShape(reflect.TypeFor[P]()), func(params map[string]any, limits Limits) (Handler, error) {
			h, err := bind(fn, params, limits)
			if err != nil {
				return nil, err
			}
			return wrap(h, middleware), nil
		})
	}
}

func isParams(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Map && t.Key().Kind() == reflect.String ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

func (r *Registry) add(name string, shape *Shape, b binder) {
	if !namePattern.MatchString(name) {
		r.mistake(name, "a name has 1 to 100 letters, digits, '.', '_' or '-' and starts with a letter or digit")
		return
	}
	if _, taken := r.bind[name]; taken {
		r.mistake(name, "the name is registered already: choose another")
		return
	}
	r.bind[name], r.shapes[name] = b, shape
}

func (r *Registry) mistake(name, msg string) {
	r.mistakes = append(r.mistakes, fmt.Errorf("registering function %q: %s", name, msg))
}

// Err returns every mistake made in registering, joined; nil if there was none.
func (r *Registry) Err() error { return errors.Join(r.mistakes...) }

// Names returns the registered names, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.bind)) }

// Bind returns the function registered under name with its params, inside of the
// middleware. It returns an *UnknownFuncError, or the *ParamErrors of all params joined
// with the errors of the params' own Validate and ValidateLimits, or a *PanicError of these.
func (r *Registry) Bind(name string, params map[string]any, limits Limits) (Handler, error) {
	b, ok := r.bind[name]
	if !ok {
		return nil, &UnknownFuncError{Name: name, Known: r.Names()}
	}
	var bound Handler
	err := recovered(func() error { // methods of params types, and middleware, may panic
		h, err := b(params, limits)
		if err == nil {
			bound = wrap(h, r.around)
		}
		return err
	})
	return bound, err
}

// leastSecret is the length in bytes below which a secret of a param is not masked.
const leastSecret = 4

// bind returns fn with params. They are decoded here to find every mistake
// early, and again for each run: a run may change what its maps and pointers
// lead to, and a secret may have changed.
func bind[P any](fn func(context.Context, Run, P) error, params map[string]any, limits Limits) (Handler, error) {
	params = decode.Clone(params).(map[string]any)
	if _, err := decodeParams[P](params, limits, decoder{unresolved: limits.Resolve != nil}); err != nil {
		return nil, err
	}
	return func(ctx context.Context, run Run) error {
		if run.Logger == nil {
			run.Logger = slog.New(slog.DiscardHandler)
		}
		resolved, secrets, err := resolveParams(params, limits.Resolve)
		if err != nil {
			return err
		}
		hide := mask.From(ctx).And(mask.New(secrets, leastSecret))
		return guarded(ctx, hide, run, func(ctx context.Context, run Run) error {
			p, err := decodeParams[P](resolved, limits, decoder{secret: len(secrets) > 0})
			if err != nil {
				return err
			}
			return fn(ctx, run, p)
		})
	}, nil
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

// A Middleware returns a Handler that wraps next, for example to measure, trace or refuse
// calls. Params are already bound, and next returns a panic of the function as a
// *PanicError. Secrets of the params are hidden in the errors it sees, but not in its own
// logs.
type Middleware func(next Handler) Handler

// Use puts middleware around every function of the registry, those registered
// before included. The first one is outermost, also over several calls, and all
// of them are outside of those given to Register. A nil one is a mistake, kept
// for Err.
func (r *Registry) Use(middleware ...Middleware) {
	if slices.ContainsFunc(middleware, func(m Middleware) bool { return m == nil }) {
		r.mistakes = append(r.mistakes, errNilMiddleware)
		return
	}
	r.around = append(r.around, middleware...)
}

// wrap returns h inside of the middleware, the first one outermost.
func wrap(h Handler, middleware []Middleware) Handler {
	if len(middleware) == 0 {
		return h
	}
	for _, m := range slices.Backward(middleware) {
		h = m(h)
	}
	return func(ctx context.Context, run Run) error {
		if run.Logger == nil {
			run.Logger = slog.New(slog.DiscardHandler)
		}
		return h(ctx, run)
	}
}

// FromCron returns a function that runs a robfig/cron Job, or any other type with a method
// Run, so it registers as it is:
//
//	jobs.Register(registry, "cleanup", jobs.FromCron(cleanup))
//	jobs.Register(registry, "report", jobs.FromCron(cron.FuncJob(report)))
//
// The run succeeds when Run returns. A panic is a failure, and ends neither the replica nor
// other jobs: wrappers such as cron.Recover hide it from the ledger, so leave them out.
//
// Run sees no context, so nothing can stop it. After a timeout, a cancellation or a lost
// lease it continues until it returns, and its job counts as running until then. It gets
// no fencing token either. If that matters, write a function that takes the context and
// the [Run]. A run whose context has ended before the call fails with the cause.
func FromCron(job interface{ Run() }) func(ctx context.Context, run Run, params NoParams) error {
	if job == nil {
		return nil // Register reports it
	}
	return func(ctx context.Context, _ Run, _ NoParams) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		job.Run()
		return nil
	}
}

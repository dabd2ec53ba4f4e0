package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
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

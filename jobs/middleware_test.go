package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/jobs"
)

// note returns a middleware that adds its name to seen.
func note(seen *[]string, name string) jobs.Middleware {
	return func(next jobs.Handler) jobs.Handler {
		return func(ctx context.Context, run jobs.Run) error {
			*seen = append(*seen, name)
			return next(ctx, run)
		}
	}
}

// The first middleware is outermost; those of the registry stand outside of
// those of the function, in whatever order both were given.
func TestMiddlewareOrder(t *testing.T) {
	t.Parallel()
	var seen []string
	r := jobs.NewRegistry()
	r.Use(note(&seen, "first"))
	jobs.Register(r, "f", func(context.Context, jobs.Run, jobs.NoParams) error { return nil },
		note(&seen, "own first"), note(&seen, "own second"))
	r.Use(note(&seen, "second"), note(&seen, "third"))
	h, err := r.Bind("f", nil, jobs.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h(t.Context(), jobs.Run{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"first", "second", "third", "own first", "own second"}; !slices.Equal(seen, want) {
		t.Errorf("middleware is called in the order %v, want %v", seen, want)
	}
}

// A middleware sees a panic as an error and always has a logger; it may do
// without the function.
func TestMiddlewareSeesTheEnd(t *testing.T) {
	t.Parallel()
	r := jobs.NewRegistry()
	jobs.Register(r, "f", func(context.Context, jobs.Run, jobs.NoParams) error { panic("boom") })
	var got error
	r.Use(func(next jobs.Handler) jobs.Handler {
		return func(ctx context.Context, run jobs.Run) error {
			run.Logger.Info("never nil")
			got = next(ctx, run)
			return jobs.Skip("not today")
		}
	})
	h, err := r.Bind("f", nil, jobs.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	err = jobs.Call(t.Context(), h, jobs.Run{})
	if _, ok := errors.AsType[*jobs.PanicError](got); !ok {
		t.Errorf("the middleware sees %v, want the panic", got)
	}
	if _, ok := errors.AsType[*jobs.SkipError](err); !ok {
		t.Errorf("the handler returns %v, want what the middleware returned", err)
	}
}

func TestNilMiddlewareIsAMistake(t *testing.T) {
	t.Parallel()
	r := jobs.NewRegistry()
	r.Use(nil)
	jobs.Register(r, "f", func(context.Context, jobs.Run, jobs.NoParams) error { return nil }, nil)
	if err := r.Err(); err == nil || strings.Count(err.Error(), "middleware is nil") != 2 {
		t.Errorf("Err = %v, want both mistakes", err)
	}
}

package jobs

import (
	"errors"
	"reflect"
	"slices"

	"github.com/quorate/quorate/internal/decode"
)

// A ParamUnmarshaler decodes itself from a value of the configuration: a
// map[string]any, []any, string, number, bool or time.Time, never nil.
type ParamUnmarshaler interface {
	UnmarshalParam(value any) error
}

// What a params type may have besides its fields.
type (
	defaulter       interface{ SetDefaults() }
	validator       interface{ Validate() error }
	limitsValidator interface{ ValidateLimits(limits Limits) error }
)

// decodeParams returns params as a P with its defaults, or every mistake found.
func decodeParams[P any](params map[string]any, limits Limits, d decoder) (P, error) {
	p := new(P)
	if s, ok := any(p).(defaulter); ok {
		s.SetDefaults()
	}
	if d.unresolved {
		d.checkReferences(params)
	}
	d.walker().Value(reflect.ValueOf(p).Elem(), params, decode.Place{})
	d.validate(func() error { return validateParams(p, limits) })
	return *p, errors.Join(d.errs...)
}

func validateParams(p any, limits Limits) error {
	var errs []error
	if v, ok := p.(validator); ok {
		errs = append(errs, v.Validate())
	}
	if v, ok := p.(limitsValidator); ok {
		errs = append(errs, v.ValidateLimits(limits))
	}
	return errors.Join(errs...)
}

// validate keeps the findings of check, except those about values that are not known:
// values that did not decode, and references that are resolved when the job runs.
func (d *decoder) validate(check func() error) {
	for _, err := range leaves(check()) {
		at, _ := errors.AsType[*ParamError](err)
		if !d.unseenAt(at) {
			d.errs = append(d.errs, err)
		}
	}
}

// unseenAt reports whether an error at this place may be owed to an unseen value.
func (d *decoder) unseenAt(at *ParamError) bool {
	return slices.ContainsFunc(d.unseen, func(path []string) bool {
		if at == nil {
			return true
		}
		n := min(len(path), len(at.Path))
		return slices.Equal(path[:n], at.Path[:n])
	})
}

// leaves takes apart what errors.Join put together.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(joined.Unwrap()...).Error() != err.Error() {
		return []error{err} // one error, or a sentence around several
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, leaves(e)...)
	}
	return all
}

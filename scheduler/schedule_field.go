package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A fieldKind is one of the six columns of a cron spec.
type fieldKind struct {
	name     string
	min, max int
	names    []string // of the values from min on
	question bool     // ? is allowed for *
}

// The columns in the order of a spec with seconds.
const (
	secondField = iota
	minuteField
	hourField
	domField
	monthField
	dowField
	numFields
)

var fieldKinds = [numFields]fieldKind{
	secondField: {name: "second", min: 0, max: 59},
	minuteField: {name: "minute", min: 0, max: 59},
	hourField:   {name: "hour", min: 0, max: 23},
	domField:    {name: "day-of-month", min: 1, max: 31, question: true},
	monthField:  {name: "month", min: 1, max: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	dowField:    {name: "day-of-week", min: 0, max: 6, names: strings.Fields("sun mon tue wed thu fri sat"), question: true},
}

// A span is one entry of a field's list: lo to hi in steps.
type span struct{ lo, hi, step int }

// A field is what a column of a spec says.
type field struct {
	kind  fieldKind
	spans []span
	star  bool // * or ?, alone and without a step
}

// values returns the field's values in order, each once.
func (f field) values() []int {
	var values []int
	for _, s := range f.spans {
		for v := s.lo; v <= s.hi; v += s.step {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// field reads one column. It is stricter than robfig/cron, which reads "*-5"
// and "*/90" as something, and says what to write.
func (p *specParser) field(w word, kind fieldKind) (field, error) {
	f := field{kind: kind}
	entries := strings.Split(w.text, ",")
	for _, entry := range entries {
		s, err := kind.span(entry)
		if err != nil {
			return field{}, p.fail(w.pos, "has a bad %s field %q: %v", kind.name, w.text, err)
		}
		f.spans = append(f.spans, s)
	}
	if strings.HasPrefix(w.text, "*") || strings.HasPrefix(w.text, "?") {
		f.star = len(entries) == 1 && f.spans[0].step == 1
	}
	if len(entries) > 1 && slices.Contains(f.spans, span{kind.min, kind.max, 1}) {
		return field{}, p.fail(w.pos, "has a bad %s field %q: it lists every value and more: write *", kind.name, w.text)
	}
	return f, nil
}

func (k fieldKind) span(entry string) (span, error) {
	base, stepText, stepped := strings.Cut(entry, "/")
	s := span{lo: k.min, hi: k.max, step: 1}
	if base != "*" && (base != "?" || !k.question || stepped) {
		var err error
		if s, err = k.valueOrRange(base, stepped); err != nil {
			return span{}, err
		}
	}
	if !stepped {
		return s, nil
	}
	step, ok := number(stepText)
	switch {
	case !ok || step == 0:
		return span{}, fmt.Errorf("step %q is not a number above 0: write one after the slash", stepText)
	case step > 1 && step > s.hi-s.lo:
		return span{}, fmt.Errorf("step %d leaves only one of the values %d-%d: write %d", step, s.lo, s.hi, s.lo)
	}
	s.step = step
	return s, nil
}

// valueOrRange reads "a" or "a-b"; with a step "a" stands for a to the end.
func (k fieldKind) valueOrRange(text string, stepped bool) (span, error) {
	loText, hiText, ranged := strings.Cut(text, "-")
	lo, err := k.value(loText)
	if err != nil {
		return span{}, err
	}
	s := span{lo: lo, hi: lo, step: 1}
	switch {
	case !ranged && stepped:
		s.hi = k.max
	case ranged:
		if s.hi, err = k.value(hiText); err != nil {
			return span{}, err
		}
	}
	if s.lo > s.hi {
		return span{}, fmt.Errorf("range %s runs backwards: write %d-%d,%d-%d", text, s.lo, k.max, k.min, s.hi)
	}
	return s, nil
}

func (k fieldKind) value(text string) (int, error) {
	if i := slices.Index(k.names, strings.ToLower(text)); i >= 0 {
		return k.min + i, nil
	}
	v, ok := number(text)
	switch {
	case ok && v >= k.min && v <= k.max:
		return v, nil
	case ok && v == 7 && k.name == fieldKinds[dowField].name:
		return 0, fmt.Errorf("7 is not a day of the week: write 0 or sun for Sunday")
	case k.names != nil:
		return 0, fmt.Errorf("%q is none of its values: write %d-%d or %s", text, k.min, k.max, strings.Join(k.names, " "))
	}
	return 0, fmt.Errorf("%q is none of its values: write %d-%d", text, k.min, k.max)
}

// number reads digits and nothing else: strconv also takes a sign.
func number(text string) (int, bool) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

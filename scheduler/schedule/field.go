package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A span is one entry of a field's list: lo to hi in steps. If hi is above the field's
// largest value, it wraps to the smallest.
type span struct{ lo, hi, step int }

// A field is the content of one column of a spec.
type field struct {
	kind   fieldKind
	pos    int // of its word in the spec
	spans  []span
	rules  []dayRule // entries with L, W or #
	star   bool      // * or ?, alone and without a step
	hashed bool      // has an H
}

// values returns the values of the field's spans in order, each once.
func (f field) values() []int {
	var values []int
	for _, s := range f.spans {
		for v := s.lo; v <= s.hi; v += s.step {
			values = append(values, f.kind.wrap(v))
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// bits are the field's values, as robfig/cron keeps them. Years do not fit.
func (f field) bits() uint64 {
	var set uint64
	for _, v := range f.values() {
		set |= 1 << v
	}
	if f.star {
		set |= 1 << 63
	}
	return set
}

// field reads one column.
func (p *specParser) field(w word, kind fieldKind) (field, error) {
	f := field{kind: kind, pos: w.pos}
	entries := strings.Split(w.text, ",")
	for _, entry := range entries {
		if err := f.add(entry, p.name); err != nil {
			return field{}, p.fail(w.pos, "has a bad %s field %q: %v", kind.name, w.text, err)
		}
	}
	if strings.HasPrefix(w.text, "*") || strings.HasPrefix(w.text, "?") {
		f.star = len(entries) == 1 && f.spans[0].step == 1
	}
	if len(entries) > 1 && slices.Contains(f.spans, span{kind.min, kind.max, 1}) {
		return field{}, p.fail(w.pos, "has a bad %s field %q: it lists every value and more: write *", kind.name, w.text)
	}
	return f, nil
}

// add reads one entry of the list.
func (f *field) add(entry, name string) error {
	if f.kind.hasRule(entry) {
		rule, err := f.kind.rule(entry)
		f.rules = append(f.rules, rule)
		return err
	}
	s, hashed, err := f.kind.span(entry, name)
	f.spans = append(f.spans, s)
	f.hashed = f.hashed || hashed
	return err
}

func (k fieldKind) span(entry, name string) (s span, hashed bool, err error) {
	base, stepText, stepped := strings.Cut(entry, "/")
	switch {
	case entry == "":
		return s, false, fmt.Errorf("a value is missing before or after a comma: write %d-%d", k.min, k.max)
	case base == "":
		return s, false, fmt.Errorf("a value is missing in %q: write *%s", entry, entry)
	case strings.HasPrefix(base, "-") || strings.HasSuffix(base, "-"):
		return s, false, fmt.Errorf("a value is missing in %q: write %d-%d", entry, k.min, k.max)
	}
	s = span{lo: k.min, hi: k.max, step: 1}
	switch hashed = isHash(base) && k.hashMax > 0; {
	case hashed:
		s, err = k.hashRange(base, name)
	case base != "*" && (base != "?" || !k.question || stepped):
		s, err = k.valueOrRange(base, stepped)
	}
	if err != nil {
		return span{}, false, err
	}
	if stepped {
		if s.step, err = s.readStep(base, stepText); err != nil {
			return span{}, false, err
		}
	}
	if hashed {
		s = k.hash(s, name, stepped)
	}
	return s, hashed, nil
}

// readStep reads the step of a span; base is the span's text without it.
func (s span) readStep(base, text string) (int, error) {
	step, ok := number(text)
	switch {
	case !ok || step == 0:
		return 0, fmt.Errorf("step %q is not a number above 0: write one after the slash", text)
	case step > 1 && step > s.hi-s.lo:
		first := strconv.Itoa(s.lo)
		if isHash(base) {
			first = base
		}
		return 0, fmt.Errorf("step %d leaves only one of the values %d-%d: write %s", step, s.lo, s.hi, first)
	}
	return step, nil
}

// valueOrRange reads "a" or "a-b"; with a step "a" means a to the end.
func (k fieldKind) valueOrRange(text string, stepped bool) (span, error) {
	loText, hiText, ranged := strings.Cut(text, "-")
	lo, err := k.value(loText)
	if err != nil {
		return span{}, err
	}
	s := span{lo: k.wrap(lo), hi: k.wrap(lo), step: 1} // 7 is Sunday
	switch {
	case !ranged && stepped:
		s.hi = k.max
	case ranged:
		if s.hi, err = k.value(hiText); err != nil {
			return span{}, err
		}
		if lo == s.hi { // 7-7 is one Sunday
			s.hi = s.lo
		}
	}
	if s.lo > s.hi {
		if !k.ring {
			return span{}, fmt.Errorf("range %s runs backwards: write %d-%d", text, s.hi, s.lo)
		}
		s.hi += k.size()
	}
	return s, nil
}

// value reads a number or a name. The day of the week may be 7: Sunday after Saturday.
func (k fieldKind) value(text string) (int, error) {
	if i := slices.Index(k.names, strings.ToLower(text)); i >= 0 {
		return k.min + i, nil
	}
	v, ok := number(text)
	switch {
	case ok && v >= k.min && v <= k.max, ok && v == 7 && k.is(dowField):
		return v, nil
	case k.names != nil:
		return 0, fmt.Errorf("%q is not a valid value: write %d-%d or %s", text, k.min, k.max, strings.Join(k.names, " "))
	}
	return 0, fmt.Errorf("%q is not a valid value: write %d-%d", text, k.min, k.max)
}

// number reads digits only: strconv also accepts a sign.
func number(text string) (int, bool) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

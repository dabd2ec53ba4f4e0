package schedule

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cron reads five to seven fields.
func (p *specParser) cron(opts Options) (Schedule, error) {
	fields, err := p.fields()
	if err != nil {
		return nil, p.command(err)
	}
	first, last := p.words[0], p.words[len(p.words)-1]
	z := &zoned{spec: newCivilSpec(fields), text: p.spec[first.pos : last.pos+len(last.text)], loc: opts.Location, dst: opts.DST}
	if slices.ContainsFunc(fields[:], func(f field) bool { return f.hashed }) {
		z.name = p.name
	}
	if _, ok := z.spec.next(time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix() - 1); !ok {
		return nil, p.fail(fields[domField].pos, "never ticks: none of its months has such a day; write one that exists")
	}
	return z, nil
}

// fields reads the spec again to explain it. Kept, they would be the largest part of a job in
// memory.
func (z *zoned) fields() [numFields]field {
	p := &specParser{spec: z.text, words: splitWords(z.text), name: z.name}
	fields, _ := p.fields() // it was read before
	return fields
}

// fields reads the words of the spec, one for each field.
func (p *specParser) fields() (fields [numFields]field, err error) {
	const advice = "write 5 (minute hour day-of-month month day-of-week), 6 with seconds in front, or 7 with years at the end as well"
	words := p.words
	switch n := len(words); {
	case n < numFields-2:
		return fields, p.fail(words[0].pos, "has %d fields: %s", n, advice)
	case n > numFields:
		return fields, p.fail(words[numFields].pos, "has %d fields: %s", n, advice)
	case n == numFields-2:
		words = slices.Insert(slices.Clone(words), 0, word{text: "0"})
	}
	if len(words) < numFields {
		words = append(slices.Clip(words), word{text: "*"})
	}
	for i, kind := range fieldKinds {
		if fields[i], err = p.field(words[i], kind); err != nil {
			return fields, err
		}
	}
	return fields, nil
}

// command returns err or, if the spec is a line of a crontab, what is wrong with the command
// after its five fields.
func (p *specParser) command(err error) error {
	if len(p.words) <= numFields-2 {
		return err
	}
	five, next := specParser{spec: p.spec, words: p.words[:numFields-2], name: p.name}, p.words[numFields-2]
	_, day := p.field(next, fieldKinds[dowField])
	if _, wrong := five.fields(); wrong != nil || day == nil {
		return err
	}
	return p.fail(next.pos, "has %q after its five fields: %s; as the day of the week, with seconds in front, it is not valid: write 0-6 or %s",
		next.text, noCommand, strings.Join(fieldKinds[dowField].names, " "))
}

// A civilSpec is a cron spec on a clock that never jumps. Its times are civil
// seconds: what Unix time would be if the wall clock showed UTC.
//
// robfig/cron steps it. Its handling of zones is never used: around a change of
// the clocks it ticks on wrong days and leaves days out. A filter, if there is one, selects
// the days, and robfig/cron the time of day.
type civilSpec struct {
	spec cron.SpecSchedule
	days *dayFilter // nil: spec selects the days, too
}

func newCivilSpec(f [numFields]field) civilSpec {
	c := civilSpec{days: newDayFilter(f), spec: cron.SpecSchedule{
		Second: f[secondField].bits(), Minute: f[minuteField].bits(), Hour: f[hourField].bits(),
		Dom: f[domField].bits(), Month: f[monthField].bits(), Dow: f[dowField].bits(), Location: time.UTC,
	}}
	if c.days != nil {
		c.spec.Dom, c.spec.Month, c.spec.Dow = math.MaxUint64, math.MaxUint64, math.MaxUint64
	}
	return c
}

// next returns the first matching civil second after the given one; false if there is none
// within ten years or, with a filter, none at all.
func (c *civilSpec) next(civil int64) (int64, bool) {
	if c.days != nil {
		return c.nextOnDays(civil)
	}
	t := time.Unix(civil, 0).UTC()
	next := c.spec.Next(t)
	if next.IsZero() {
		// cron stops after five calendar years, but a 29 February may be eight years away.
		next = c.spec.Next(time.Date(t.Year()+5, 12, 31, 23, 59, 59, 0, time.UTC))
	}
	return next.Unix(), !next.IsZero()
}

// nextOnDays asks for the time of day once, or twice if today's are over.
func (c *civilSpec) nextOnDays(civil int64) (int64, bool) {
	for day := time.Unix(civil+1, 0).UTC().Truncate(24*time.Hour).Unix() / secondsPerDay; ; day++ {
		var ok bool
		if day, ok = c.days.next(day); !ok {
			return 0, false
		}
		begin := day * secondsPerDay
		next := c.spec.Next(time.Unix(max(civil, begin-1), 0).UTC()).Unix()
		if next < begin+secondsPerDay {
			return next, true
		}
	}
}

func (c *civilSpec) matches(civil int64) bool {
	next, ok := c.next(civil - 1)
	return ok && next == civil
}

// everyHour reports whether the hour field has all hours.
func (c *civilSpec) everyHour() bool {
	const all = 1<<24 - 1
	return c.spec.Hour&all == all
}

// A fieldKind is one of the seven columns of a cron spec.
type fieldKind struct {
	name     string
	min, max int
	names    []string // of the values from min on
	question bool     // ? may replace *
	ring     bool     // values wrap from max to min
	hashMax  int      // H chooses from min to this; 0: H is not allowed
}

// The columns in the order of a spec with seconds and years.
const (
	secondField = iota
	minuteField
	hourField
	domField
	monthField
	dowField
	yearField
	numFields
)

// The years that a spec or a calendar may name.
const (
	firstYear = 1970
	lastYear  = 2199
)

var fieldKinds = [numFields]fieldKind{
	secondField: {name: "second", min: 0, max: 59, ring: true, hashMax: 59},
	minuteField: {name: "minute", min: 0, max: 59, ring: true, hashMax: 59},
	hourField:   {name: "hour", min: 0, max: 23, ring: true, hashMax: 23},
	// H chooses a day that every month has.
	domField:   {name: "day-of-month", min: 1, max: 31, ring: true, hashMax: 28, question: true},
	monthField: {name: "month", min: 1, max: 12, ring: true, hashMax: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	dowField:   {name: "day-of-week", min: 0, max: 6, ring: true, hashMax: 6, names: strings.Fields("sun mon tue wed thu fri sat"), question: true},
	yearField:  {name: "year", min: firstYear, max: lastYear},
}

// size is the number of the field's values.
func (k fieldKind) size() int { return k.max - k.min + 1 }

// wrap maps a value above max to its place on the ring.
func (k fieldKind) wrap(v int) int { return k.min + (v-k.min)%k.size() }

// is reports whether k is the column with the given index.
func (k fieldKind) is(column int) bool { return k.name == fieldKinds[column].name }

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
	if rule, err := f.kind.rule(entry); rule != nil || err != nil {
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

var errNoHashName = errors.New("the value of H comes from the job's name, which is not known here: give it (explain --job NAME), or write a value")

// isHash reports whether a part of a field is H or H(a-b).
func isHash(text string) bool {
	return strings.EqualFold(text, "H") || len(text) > 1 && strings.EqualFold(text[:2], "H(")
}

// hashRange reads the values from which H is chosen.
func (k fieldKind) hashRange(text, name string) (span, error) {
	if name == "" {
		return span{}, errNoHashName
	}
	s := span{lo: k.min, hi: k.hashMax, step: 1}
	if len(text) == 1 {
		return s, nil
	}
	inner, closed := strings.CutSuffix(text[2:], ")")
	if !closed || !strings.Contains(inner, "-") {
		return span{}, fmt.Errorf("%q is not a valid range: write H(%d-%d)", text, k.min, k.hashMax)
	}
	return k.valueOrRange(inner, false)
}

// hash chooses by the name: one value of the range or, with a step, the start within the
// first step.
func (k fieldKind) hash(s span, name string, stepped bool) span {
	choices := s.hi - s.lo + 1
	if stepped {
		choices = s.step
	}
	s.lo += int(nameHash(name, k.name) % uint64(choices))
	if !stepped {
		s.lo = k.wrap(s.lo)
		s.hi = s.lo
	}
	return s
}

// nameHash differs between fields, so a job at minute 17 need not be the one at hour 17. It
// must never change: jobs would move.
func nameHash(name, field string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, field+"\x00"+name) // a hash never fails
	x := h.Sum64()                              // FNV hardly moves the high bits for names that differ at their end
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd // MurmurHash3's 64-bit finaliser
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

package schedule

import "strings"

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

package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"
)

// Planned is a future tick.
type Planned struct {
	Tick time.Time
	// Note says how a change of the clocks affects the tick, whether it is the first or the
	// last, or which calendar excludes it; "" if nothing.
	Note string
	// Excluded: a calendar excludes the tick, so there is none.
	Excluded bool
}

func (p *Planned) note(text string) {
	if p.Note != "" {
		p.Note += "; "
	}
	p.Note += text
}

// Preview returns the next n ticks after from, fewer if the schedule ends.
func Preview(s Schedule, from time.Time, n int) []Planned {
	planned := []Planned{}
	for p := range Coming(s, from, false) {
		if len(planned) == n {
			break
		}
		planned = append(planned, p)
	}
	return planned
}

// Coming yields the ticks after from; with excluded, also those that calendars exclude.
func Coming(s Schedule, from time.Time, excluded bool) iter.Seq[Planned] {
	return func(yield func(Planned) bool) {
		for p := plan(s, from, excluded); !p.Tick.IsZero() && yield(p); {
			p = plan(s, p.Tick, excluded)
		}
	}
}

// A planner is a Schedule with notes on its ticks.
type planner interface {
	// plan is Next and, if asked for, also returns excluded ticks.
	plan(after time.Time, excluded bool) Planned
}

func plan(s Schedule, after time.Time, excluded bool) Planned {
	if p, ok := s.(planner); ok {
		return p.plan(after, excluded)
	}
	return Planned{Tick: s.Next(after)}
}

func (z *zoned) plan(after time.Time, _ bool) Planned {
	p := Planned{Tick: z.Next(after)}
	if !p.Tick.IsZero() {
		p.Note = z.note(p.Tick)
	}
	return p
}

// LeastGap returns the shortest time between two of the first thousand ticks of s from 2026
// on, which limits the jitter; false if there are none to compare. It does not depend on
// today's date, so a valid configuration stays valid.
func LeastGap(s Schedule) (time.Duration, bool) {
	least, last := time.Duration(math.MaxInt64), s.Next(time.Date(2026, 1, 1, 0, 0, 0, -1, time.UTC))
	for range 1000 {
		next := s.Next(last)
		if last.IsZero() || next.IsZero() {
			break
		}
		least, last = min(least, next.Sub(last)), next
	}
	return least, least < math.MaxInt64
}

// LastTicks returns the last n wanted ticks of a schedule between from and before, oldest
// first, and whether there are no others. A schedule can only be walked forward, so it
// searches longer and longer spans: the cost does not grow with the time since from.
func LastTicks(s Schedule, from, before time.Time, n int, wanted func(time.Time) bool) (list []time.Time, whole bool) {
	for span := time.Minute; ; span *= 4 {
		begin := before.Add(-span)
		if from.After(begin) {
			begin = from
		}
		list, whole = nil, begin.Equal(from)
		for at := s.Next(begin); !at.IsZero() && at.Before(before); at = s.Next(at) {
			if !wanted(at) {
				continue
			}
			if list = append(list, at); len(list) > 2*n { // rarely, so the newest stay
				list, whole = append(list[:0], list[len(list)-n:]...), false
			}
		}
		if whole || len(list) >= n {
			over := max(0, len(list)-n)
			return list[over:], whole && over == 0
		}
	}
}

// ErrNoDefinition is for schedules of other packages: only a replica that has the schedule
// can compute its ticks.
var ErrNoDefinition = errors.New("the schedule has no written form")

// Definition encodes a schedule of this package as text, from which ParseDefinition makes
// an equal one. For other schedules it returns ErrNoDefinition.
func Definition(s Schedule) (string, error) {
	d, err := define(s)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(d)
	return string(text), err
}

// ParseDefinition reads what Definition wrote.
func ParseDefinition(text string) (Schedule, error) {
	var d definition
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return nil, fmt.Errorf("reading the definition of a schedule: %w", err)
	}
	return d.schedule()
}

// A definition is one of: a spec; any of several; one with calendars; one with bounds. The
// nodes store it: only add optional fields.
type definition struct {
	Spec    string     `json:"spec,omitempty"`
	Zone    zoneName   `json:"zone,omitzero"` // of the spec, or of the days of calendars
	Gap     DSTGap     `json:"gap,omitempty"`
	Overlap DSTOverlap `json:"overlap,omitempty"`
	Name    string     `json:"name,omitempty"` // from which H is hashed

	Any []definition `json:"any,omitempty"`

	Of      *definition `json:"of,omitempty"`
	Exclude []*Calendar `json:"exclude,omitempty"`
	Start   time.Time   `json:"start,omitzero"`
	End     time.Time   `json:"end,omitzero"`
}

func define(s Schedule) (definition, error) {
	switch s := s.(type) {
	case *zoned:
		return definition{Spec: s.text, Zone: zoneName{s.loc}, Gap: s.dst.Gap, Overlap: s.dst.Overlap, Name: s.name}, nil
	case Every:
		return s.define()
	case At:
		return definition{Spec: atKeyword + " " + s.Time.UTC().Format(time.RFC3339Nano)}, nil
	case union:
		all := make([]definition, len(s))
		for i, member := range s {
			var err error
			if all[i], err = define(member); err != nil {
				return definition{}, err
			}
		}
		return definition{Any: all}, nil
	case excluding:
		of, err := define(s.Schedule)
		return definition{Of: &of, Exclude: s.calendars, Zone: zoneName{s.zone}}, err
	case between:
		of, err := define(s.Schedule)
		return definition{Of: &of, Start: s.start, End: s.end}, err
	}
	return definition{}, fmt.Errorf("%w: it is a %T", ErrNoDefinition, s)
}

// define writes the spec, if there is one: Go code may use less than a second.
func (e Every) define() (definition, error) {
	d := definition{Spec: fmt.Sprintf("%s %s offset %s", everyKeyword, e.Interval, e.Offset)}
	if again, err := Parse(d.Spec, Options{}); err != nil || again != e {
		return definition{}, fmt.Errorf("%w: %w", ErrNoDefinition, err)
	}
	return d, nil
}

func (d definition) schedule() (Schedule, error) {
	switch {
	case d.Any != nil:
		all := make([]Schedule, len(d.Any))
		for i, member := range d.Any {
			var err error
			if all[i], err = member.schedule(); err != nil {
				return nil, err
			}
		}
		return Union(all...), nil
	case d.Of != nil:
		of, err := d.Of.schedule()
		if err == nil {
			of, err = Exclude(of, d.Zone.Location, d.Exclude...)
		}
		if err != nil || d.Start.IsZero() && d.End.IsZero() {
			return of, err
		}
		return Between(of, d.Start, d.End)
	}
	return Parse(d.Spec, Options{Location: d.Zone.Location, DST: DSTPolicy{d.Gap, d.Overlap}, Name: d.Name})
}

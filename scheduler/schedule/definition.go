package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

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

package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// storedCalendar is a calendar as it is published and compared.
type storedCalendar struct {
	Name   string        `json:"name"`
	Zone   string        `json:"zone,omitempty"`
	Days   []string      `json:"days,omitempty"`
	Events []storedEvent `json:"events,omitempty"`
}

type storedEvent struct {
	Start    string `json:"start"` // civil
	Zone     string `json:"zone,omitempty"`
	Days     int    `json:"days,omitempty"`
	Seconds  int64  `json:"seconds,omitempty"`
	Interval int    `json:"interval,omitempty"`
	Count    int    `json:"count,omitempty"`
	Until    string `json:"until,omitempty"`
}

const storedTime = "2006-01-02T15:04:05"

// MarshalJSON writes all that the calendar holds: equal texts, equal days.
func (c *Calendar) MarshalJSON() ([]byte, error) {
	stored := storedCalendar{Name: c.name, Zone: zoneName(c.zone), Days: c.days}
	for _, s := range c.stretches {
		e := storedEvent{
			Start: s.start.Format(storedTime), Zone: zoneName(s.zone), Days: s.days, Seconds: int64(s.rest / time.Second),
			Interval: s.years.interval, Count: s.years.count,
		}
		if !s.years.until.IsZero() {
			e.Until = s.years.until.Format(storedTime)
		}
		stored.Events = append(stored.Events, e)
	}
	return json.Marshal(stored)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Calendar) UnmarshalJSON(text []byte) error {
	var stored storedCalendar
	if err := json.Unmarshal(text, &stored); err != nil {
		return err
	}
	zone, err := storedZone(stored.Zone)
	if err != nil {
		return err
	}
	*c = Calendar{name: stored.Name, zone: zone}
	for _, days := range stored.Days {
		if err := c.Add(days); err != nil {
			return err
		}
	}
	var stretches []stretch
	for _, e := range stored.Events {
		s, err := e.stretch()
		if err != nil {
			return fmt.Errorf("calendar %s: %w", stored.Name, err)
		}
		stretches = append(stretches, s)
	}
	c.addStretches(stretches)
	return nil
}

func (e storedEvent) stretch() (stretch, error) {
	start, err := time.Parse(storedTime, e.Start)
	if err != nil {
		return stretch{}, err
	}
	s := stretch{start: start, days: e.Days, rest: time.Duration(e.Seconds) * time.Second}
	s.years = yearlyRule{interval: max(e.Interval, 0), count: e.Count}
	if e.Until != "" {
		if s.years.until, err = time.Parse(storedTime, e.Until); err != nil {
			return stretch{}, err
		}
	}
	s.zone, err = storedZone(e.Zone)
	return s, err
}

// storedZone is nil for no name.
func storedZone(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	return LoadZone(name)
}

func zoneName(zone *time.Location) string {
	if zone == nil {
		return ""
	}
	return cmp.Or(zone.String(), "UTC")
}

package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/schedule"
)

// Specs are the schedules of a job; in the file also one as plain text.
type Specs []string

// String joins the specs as listings show them.
func (s Specs) String() string { return strings.Join(s, " | ") }

// MarshalJSON writes one spec as plain text.
func (s Specs) MarshalJSON() ([]byte, error) {
	if len(s) == 1 {
		return json.Marshal(s[0])
	}
	return json.Marshal([]string(s))
}

// CalendarConfig is a set of days and times without ticks.
type CalendarConfig struct {
	Dates    []string `json:"dates,omitempty" jsonschema:"2026-12-25, 2026-12-24..2027-01-01, and *-12-25 or *-12-24..*-01-01 for every year."`
	ICS      string   `json:"ics,omitempty" jsonschema:"An iCalendar file, relative to this one."`
	Timezone string   `json:"timezone,omitempty" jsonschema:"Time zone of its days; default: that of each schedule."`
}

// schedule puts the schedule of the job at p together and reports what is
// wrong with it. Unknown zones and calendars are reported elsewhere.
func (b *builder) schedule(p path, job JobConfig) schedule.Schedule {
	if job.Program != nil && job.Program.Schedule != nil {
		b.jitter(p.with("jitter"), job.Program.Schedule, job.Jitter)
		return job.Program.Schedule
	}
	if len(job.Schedule) == 0 {
		if !b.has(p.with("schedule")) {
			b.at(p, "has no schedule; write one such as `schedule: \"@every 30s\"`")
		}
		return nil
	}
	own, err := schedule.LoadZone(cmp.Or(job.Timezone, b.cfg.Scheduler.Timezone))
	if err != nil {
		return nil
	}
	opts := schedule.Options{
		Location: own,
		Name:     cmp.Or(job.Formerly, p[len(p)-1]), // a new name must not move the ticks of H
		DST:      job.DST,
	}
	specs := b.specs(p.with("schedule"), job.Schedule, opts, job.Timezone)
	if specs == nil {
		return nil
	}
	zone, _ := schedule.LoadZone(b.timezone(job)) // the specs can be read, so it can
	s := b.limited(p, specs, zone, job.JobPolicy)
	if s != nil {
		b.jitter(p.with("jitter"), s, job.Jitter)
	}
	return s
}

// zoneOf returns the prefix of a spec that names a time zone, and its name.
func zoneOf(spec string) (prefix, zone string) {
	prefix, _, _ = strings.Cut(strings.TrimSpace(spec), " ")
	if key, zone, _ := strings.Cut(prefix, "="); key == "CRON_TZ" || key == "TZ" {
		return prefix, zone
	}
	return "", ""
}

// specs reads every spec of a job, which names ownZone; nil if one is wrong.
func (b *builder) specs(p path, specs Specs, opts schedule.Options, ownZone string) schedule.Schedule {
	var all []schedule.Schedule
	for i, spec := range specs {
		s, err := schedule.Parse(spec, opts)
		if prefix, zone := zoneOf(spec); err == nil && zone != "" && ownZone != "" && zone != ownZone {
			err = fmt.Errorf("%s contradicts the job's timezone, %s; remove one", prefix, ownZone)
		}
		if err == nil {
			all = append(all, s)
			continue
		}
		at := b.origin.item(p, i)
		if known, ok := errors.AsType[*schedule.SpecError](err); ok {
			b.inside(at, known.Pos, "%s", known.Msg)
		} else {
			b.at(at, "%v", err)
		}
	}
	if len(all) < len(specs) {
		return nil
	}
	return schedule.Union(all...)
}

// limited applies calendars and bounds; nil if they leave nothing.
func (b *builder) limited(p path, s schedule.Schedule, zone *time.Location, policy JobPolicy) schedule.Schedule {
	var excluded []*schedule.Calendar
	for _, name := range policy.Exclude {
		if c := b.calendars[name]; c != nil {
			excluded = append(excluded, c)
		}
	}
	s, err := schedule.Exclude(s, zone, excluded...)
	if err != nil {
		b.at(p.with("exclude"), "%v", err)
		return nil
	}
	if policy.StartsAt.IsZero() && policy.EndsAt.IsZero() {
		return s
	}
	if s, err = schedule.Between(s, policy.StartsAt, policy.EndsAt); err != nil {
		at := p.with("ends_at")
		if policy.EndsAt.IsZero() {
			at = p.with("starts_at")
		}
		b.at(at, "%v", err)
		return nil
	}
	return s
}

// jitter checks that a tick starts before the next one comes.
func (b *builder) jitter(p path, s schedule.Schedule, jitter time.Duration) {
	if jitter == 0 || !b.checkPositive(p, jitter) {
		return
	}
	if gap, ok := schedule.LeastGap(s); ok && jitter >= gap {
		b.at(p, "%s is not shorter than the time between two ticks, at least %s; write less", short(jitter), short(gap))
	}
}

// read fills a calendar.
func (cfg CalendarConfig) read(ps *problems, name string) *schedule.Calendar {
	p := path{"calendars", name}
	ps.checkName(p, "a calendar name")
	var zone *time.Location
	if cfg.Timezone != "" {
		ps.checkZone(p.with("timezone"), cfg.Timezone)
		zone, _ = schedule.LoadZone(cfg.Timezone) // nil: reported
	}
	if len(cfg.Dates) == 0 && cfg.ICS == "" && !ps.has(p) {
		ps.at(p, "has no day; write dates such as `dates: [2026-12-25]`, or ics and the name of a file")
	}
	c := schedule.NewCalendar(name, zone)
	for i, days := range cfg.Dates {
		if err := c.Add(days); err != nil {
			ps.at(p.with("dates", strconv.Itoa(i)), "%v", err)
		}
	}
	if cfg.ICS != "" {
		ps.ics(p.with("ics"), c, cfg.ICS)
	}
	return c
}

// ics takes in an iCalendar file.
func (ps *problems) ics(p path, c *schedule.Calendar, file string) {
	text, err := ps.origin.read(file)
	if err != nil {
		ps.at(p, "cannot be read: %v; write a path, relative to the configuration file", err)
		return
	}
	err = c.AddICS(text)
	if wrong, ok := errors.AsType[*schedule.CalendarError](err); ok {
		ps.at(p, "%s:%d: %s", file, wrong.Line, wrong.Msg)
	} else if err != nil {
		ps.at(p, "%s: %v", file, err)
	}
}

// checkExcluded reports names of calendars that do not exist.
func (b *builder) checkExcluded(p path, names []string) {
	for i, name := range names {
		if _, ok := b.calendars[name]; ok {
			continue
		}
		known := "write it under calendars"
		if len(b.calendars) > 0 {
			known = "known: " + strings.Join(slices.Sorted(maps.Keys(b.calendars)), ", ")
		}
		b.at(p.with("exclude", strconv.Itoa(i)), "no calendar is called %q; %s", name, known)
	}
}

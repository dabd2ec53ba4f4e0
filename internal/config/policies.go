package config

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/commands"
)

// Or returns the policy with the settings of the defaults in place of its zero values. A list or
// map that is empty, but not nil, is no zero value. Of two pauses between calls, the one that is
// set bounds the other.
func (policy JobPolicy) Or(defaults JobPolicy) JobPolicy {
	own := policy.Retry
	orDefault(reflect.ValueOf(&policy).Elem(), reflect.ValueOf(defaults))
	if own.MaxBackoff == 0 {
		policy.Retry.MaxBackoff = max(policy.Retry.MaxBackoff, own.Backoff)
	}
	if own.Backoff == 0 {
		policy.Retry.Backoff = min(policy.Retry.Backoff, policy.Retry.MaxBackoff)
	}
	return policy
}

func orDefault(own, defaults reflect.Value) {
	for i := range own.NumField() {
		switch field := own.Field(i); {
		case field.IsZero():
			field.Set(defaults.Field(i))
		case field.Kind() == reflect.Struct && field.Type() != reflect.TypeFor[time.Time]():
			orDefault(field, defaults.Field(i))
		}
	}
}

// check checks the settings that differ from those around them, whose mistakes are reported
// once: a job's from the defaults, theirs from those of an empty file.
func (policy JobPolicy) check(ps *problems, p path, around JobPolicy) {
	if policy.Timezone != around.Timezone && policy.Timezone != "" {
		ps.checkZone(p.with("timezone"), policy.Timezone)
	}
	if policy.Retry != around.Retry || policy.Timeout != around.Timeout {
		policy.checkRetry(ps, p.with("retry"))
	}
	if !maps.Equal(policy.Labels, around.Labels) {
		ps.checkLabels(p.with("labels"), policy.Labels)
	}
	if policy.CatchUp != around.CatchUp {
		ps.checkPositive(p.with("catch_up", "window"), policy.CatchUp.Window)
		if n := policy.CatchUp.Max; n < 1 {
			ps.at(p.with("catch_up", "max"), "%d ticks are none; write a number from 1, or `mode: none`", n)
		}
	}
	if !slices.Equal(policy.Tags, around.Tags) {
		ps.checkTags(p.with("tags"), policy.Tags)
	}
}

// checkTags checks what jobs are paused by.
func (ps *problems) checkTags(p path, tags []string) {
	for i, tag := range tags {
		if !commands.ValidTag(tag) {
			ps.at(p.with(strconv.Itoa(i)), "%q is not a tag; use up to 100 letters, digits and . _ -, starting with a letter or digit", tag)
		}
	}
}

// What is kept in etcd and ZooKeeper.
const (
	// smallKeep is the default of history.keep there.
	smallKeep = 100
	// entryBytes is what an entry takes there, with its key.
	entryBytes = 1400
)

// checkHistory makes sure that the store bears the history of all jobs.
func (c *Config) checkHistory(ps *problems) {
	store := c.store()
	total := 0
	for _, job := range c.Jobs {
		runs, others := job.History.Keep, job.History.Keep
		total += (runs+others)*entryBytes + job.History.MaxBytes
	}
	if store.mostHistory > 0 && total > store.mostHistory {
		ps.at(path{"defaults", "history"}, "the history of all %d jobs may reach %d MiB, and %s bears %d MiB; lower history.keep or history.max_bytes of the jobs that run often",
			len(c.Jobs), total>>20, store.name, store.mostHistory>>20)
	}
}

func (h HistoryConfig) build() jobs.History {
	return jobs.History{Keep: h.Keep, MaxAge: h.MaxAge, MaxBytes: cmp.Or(h.MaxBytes, -1)}
}

// labelWord is what a label and its value may look like: they stand in reasons
// and listings as key=value.
var labelWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$`)

// checkLabels checks what a replica has, or a job wants.
func (ps *problems) checkLabels(p path, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		const rule = "use up to 100 letters, digits and . _ / -, starting with a letter or digit"
		if !labelWord.MatchString(key) {
			ps.atKey(p.with(key), "%q is not a label; %s", key, rule)
		} else if value := labels[key]; !labelWord.MatchString(value) && !ps.has(p.with(key)) {
			ps.at(p.with(key), "%q is not the value of a label; %s", value, rule)
		}
	}
}

// checkRetry checks how often a function is called again, and when.
func (policy JobPolicy) checkRetry(ps *problems, p path) {
	r := policy.Retry
	if r.Attempts < 1 && !ps.has(p.with("attempts")) {
		ps.at(p.with("attempts"), "%d calls of the function are none; write 1 for no retry, or more", r.Attempts)
	}
	ps.checkRange(p.with("attempt_timeout"), reflect.ValueOf(r.AttemptTimeout), "0..", "")
	if policy.Timeout > 0 && r.AttemptTimeout > policy.Timeout {
		ps.at(p.with("attempt_timeout"), "%v is above the timeout of the whole run (%v), so it would never be reached; write less, or raise timeout",
			r.AttemptTimeout, policy.Timeout)
	}
	positive := ps.checkPositive(p.with("backoff"), r.Backoff)
	if ps.checkPositive(p.with("max_backoff"), r.MaxBackoff) && positive && r.Backoff > r.MaxBackoff {
		ps.at(p.with("backoff"), "%v is above max_backoff (%v); lower it, or raise max_backoff", r.Backoff, r.MaxBackoff)
	}
}

// checkGroup checks the name of a group that a job is in.
func (b *builder) checkGroup(p path, name string) {
	if _, known := b.cfg.Groups[name]; name == "" || known {
		return
	}
	names := slices.Sorted(maps.Keys(b.cfg.Groups))
	switch near := decode.Nearest(name, names); {
	case near != "":
		b.at(p, "no group is named %q; did you mean %s?", name, near)
	case len(names) > 0:
		b.at(p, "no group is named %q; groups has %s", name, strings.Join(names, ", "))
	default:
		b.at(p, "no group is named %q; write it under groups, such as `groups: {%s: {max_running: 1}}`", name, name)
	}
}

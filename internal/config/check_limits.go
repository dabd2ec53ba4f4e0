package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/decode"
)

// labelWord is what a label and its value may look like: they stand in reasons
// and listings as key=value.
var labelWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$`)

// labels checks what a replica has, or a job wants.
func (ps *problems) labels(p path, labels map[string]string) {
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
	ps.notNegative(p.with("attempt_timeout"), r.AttemptTimeout)
	if policy.Timeout > 0 && r.AttemptTimeout > policy.Timeout {
		ps.at(p.with("attempt_timeout"), "%v is above the timeout of the whole run (%v), so it would never be reached; write less, or raise timeout",
			r.AttemptTimeout, policy.Timeout)
	}
	positive := ps.positive(p.with("backoff"), r.Backoff)
	if ps.positive(p.with("max_backoff"), r.MaxBackoff) && positive && r.Backoff > r.MaxBackoff {
		ps.at(p.with("backoff"), "%v is above max_backoff (%v); lower it, or raise max_backoff", r.Backoff, r.MaxBackoff)
	}
}

// checkGroups checks the limits that jobs share.
func (b *builder) checkGroups() {
	for _, name := range slices.Sorted(maps.Keys(b.cfg.Groups)) {
		p := path{"groups", name}
		if !jobName.MatchString(name) {
			b.atKey(p, "%q is not the name of a group; use up to 100 letters, digits and . _ -, starting with a letter or digit", name)
		}
		if n := b.cfg.Groups[name].MaxRunning; n < 1 && !b.has(p.with("max_running")) && !b.has(p) {
			b.at(p.with("max_running"), "%d runs at once are none; write 1 or more", n)
		}
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

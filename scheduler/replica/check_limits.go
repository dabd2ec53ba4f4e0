package replica

import (
	"maps"
	"regexp"
	"slices"
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

// retry checks how often a function is called again, and when.
func (ps *problems) retry(p path, policy JobPolicy) {
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

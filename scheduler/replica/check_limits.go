package replica

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

package scheduler

import "time"

// An Account says how far back a job's ticks have to be accounted for, and since when
// they were nobody's. The zero Account knows nothing. What is lost of one makes replicas
// look further back, no more.
type Account struct {
	// First is when a replica first served the job: earlier ticks were nobody's.
	First time.Time
	// Until is how far the job is accounted for: each earlier tick has an entry in the
	// ledger, or was nobody's.
	Until time.Time
	// Stopped is when the last replica drained while no other one lived.
	Stopped time.Time
	// Removed is when the last replica that served the job took it out of its
	// configuration. Later ticks were nobody's, until a replica served the job again.
	Removed time.Time
}

// Merge puts together what two say of one job.
func (a Account) Merge(b Account) Account {
	if a.First.IsZero() || !b.First.IsZero() && b.First.Before(a.First) {
		a.First = b.First
	}
	a.Until = later(a.Until, b.Until)
	a.Stopped = later(a.Stopped, b.Stopped)
	a.Removed = later(a.Removed, b.Removed)
	return a
}

// begin is the first instant of which a tick may lack an entry; zero: not known.
func (a Account) begin() time.Time {
	if a.First.IsZero() || a.Until.After(a.First) {
		return a.Until
	}
	return a.First.Add(1) // a tick at that instant came too early
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// accountOf is the account of the job whose published versions these are.
func accountOf(versions []JobInfo) Account {
	var a Account
	for _, v := range versions {
		a = a.Merge(v.Account)
	}
	return a
}

// An absence is a span of time in which no replica served a job: after from, before to.
type absence struct{ from, to time.Time }

// Has tells whether a tick falls into the absence.
func (a absence) has(tick time.Time) bool { return tick.After(a.from) && tick.Before(a.to) }

// removal is when the job was removed and not yet put back, as the account and the
// published versions tell one that serves the job since begun; zero where it was not, or
// where it is accounted for what came later.
func (a Account) removal(versions []JobInfo, begun time.Time) absence {
	if a.Removed.IsZero() || a.Removed.Before(a.Until) {
		return absence{}
	}
	back := begun
	for _, v := range versions {
		switch again := v.Since.After(a.Removed); {
		case again && v.Since.Before(back):
			back = v.Since
		case !again && v.Published.After(a.Removed):
			return absence{} // another replica served it all the while
		}
	}
	return absence{a.Removed, back}
}

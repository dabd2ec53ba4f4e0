package roster

import "time"

// An Account says from when on every tick of a job has an entry. The zero Account knows
// nothing. If part of one is lost, replicas only look further back.
type Account struct {
	// First is when a replica that served the job first could run its ticks. Earlier ones are
	// not accounted for.
	First time.Time
	// Until: every earlier tick has an entry in the ledger, or needs none.
	Until time.Time
	// Stopped is when the last replica drained while no other one lived.
	Stopped time.Time
	// Removed is when the last replica that served the job took it out of its
	// configuration. Later ticks need no entry until a replica serves the job again.
	Removed time.Time
}

// Merge combines two accounts of one job.
func (a Account) Merge(b Account) Account {
	if a.First.IsZero() || !b.First.IsZero() && b.First.Before(a.First) {
		a.First = b.First
	}
	a.Until = Later(a.Until, b.Until)
	a.Stopped = Later(a.Stopped, b.Stopped)
	a.Removed = Later(a.Removed, b.Removed)
	return a
}

// Begin is the time from which ticks may lack an entry; zero: unknown.
func Begin(a Account) time.Time {
	if a.First.IsZero() || a.Until.After(a.First) {
		return a.Until
	}
	return a.First.Add(1) // a tick at that instant came too early
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// AccountOf merges the accounts of a job's published versions.
func AccountOf(versions []JobInfo) Account {
	var a Account
	for _, v := range versions {
		a = a.Merge(v.Account)
	}
	return a
}

// An absence is a time span in which no replica served a job, both ends excluded.
type absence struct{ from, to time.Time }

// Has reports whether the tick falls into the absence.
func (a absence) Has(tick time.Time) bool { return tick.After(a.from) && tick.Before(a.to) }

// Removal is the time in which the job was removed and not yet added again, seen by a
// replica that serves it since begun. It is zero if there was none, or if later ticks are
// accounted for.
func Removal(a Account, versions []JobInfo, begun time.Time) absence {
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

// Accounts are the accounts of the jobs on one replica. They need not be exact: a replica
// that reads the past looks further back if they lag.
type Accounts struct {
	First  time.Time            // when the replica first could run ticks; zero: it never could
	Until  map[string]time.Time // by key; without jobs whose past it does not know
	Behind bool                 // there are such jobs that it may run
}

// Package schedule says when a job is due.
//
// [Parse] reads a cron spec, "@every 5m" or "@at 2027-01-01T00:00:00Z". Schedules can be
// combined: [Union] has the ticks of several, [Exclude] removes the days of a [Calendar],
// and [Between] sets a start and an end. [Describe] describes a schedule in words, and
// [Preview] lists its next ticks.
//
// Ticks follow from the definition alone, so all replicas compute the same ones.
// [Definition] writes it as text, from which [ParseDefinition] makes an equal
// schedule elsewhere.
package schedule

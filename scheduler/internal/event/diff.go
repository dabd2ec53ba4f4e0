package event

import (
	"fmt"
	"strings"
)

// A Diff is what an update changes. Every list is sorted by the names that the jobs have
// afterwards; for removed jobs, before.
type Diff struct {
	Added   []string
	Changed []string // the same job with another Hash
	Renamed []Rename // the same Key under another name; also in Changed if more changes
	Removed []string
	// Settings returns the Job.Settings of a job in Changed, before and after.
	Settings func(job string) (before, after any)
}

// A Rename is a job with a new name.
type Rename struct{ From, To string }

// Empty reports whether nothing changes.
func (d Diff) Empty() bool {
	return len(d.Added)+len(d.Changed)+len(d.Renamed)+len(d.Removed) == 0
}

// String lists what changes in one line.
func (d Diff) String() string {
	var parts []string
	say := func(what string, names []string) {
		if len(names) > 0 {
			parts = append(parts, what+" "+strings.Join(names, ", "))
		}
	}
	say("added", d.Added)
	say("changed", d.Changed)
	for _, r := range d.Renamed {
		parts = append(parts, fmt.Sprintf("renamed %s to %s", r.From, r.To))
	}
	say("removed", d.Removed)
	if len(parts) == 0 {
		return "nothing changed"
	}
	return strings.Join(parts, "; ")
}

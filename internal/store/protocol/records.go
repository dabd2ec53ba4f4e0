package protocol

import (
	"cmp"
	"slices"
)

// A Record describes a run.
type Record struct {
	Place
	Owner string
	// Ended is what FINISH answered; empty if the end of the run is unknown.
	Ended Code
	Note  string
}

// Records are the records of a job's runs, oldest tick first. In addition, a claim in
// the State that is neither void nor ended is a run that started.
type Records struct {
	List []Record
	// Dropped is the latest tick whose record was dropped.
	Dropped int64
}

func startedRecord(stream string, c Claim) Record {
	return Record{Place: Place{stream, c.Tick}, Owner: c.Owner, Note: c.Note}
}

// with adds a record and drops the oldest ones beyond keep. Stores keep Dropped among
// the records, so it takes the place of one older record.
func (r Records) with(record Record, keep int) Records {
	at, _ := slices.BinarySearchFunc(r.List, record, compareRecords)
	r.List = slices.Insert(slices.Clone(r.List), at, record)
	extra := len(r.List) - keep
	if extra >= 0 && len(r.List) > extra && r.List[extra].Tick < r.Dropped {
		extra++
	}
	return r.DropOldest(extra)
}

// DropOldest drops the first n records.
func (r Records) DropOldest(n int) Records {
	if n = min(n, len(r.List)); n > 0 {
		r.Dropped = max(r.Dropped, r.List[n-1].Tick)
		r.List = r.List[n:]
	}
	return r
}

// compareRecords orders records as their stored text does: kind, then note.
func compareRecords(a, b Record) int {
	return cmp.Or(cmp.Compare(a.Tick, b.Tick), cmp.Compare(a.Kind(), b.Kind()), cmp.Compare(a.Note, b.Note),
		cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Owner, b.Owner))
}

// Kind is the letter stored before the note: S for a run that started, R for one that
// expired, L for one that ended late, F for any other.
func (r Record) Kind() byte {
	switch r.Ended {
	case "":
		return 'S'
	case RanOut:
		return 'R'
	case Late:
		return 'L'
	}
	return 'F'
}

// drop drops the records that f selects.
func (r Records) drop(f func(Record) bool) Records {
	if slices.ContainsFunc(r.List, f) {
		r.List = slices.DeleteFunc(slices.Clone(r.List), f)
	}
	return r
}

// endOf is what FINISH answered to an owner; empty without such a record.
func (r Records) endOf(owner string) Code {
	for _, x := range r.List {
		if x.Owner == owner && x.Ended != "" {
			return x.Ended
		}
	}
	return ""
}

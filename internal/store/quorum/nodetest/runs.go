package nodetest

import (
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/store/protocol"
)

// gone is the record whose tick is the latest dropped.
const gone = "E"

// A Run is a record of a job.
type Run struct {
	Tick   float64
	Record string
}

// Runs returns the records at a key, runs or notes, as a server keeps them.
func (s *State) Runs(key string) []Run {
	job, ok := strings.CutSuffix(key, "runs")
	if !ok {
		return s.Notes[key]
	}
	kept := s.Jobs[job].Runs
	var runs []Run
	for _, r := range kept.List {
		runs = append(runs, Run{float64(r.Tick), string(r.Kind()) + r.Note})
	}
	if kept.Dropped > 0 {
		runs = inserted(runs, Run{float64(kept.Dropped), gone})
	}
	return runs
}

func inserted(runs []Run, r Run) []Run {
	i, _ := slices.BinarySearchFunc(runs, r, compareRuns)
	return slices.Insert(runs, i, r)
}

func compareRuns(a, b Run) int {
	switch {
	case a.Tick < b.Tick:
		return -1
	case a.Tick > b.Tick:
		return 1
	}
	return strings.Compare(a.Record, b.Record)
}

// addNote stores a note; one with the same text moves to the tick.
func (s *State) addNote(key string, tick float64, record string) {
	s.dropNotes(key, func(r Run) bool { return r.Record == record })
	s.Notes[key] = inserted(s.Notes[key], Run{tick, record})
}

// dropNotes drops notes, and a key without notes.
func (s *State) dropNotes(key string, which func(Run) bool) {
	if s.Notes[key] = slices.DeleteFunc(s.Notes[key], which); len(s.Notes[key]) == 0 {
		delete(s.Notes, key)
	}
}

// bound drops the oldest records beyond keep. The record gone keeps the latest tick of
// those.
func (s *State) bound(key, keep string) error {
	n, ok := number(keep)
	if !ok || n < 0 {
		return scriptError("value is not an integer: %q", keep)
	}
	s.trim(key, len(s.Runs(key))-int(n))
	return nil
}

// trim drops the first n records and keeps their latest tick.
func (s *State) trim(key string, n int) {
	runs := s.Runs(key)
	if n <= 0 || len(runs) == 0 {
		return
	}
	goes := runs[:min(n, len(runs))]
	if name, ok := strings.CutSuffix(key, "runs"); ok {
		job := s.Jobs[name]
		records := slices.DeleteFunc(slices.Clone(goes), func(r Run) bool { return r.Record == gone })
		job.Runs = job.Runs.DropOldest(len(records))
		s.setJob(name, job)
		return
	}
	at := goes[len(goes)-1].Tick
	for _, r := range runs {
		if r.Record == gone {
			at = max(at, r.Tick)
		}
	}
	s.Notes[key] = slices.Clone(runs[len(goes):])
	s.addNote(key, at, gone)
}

// locks are the values of the job's lock, and of the locks of the given runs that may
// overlap.
func (c *call) locks(job protocol.State, places []protocol.Place) []string {
	leases := []protocol.Lease{job.Lock}
	for _, p := range places {
		leases = append(leases, job.TickLocks[p])
	}
	var values []string
	for _, l := range leases {
		value := ""
		if c.lasts(l) {
			value = Value(l)
		}
		values = append(values, value)
	}
	return values
}

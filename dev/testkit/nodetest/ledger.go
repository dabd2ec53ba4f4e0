package nodetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/store/protocol"
)

// record is N7: the outcome of a tick that did not run. The highest record of a tick
// and stream stays. Keys: notes. Arguments: tick, prefix of such records of the stream,
// the record, limit of notes.
func (c *call) record() ([]string, error) {
	notes := c.keys[1]
	tick, ok := number(c.arg(1))
	if !ok {
		return nil, scriptError("min or max is not a float: %q", c.arg(1))
	}
	if tick > c.now+c.grace/2 {
		return answer("FUTURE")
	}
	c.n.addNote(notes, tick, c.arg(3))
	highest, reply := c.arg(3), "OK"
	of := func(r Run) bool { return r.Tick == tick && strings.HasPrefix(r.Record, c.arg(2)) }
	for _, r := range c.n.Notes[notes] {
		if of(r) && r.Record != c.arg(3) {
			highest, reply = max(highest, r.Record), "KNOWN"
		}
	}
	c.n.dropNotes(notes, func(r Run) bool { return of(r) && r.Record != highest })
	if err := c.n.bound(notes, c.arg(4)); err != nil {
		return nil, err
	}
	return answer(reply)
}

// read returns for each job the tick of the newest record not requested, the latest
// tick dropped, those of the newest dropped runs, the locks, the open claims, the runs and the notes, newest tick first.
// Keys: runs, notes, lock, fence. Arguments: the latest tick (with "(" exclusive), the
// earliest, the limit of each, and "1" if records of a plain end are left out.
func (c *call) read() ([]string, error) {
	reply := []string{"OK"}
	for at := 1; at < len(c.keys); at += 4 {
		part, err := c.readOne(c.keys[at:at+4], c.arg(at), c.arg(at+1), c.arg(at+2), c.arg(at+3) == "1")
		if err != nil {
			return nil, err
		}
		reply = append(reply, part...)
	}
	return reply, nil
}

func (c *call) readOne(keys []string, from, to, limit string, search bool) ([]string, error) {
	text, without := strings.CutPrefix(from, "(")
	latest, ok := number(text)
	earliest, okTo := number(to)
	r := reader{}
	most := r.integer(limit)
	if !ok || !okTo || r.err != nil {
		return nil, scriptError("cannot read from %q to %q, %q records", from, to, limit)
	}
	after := func(tick float64) bool { return tick > latest || without && tick == latest }
	job := c.n.Jobs[strings.TrimSuffix(keys[3], "fence")]
	records, places := openClaims(job, func(tick float64) bool { return !after(tick) && tick >= earliest })
	rest, dropped := -1.0, -1.0
	success, failure := droppedRuns(job.Runs)
	for _, key := range keys[:2] {
		count, more := int64(0), true
		for _, r := range slices.Backward(c.n.Runs(key)) {
			switch {
			case r.Record == gone:
				dropped = max(dropped, r.Tick)
			case r.Tick < 0: // droppedRuns
			case !more || after(r.Tick):
			case count == most || r.Tick < earliest:
				rest, more = max(rest, r.Tick), false
			case search && plain(r.Record):
				count++
			default:
				records, places = append(records, digits(r.Tick)+" "+r.Record), append(places, placeOf(r.Record)...)
				count++
			}
		}
	}
	var locks []string
	if len(records) > 0 {
		locks = c.locks(job, places)
	}
	reply := append([]string{latestText(rest), latestText(dropped), digits(success), digits(failure), integer(len(locks))}, locks...)
	return append(append(reply, integer(len(records))), records...), nil
}

// plain reports whether a record is that of a tick whose end needs no attention.
func plain(record string) bool {
	return record[0] != 'S' && !strings.Contains(record, `"stale":`) && slices.ContainsFunc([]string{"succeeded", "skipped", "cancelled"},
		func(outcome string) bool { return strings.Contains(record, `"outcome":"`+outcome+`"`) })
}

// latestText is empty without a tick.
func latestText(tick float64) string {
	if tick < 0 {
		return ""
	}
	return digits(tick)
}

// openClaims returns the claims of wanted ticks whose runs have not ended, by stream,
// as records, and the places of those that may overlap.
func openClaims(job protocol.State, wanted func(tick float64) bool) (records []string, places []protocol.TickKey) {
	for _, stream := range slices.Sorted(maps.Keys(job.Streams)) {
		claim := job.Streams[stream]
		if claim.Void || claim.Ended != "" || claim.Tick == 0 || !wanted(float64(claim.Tick)) {
			continue
		}
		records = append(records, integer(int(claim.Tick))+" S"+claim.Note)
		if claim.Overlaps {
			places = append(places, protocol.TickKey{Stream: stream, Tick: claim.Tick})
		}
	}
	return records, places
}

// placeOf returns the place of a started run's lock, if it may overlap others.
func placeOf(record string) []protocol.TickKey {
	packed, started := strings.CutPrefix(record, "S")
	words := strings.Fields(packed)
	if !started || len(words) < 7 || words[5] != "1" {
		return nil
	}
	tick, _ := number(words[0])
	return []protocol.TickKey{{Stream: words[6], Tick: int64(tick)}}
}

// gone is the record whose tick is the latest dropped. One with the ticks of the newest dropped
// runs also begins so.
const gone = "E"

// droppedRuns are the newest dropped success and failure: 0 if no run was dropped, negative if
// that is unknown.
func droppedRuns(r protocol.Records) (success, failure float64) {
	switch {
	case r.Dropped == 0:
		return 0, 0
	case r.Success <= 0 && r.Failure <= 0: // nothing is stored of them
		return -1, -1
	}
	return float64(r.Success), float64(r.Failure)
}

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
	if kept.Success > 0 || kept.Failure > 0 {
		runs = inserted(runs, Run{-1, fmt.Sprintf("%s%d,%d,%d", gone, kept.Dropped, kept.Success, kept.Failure)})
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
		records := slices.DeleteFunc(slices.Clone(goes), func(r Run) bool { return strings.HasPrefix(r.Record, gone) })
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
func (c *call) locks(job protocol.State, places []protocol.TickKey) []string {
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

// store stores logs of runs, and drops excess or old data of the job. Keys: runs,
// notes, logs. Arguments: limit of runs, notes and logs, maximum age of a tick in ms
// (0: any), limit of bytes of logs, then names and logs.
func (c *call) store() ([]string, error) {
	most, okMost := number(c.arg(1))
	age, okAge := number(c.arg(2))
	room, okRoom := number(c.arg(3))
	if !okMost || !okAge || !okRoom {
		return nil, scriptError("%q, %q, %q are no bounds", c.arg(1), c.arg(2), c.arg(3))
	}
	earliest := 0.0
	if age > 0 {
		earliest = c.now - age
	}
	if err := c.n.dropOld(c.keys[1], c.keys[2], c.arg(1), earliest); err != nil {
		return nil, err
	}
	logs := maps.Clone(c.n.Logs[c.keys[3]])
	if logs == nil {
		logs = map[string]string{}
	}
	for pair := range slices.Chunk(c.rest(4), 2) {
		if len(pair) < 2 {
			return nil, scriptError("%s has no log", pair[0])
		}
		logs[pair[0]] = pair[1]
	}
	delete(logs, "index")
	c.n.keepLogs(c.keys[3], logs, int(most), int(room), earliest)
	return answer("OK")
}

// dropOld drops runs and notes beyond keep and those of earlier ticks. It keeps the
// last run, or the last note if there is no run.
func (s *State) dropOld(runs, notes, keep string, earliest float64) error {
	last := func(key string) float64 {
		if of := s.Runs(key); len(of) > 0 {
			return of[len(of)-1].Tick
		}
		return -1
	}
	stays := ""
	switch ran := last(runs); {
	case max(ran, last(notes)) >= earliest:
	case ran >= 0:
		stays = runs
	default:
		stays = notes
	}
	for _, key := range []string{runs, notes} {
		if err := s.bound(key, keep); err != nil {
			return err
		}
		old := 0
		for _, r := range s.Runs(key) {
			if earliest > 0 && r.Tick < earliest {
				old++
			}
		}
		if key == stays {
			old--
		}
		if old > 0 {
			s.trim(key, old)
		}
	}
	return nil
}

// keepLogs stores the logs of the latest ticks within the limits.
func (s *State) keepLogs(key string, logs map[string]string, most, room int, earliest float64) {
	names := slices.SortedFunc(maps.Keys(logs), func(a, b string) int {
		return cmp.Or(cmp.Compare(tickOf(a), tickOf(b)), strings.Compare(a, b))
	})
	first, bytes := len(names), 0
	for i, name := range slices.Backward(names) {
		bytes += len(logs[name])
		if len(names)-i > most || bytes > room || tickOf(name) < earliest {
			break
		}
		first = i
	}
	for _, name := range names[:first] {
		delete(logs, name)
	}
	if len(logs) == 0 {
		delete(s.Logs, key)
		return
	}
	var index strings.Builder
	for _, name := range names[first:] {
		fmt.Fprintf(&index, "%s %d\n", name, len(logs[name]))
	}
	logs["index"] = index.String()
	s.Logs[key] = logs
}

// tickOf returns the tick at the start of a log's name.
func tickOf(name string) float64 {
	text, _, _ := strings.Cut(name, ".")
	tick, _ := number(text)
	return tick
}

// log returns the log of a run. Keys: logs. Arguments: its name.
func (c *call) log() ([]string, error) {
	log, ok := c.n.Logs[c.keys[1]][c.arg(1)]
	if !ok {
		return answer("NONE")
	}
	return answer("OK", log)
}

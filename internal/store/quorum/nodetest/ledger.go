package nodetest

import (
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
// tick dropped, the locks, the open claims, the runs and the notes, newest tick first.
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
	for _, key := range keys[:2] {
		count, more := int64(0), true
		for _, r := range slices.Backward(c.n.Runs(key)) {
			switch {
			case r.Record == gone:
				dropped = max(dropped, r.Tick)
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
	reply := append([]string{latestText(rest), latestText(dropped), integer(len(locks))}, locks...)
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
func openClaims(job protocol.State, wanted func(tick float64) bool) (records []string, places []protocol.Place) {
	for _, stream := range slices.Sorted(maps.Keys(job.Streams)) {
		claim := job.Streams[stream]
		if claim.Void || claim.Ended != "" || claim.Tick == 0 || !wanted(float64(claim.Tick)) {
			continue
		}
		records = append(records, integer(int(claim.Tick))+" S"+claim.Note)
		if claim.Overlaps {
			places = append(places, protocol.Place{Stream: stream, Tick: claim.Tick})
		}
	}
	return records, places
}

// placeOf returns the place of a started run's lock, if it may overlap others.
func placeOf(record string) []protocol.Place {
	packed, started := strings.CutPrefix(record, "S")
	words := strings.Fields(packed)
	if !started || len(words) < 7 || words[5] != "1" {
		return nil
	}
	tick, _ := number(words[0])
	return []protocol.Place{{Stream: words[6], Tick: int64(tick)}}
}

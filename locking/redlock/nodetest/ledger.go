package nodetest

import (
	"slices"
	"strconv"
	"strings"
)

// record is N7: what became of a tick that did not run; the highest word of a tick
// and stream stays. Keys: notes. Arguments: tick, how such records of the stream
// begin, the record, notes to keep.
func (c *call) record() ([]string, error) {
	notes := c.keys[1]
	tick, ok := number(c.arg(1))
	if !ok {
		return nil, scriptError("min or max is not a float: %q", c.arg(1))
	}
	if tick > c.now+c.grace/2 {
		return answer("FUTURE")
	}
	if err := c.n.addRun(notes, c.arg(1), c.arg(3)); err != nil {
		return nil, err
	}
	highest, reply := c.arg(3), "OK"
	of := func(r Run) bool { return r.Tick == tick && strings.HasPrefix(r.Record, c.arg(2)) }
	for _, r := range c.n.Runs[notes] {
		switch {
		case of(r) && r.Record > highest:
			highest, reply = r.Record, "KEPT"
		case of(r) && r.Record < highest && reply == "OK":
			reply = "RAISED"
		}
	}
	c.n.Runs[notes] = slices.DeleteFunc(c.n.Runs[notes], func(r Run) bool { return of(r) && r.Record != highest })
	if err := c.n.boundRuns(notes, c.arg(4)); err != nil {
		return nil, err
	}
	return answer(reply)
}

// read answers for each job with the tick of the newest record that was not asked
// for, the latest tick that was dropped, who has the lock or a share of it, the runs and
// then the notes, newest tick first. Keys: runs, notes, lock, shares. Arguments: the latest
// tick ("(" before it leaves it out), the earliest, how many of each.
func (c *call) read() ([]string, error) {
	reply := []string{"OK"}
	for at := 1; at < len(c.keys); at += 4 {
		arg := at/4*3 + 1
		part, err := c.readOne(c.keys[at:at+4], c.arg(arg), c.arg(arg+1), c.arg(arg+2))
		if err != nil {
			return nil, err
		}
		reply = append(reply, part...)
	}
	return reply, nil
}

func (c *call) readOne(keys []string, from, to, limit string) ([]string, error) {
	text, without := strings.CutPrefix(from, "(")
	latest, ok := number(text)
	earliest, okTo := number(to)
	most, okMost := integer(limit)
	if !ok || !okTo || !okMost {
		return nil, scriptError("cannot read from %q to %q, %q records", from, to, limit)
	}
	rest, dropped, owners, records := -1.0, -1.0, []string(nil), []string(nil)
	for _, key := range keys[:2] {
		count, more := int64(0), true
		for _, r := range slices.Backward(c.n.Runs[key]) {
			switch {
			case r.Record == gone:
				dropped = max(dropped, r.Tick)
			case !more || r.Tick > latest || without && r.Tick == latest:
			case count == most || r.Tick < earliest:
				rest, more = max(rest, r.Tick), false
			default:
				records = append(records, r.Record)
				count++
			}
		}
	}
	if len(records) > 0 {
		owners = c.owners(keys[2], keys[3])
	}
	reply := append([]string{tickText(rest), tickText(dropped), strconv.Itoa(len(owners))}, owners...)
	return append(append(reply, strconv.Itoa(len(records))), records...), nil
}

// tickText is empty where there is no tick.
func tickText(tick float64) string {
	if tick < 0 {
		return ""
	}
	return digits(tick)
}

// owners have the lock or a share of it.
func (c *call) owners(lock, shares string) []string {
	var owners []string
	if owner, _, ok := c.n.text(lock, c.now); ok {
		owners = append(owners, owner)
	}
	for _, place := range c.counting(shares) {
		owners = append(owners, c.n.Shares[shares].Of[place].Owner)
	}
	slices.Sort(owners)
	return owners
}

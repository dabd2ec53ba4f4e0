package nodetest

import (
	"slices"
	"strconv"
	"strings"
)

// record is N7: what became of a tick that did not run; the highest word of a tick
// and stream stays. Keys: runs. Arguments: tick, how such records of the stream
// begin, the record, records to keep.
func (c *call) record() ([]string, error) {
	runs := c.keys[1]
	tick, ok := number(c.arg(1))
	if !ok {
		return nil, scriptError("min or max is not a float: %q", c.arg(1))
	}
	if tick > c.now+c.grace/2 {
		return answer("FUTURE")
	}
	if err := c.n.addRun(runs, c.arg(1), c.arg(3)); err != nil {
		return nil, err
	}
	highest, reply := c.arg(3), "OK"
	of := func(r Run) bool { return r.Tick == tick && strings.HasPrefix(r.Record, c.arg(2)) }
	for _, r := range c.n.Runs[runs] {
		switch {
		case of(r) && r.Record > highest:
			highest, reply = r.Record, "KEPT"
		case of(r) && r.Record < highest && reply == "OK":
			reply = "RAISED"
		}
	}
	c.n.Runs[runs] = slices.DeleteFunc(c.n.Runs[runs], func(r Run) bool { return of(r) && r.Record != highest })
	if err := c.n.boundRuns(runs, c.arg(4)); err != nil {
		return nil, err
	}
	return answer(reply)
}

// read answers for each job with the tick of the newest record that was not asked
// for, who has the lock or a share of it, and the records, newest tick first. Keys:
// runs, lock, shares. Arguments: the latest tick ("(" before it leaves it out), the
// earliest, how many records.
func (c *call) read() ([]string, error) {
	reply := []string{"OK"}
	for at := 1; at < len(c.keys); at += 3 {
		part, err := c.readOne(c.keys[at:at+3], c.arg(at), c.arg(at+1), c.arg(at+2))
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
	rest, owners, records := "", []string(nil), []string(nil)
	for _, r := range slices.Backward(c.n.Runs[keys[0]]) {
		if r.Tick > latest || without && r.Tick == latest {
			continue
		}
		if int64(len(records)) == most || r.Tick < earliest {
			rest = strconv.FormatInt(int64(r.Tick), 10)
			break
		}
		records = append(records, r.Record)
	}
	if len(records) > 0 {
		owners = c.owners(keys[1], keys[2])
	}
	reply := append([]string{rest, strconv.Itoa(len(owners))}, owners...)
	return append(append(reply, strconv.Itoa(len(records))), records...), nil
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

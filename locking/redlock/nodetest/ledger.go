package nodetest

import (
	"slices"
	"strconv"
	"strings"
)

// record is N7: what became of a tick that did not run; the first word of a tick
// and stream stays. Keys: runs. Arguments: tick, how such records of the stream
// begin, the record, records to keep.
func (c *call) record() ([]string, error) {
	runs := c.keys[1]
	tick, ok := number(c.arg(1))
	if !ok {
		return nil, scriptError("min or max is not a float: %q", c.arg(1))
	}
	for _, r := range c.n.Runs[runs] {
		if r.Tick == tick && strings.HasPrefix(r.Record, c.arg(2)) {
			return answer("KEPT")
		}
	}
	if err := c.n.addRun(runs, c.arg(1), c.arg(3)); err != nil {
		return nil, err
	}
	if err := c.n.boundRuns(runs, c.arg(4)); err != nil {
		return nil, err
	}
	return answer("OK")
}

// read answers with who has the lock or a share of it, and with the records,
// newest tick first. Keys: runs, lock, shares. Arguments: the latest tick ("(" before it leaves it out), how many
// records.
func (c *call) read() ([]string, error) {
	text, without := strings.CutPrefix(c.arg(1), "(")
	latest, ok := number(text)
	most, okMost := integer(c.arg(2))
	if !ok || !okMost {
		return nil, scriptError("cannot read from %q, %q records", c.arg(1), c.arg(2))
	}
	var owners []string
	if owner, _, ok := c.n.text(c.keys[2], c.now); ok {
		owners = append(owners, owner)
	}
	for _, place := range c.counting(c.keys[3]) {
		owners = append(owners, c.n.Shares[c.keys[3]].Of[place].Owner)
	}
	slices.Sort(owners)
	reply := append([]string{"OK", strconv.Itoa(len(owners))}, owners...)
	for _, r := range slices.Backward(c.n.Runs[c.keys[1]]) {
		if r.Tick > latest || without && r.Tick == latest {
			continue
		}
		if most == 0 {
			break
		}
		most-- // negative: all of them
		reply = append(reply, r.Record)
	}
	return reply, nil
}

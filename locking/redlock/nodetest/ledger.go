package nodetest

import (
	"maps"
	"slices"
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

// read answers with who has the lock and the records, newest tick first. Keys:
// runs, lock. Arguments: the latest tick ("(" before it leaves it out), how many
// records.
func (c *call) read() ([]string, error) {
	text, without := strings.CutPrefix(c.arg(1), "(")
	latest, ok := number(text)
	most, okMost := integer(c.arg(2))
	if !ok || !okMost {
		return nil, scriptError("cannot read from %q, %q records", c.arg(1), c.arg(2))
	}
	owner, _, _ := c.n.text(c.keys[2], c.now)
	reply := []string{"OK", owner}
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

// announce keeps what was announced and answers with all announcements that
// still count, by name. Keys: roster. Arguments: how long they count, then names
// and what they announce.
func (c *call) announce() ([]string, error) {
	window, ok := number(c.arg(1))
	if !ok {
		return nil, scriptError("%q is not a time", c.arg(1))
	}
	roster := c.n.Rosters[c.keys[1]]
	for pair := range slices.Chunk(c.rest(2), 2) {
		if len(pair) < 2 {
			return nil, scriptError("%s announces nothing", pair[0])
		}
		if roster == nil {
			roster = map[string]string{}
			c.n.Rosters[c.keys[1]] = roster
		}
		roster[pair[0]] = digits(c.now) + "|" + pair[1]
	}
	reply := []string{"OK"}
	for _, name := range slices.Sorted(maps.Keys(roster)) {
		at, announced, found := strings.Cut(roster[name], "|")
		if ms, ok := number(at); !found || !ok || ms+window <= c.now {
			c.dismiss(name)
			continue
		}
		reply = append(reply, announced)
	}
	return reply, nil
}

// leave forgets an announcement. Keys: roster. Arguments: its name.
func (c *call) leave() ([]string, error) {
	c.dismiss(c.arg(1))
	return answer("OK")
}

func (c *call) dismiss(name string) {
	roster := c.n.Rosters[c.keys[1]]
	delete(roster, name)
	if len(roster) == 0 {
		delete(c.n.Rosters, c.keys[1])
	}
}

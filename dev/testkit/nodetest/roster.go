package nodetest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// announce stores announcements and returns all that still count, by name, and if asked to
// those of replicas that fell silent, the latest first. Keys: roster. Arguments: how long an
// announcement counts, how long and how many of the silent ones are kept, whether to return
// them, then names and announcements.
func (c *call) announce() ([]string, error) {
	window, ok := number(c.arg(1))
	remembered, isTime := number(c.arg(2))
	most, isCount := number(c.arg(3))
	if !ok || !isTime || !isCount {
		return nil, scriptError("%q, %q and %q are not two times and a count", c.arg(1), c.arg(2), c.arg(3))
	}
	if err := c.keep(c.rest(5)); err != nil {
		return nil, err
	}
	type fellSilent struct {
		at         float64
		name, text string
	}
	reply, silent := []string{"OK"}, []fellSilent(nil)
	c.announced(max(window, remembered), func(name string, at float64, text string) {
		if at+window > c.now {
			reply = append(reply, text)
		} else {
			silent = append(silent, fellSilent{at, name, text})
		}
	})
	slices.SortStableFunc(silent, func(a, b fellSilent) int { return cmp.Compare(b.at, a.at) })
	for i, s := range silent {
		if float64(i) >= most {
			c.removeReplica(s.name)
		} else if c.arg(4) == "1" {
			reply = append(reply, "lost|"+s.text)
		}
	}
	return reply, nil
}

// publish stores what was published. Of each account it keeps the earliest first and
// the latest of the other times. Keys: roster. Arguments: names and texts.
func (c *call) publish() ([]string, error) {
	for pair := range slices.Chunk(slices.Clone(c.rest(1)), 2) {
		if said, rest, ok := account(pair[len(pair)-1]); ok && len(pair) == 2 {
			_, stored, _ := strings.Cut(c.n.Rosters[c.keys[1]][pair[0]], "|")
			had, _, _ := account(stored)
			pair[1] = c.merge(said, had) + rest
		}
		if err := c.keep(pair); err != nil {
			return nil, err
		}
	}
	return answer("OK")
}

// account parses the times of an account, and returns the rest.
func account(text string) (times [4]float64, rest string, ok bool) {
	head, _, ok := strings.Cut(text, "|")
	words := strings.Split(head, ",")
	if !ok || len(words) != len(times) {
		return times, "", false
	}
	for i, word := range words {
		if times[i], ok = number(word); !ok || strings.Trim(word, "0123456789") != "" {
			return [4]float64{}, "", false
		}
	}
	return times, text[len(head):], true
}

// merge combines two accounts. None of the new one's times but the first may lie ahead.
func (c *call) merge(said, had [4]float64) string {
	if said[0] == 0 || had[0] > 0 && had[0] < said[0] {
		said[0] = had[0]
	}
	words := []string{digits(said[0])}
	for i := 1; i < len(said); i++ {
		words = append(words, digits(max(min(said[i], c.now), had[i])))
	}
	return strings.Join(words, ",")
}

// published returns the age and text of all that was published and still counts. Keys:
// roster. Arguments: how long it counts, then cursor and page size, which a model does
// not need.
func (c *call) published() ([]string, error) {
	window, ok := number(c.arg(1))
	if !ok {
		return nil, scriptError("%q is not a time", c.arg(1))
	}
	reply := []string{"OK", "0"}
	c.announced(window, func(_ string, at float64, text string) { reply = append(reply, digits(c.now-at), text) })
	return reply, nil
}

// leave deletes an announcement and stores that the replica left, among so many of the latest. Keys:
// roster, those that left. Arguments: a name, what is stored, how long, and how many.
func (c *call) leave() ([]string, error) {
	keep, ok := number(c.arg(3))
	most, isCount := number(c.arg(4))
	if !ok || !isCount {
		return nil, scriptError("%q and %q are not a time and a count", c.arg(3), c.arg(4))
	}
	c.removeReplica(c.arg(1))
	list := slices.DeleteFunc(slices.Clone(c.n.Left[c.keys[2]].List), func(r Run) bool { return r.Record == c.arg(2) || r.Tick+keep <= c.now })
	list = inserted(list, Run{c.now, c.arg(2)})
	list = list[max(0, len(list)-int(most)):]
	if len(list) == 0 {
		delete(c.n.Left, c.keys[2])
	} else {
		c.n.Left[c.keys[2]] = Left{list, int64(c.now + keep)}
	}
	return answer("OK")
}

// left returns what is stored of those that left. Keys: that. Arguments: how long it counts.
func (c *call) left() ([]string, error) {
	window, ok := number(c.arg(1))
	if !ok {
		return nil, scriptError("%q is not a time", c.arg(1))
	}
	reply := []string{"OK"}
	for _, r := range c.n.Left[c.keys[1]].List {
		if r.Tick+window > c.now {
			reply = append(reply, r.Record)
		}
	}
	return reply, nil
}

// unpublish deletes what was published. Keys: roster. Arguments: names.
func (c *call) unpublish() ([]string, error) {
	for _, name := range c.rest(1) {
		c.removeReplica(name)
	}
	return answer("OK")
}

// keep stores names and texts with the time.
func (c *call) keep(pairs []string) error {
	roster := c.n.Rosters[c.keys[1]]
	for pair := range slices.Chunk(pairs, 2) {
		if len(pair) < 2 {
			return scriptError("%s announces nothing", pair[0])
		}
		if roster == nil {
			roster = map[string]string{}
			c.n.Rosters[c.keys[1]] = roster
		}
		roster[pair[0]] = digits(c.now) + "|" + pair[1]
	}
	return nil
}

// announced calls tell for every announcement by name, and drops those older than the
// window.
func (c *call) announced(window float64, tell func(name string, at float64, text string)) {
	roster := c.n.Rosters[c.keys[1]]
	for _, name := range slices.Sorted(maps.Keys(roster)) {
		at, text, found := strings.Cut(roster[name], "|")
		ms, ok := number(at)
		if !found || !ok || ms+window <= c.now {
			c.removeReplica(name)
			continue
		}
		tell(name, ms, text)
	}
}

func (c *call) removeReplica(name string) {
	roster := c.n.Rosters[c.keys[1]]
	delete(roster, name)
	if len(roster) == 0 {
		delete(c.n.Rosters, c.keys[1])
	}
}

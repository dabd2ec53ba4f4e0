package nodetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// store keeps logs of runs, and drops what is kept of the job no longer. Keys:
// runs, notes, logs. Arguments: runs, notes and logs to keep, ms that a tick may be old (0:
// any), bytes of logs to keep, then names and logs.
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

// dropOld drops runs and notes beyond keep and those of earlier ticks, but never the last
// run, or the last note where no run is.
func (s *State) dropOld(runs, notes, keep string, earliest float64) error {
	last := func(key string) float64 {
		if of := s.Runs[key]; len(of) > 0 {
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
		if err := s.boundRuns(key, keep); err != nil {
			return err
		}
		old := 0
		for _, r := range s.Runs[key] {
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

// keepLogs stores the logs of the latest ticks within the bounds.
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

// tickOf is the tick that the name of a log begins with.
func tickOf(name string) float64 {
	text, _, _ := strings.Cut(name, ".")
	tick, _ := number(text)
	return tick
}

// log answers with the log of a run. Keys: logs. Arguments: its name.
func (c *call) log() ([]string, error) {
	log, ok := c.n.Logs[c.keys[1]][c.arg(1)]
	if !ok {
		return answer("NONE")
	}
	return answer("OK", log)
}

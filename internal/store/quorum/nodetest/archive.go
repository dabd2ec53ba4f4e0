package nodetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

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

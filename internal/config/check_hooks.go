package config

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// history checks how much of the past is kept.
func (ps *problems) history(p path, h HistoryConfig) {
	if h.Keep < 1 || h.Keep > ledger.MaxKeep {
		ps.at(p.with("keep"), "%d entries; write 1 to %d", h.Keep, ledger.MaxKeep)
	}
	ps.notNegative(p.with("max_age"), h.MaxAge)
	if h.MaxBytes < 0 {
		ps.at(p.with("max_bytes"), "%d is negative; write 0 to keep no logs, or more", h.MaxBytes)
	}
}

func (h HistoryConfig) build() ledger.History {
	bytes := h.MaxBytes
	if bytes == 0 {
		bytes = -1
	}
	return ledger.History{Keep: h.Keep, MaxAge: h.MaxAge, MaxBytes: bytes}
}

// checkChain reports names that are no jobs in a list of jobs to trigger.
func (c *Config) checkChain(ps *problems, p path, names []string) {
	known := slices.Sorted(maps.Keys(c.Jobs))
	for i, name := range names {
		if _, ok := c.Jobs[name]; ok || name == "" && ps.has(p) {
			continue
		}
		advice := "write the name of one"
		if near := decode.Nearest(name, known); near != "" {
			advice = "did you mean " + near + "?"
		}
		ps.at(p.with(strconv.Itoa(i)), "no job is called %q; %s", name, advice)
	}
}

// checkCircle reports jobs that would trigger each other for ever, once.
func (c *Config) checkCircle(ps *problems) {
	chains := make(map[string][]string, len(c.Jobs))
	for name, job := range c.Jobs {
		chains[name] = slices.Concat(job.OnSuccess, job.OnFailure)
	}
	circle := scheduler.ChainCircle(chains)
	if circle == nil {
		return
	}
	p := path{"jobs", circle[0], "on_failure"}
	if i := slices.Index(c.Jobs[circle[0]].OnSuccess, circle[1]); i >= 0 {
		p = path{"jobs", circle[0], "on_success"}
	}
	ps.at(p, "these jobs trigger each other without end: %s; take one out", strings.Join(circle, " → "))
}

// keys are what the nodes know the named jobs by.
func (c *Config) keys(names []string) []string {
	var keys []string
	for _, name := range names {
		keys = append(keys, cmp.Or(c.Jobs[name].Formerly, name))
	}
	return keys
}

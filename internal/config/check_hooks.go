package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// check checks how much of the past is kept.
func (h HistoryConfig) check(ps *problems, p path) {
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

// checkNames reports names that are no jobs in a list of jobs.
func (b *builder) checkNames(p path, names []string) {
	for i, name := range names {
		if _, ok := b.cfg.Jobs[name]; ok || name == "" && b.has(p) {
			continue
		}
		advice := "write the name of one"
		if near := decode.Nearest(name, b.names); near != "" {
			advice = "did you mean " + near + "?"
		}
		b.at(p.with(strconv.Itoa(i)), "no job is called %q; %s", name, advice)
	}
}

// checkCircle reports jobs that would trigger each other for ever, once.
func (b *builder) checkCircle() {
	chains := make(map[string][]string, len(b.names))
	for name, job := range b.cfg.Jobs {
		chains[name] = slices.Concat(job.OnSuccess, job.OnFailure)
	}
	circle := scheduler.ChainCircle(chains)
	if circle == nil {
		return
	}
	p := path{"jobs", circle[0], "on_failure"}
	if slices.Contains(b.cfg.Jobs[circle[0]].OnSuccess, circle[1]) {
		p = path{"jobs", circle[0], "on_success"}
	}
	b.at(p, "these jobs trigger each other without end: %s; take one out", strings.Join(circle, " → "))
}

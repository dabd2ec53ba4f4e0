package checker

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// messageKinds are the messages that a replica logs of ticks.
func messageKinds() map[string]What {
	return map[string]What{
		"tick won":                            Won,
		"run ended":                           Ended,
		"not run here":                        NoRun,
		"lease lost: the run is told to stop": Lost,
		"the ledger may not have the end of the run": Unsure,
		"a tick without a run was not recorded":      Unstored,
	}
}

// ParseLog reads the JSON log of one process, line by line. It skips other lines. Only the
// parent of the process knows when and how it ended.
func ParseLog(replica string, lines []string) Incarnation {
	l, kinds := Incarnation{Replica: replica, Renamed: map[string]string{}}, messageKinds()
	unknown := false // it does not know yet whether the store is its service's
	for _, text := range lines {
		var line struct {
			Time    time.Time
			Msg     string
			Job     string
			Tick    string
			Token   uint64
			Former  string `json:"formerly"`
			Outcome ledger.Outcome
			Code    string `json:"reason_code"`
		}
		if json.Unmarshal([]byte(text), &line) != nil {
			continue
		}
		switch {
		case line.Msg == "job renamed":
			l.Renamed[line.Former] = line.Job
		case l.From.IsZero() && (line.Msg == "ready" || strings.Contains(line.Msg, "no tick runs before")):
			l.From = line.Time
		case strings.HasPrefix(line.Msg, "no job runs until the store says"):
			l.From, unknown = time.Time{}, true
		case strings.HasPrefix(line.Msg, "draining:") && l.Drained.IsZero():
			l.Drained = line.Time
		}
		what, ok := kinds[line.Msg]
		if at, err := time.Parse(time.RFC3339Nano, line.Tick); ok && err == nil {
			if unknown && l.From.IsZero() { // it knows by now
				l.From = line.Time
			}
			l.Reports = append(l.Reports, Report{
				Tick: Tick{line.Job, at}, What: what, At: line.Time, Token: line.Token, Outcome: line.Outcome, Code: line.Code,
			})
		}
	}
	return l
}

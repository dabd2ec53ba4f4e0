package main

// readModel compares what pages and listings say with the whole ledger and the sink. A hundred histories show each lie.
var readModel = in("dev/testkit/readmodel", "TestReadModelIsTrue").with("-rapid.nofailfile", "-rapid.shrinktime=1s")

const singleLedger = "internal/store/single/ledger/"

var display = promise{
	page: "operating.md",
	text: "Commands, pages and metrics show the state of the cluster, and nothing else.",
	plants: []plant{
		{"cmd: without a quorum the exit code is 1", in("cmd", "TestCampaignNoQuorum"), []edit{
			{"cmd/root.go", "return exitNoQuorum", "return exitFailed"},
		}},
		{"listing: an entry is on two pages", in("internal/console/view", "TestRecentIsEverythingSorted"), []edit{
			{"internal/console/view/recent.go", "job < c.job }", "job <= c.job }"},
		}},
		{"metrics: every replica counts a missed tick", in("scheduler/metrics", "TestWhatEventsCount"), []edit{
			{"scheduler/metrics/ticks.go", "case event.Settled:", "case event.Settled, event.Decided:"},
		}},
		{"webhooks: missed before the ledger says so", in("internal/console/webhook", "TestMissedIsToldOnceTheLedgerSaysSo"), []edit{
			{"internal/console/webhook/sink.go", "case event.Settled:", "case event.Settled, event.Recorded:"},
		}},
		{"log: what one replica did not do is a warning", in(replica, "TestWarningsOfTicksThatDidNotRun"), []edit{
			{replica + "events.go", `Info("not run here"`, `Warn("not run here"`},
		}},
		{"check: two replicas with one id are not named", in(replica, "TestTwoReplicasWithOneID"), []edit{
			{"internal/console/view/nodes.go", "range Neighbours(replicas)", "range Neighbours(replicas[:0])"},
		}},
		{"pages: text of others is HTML", in(board, "TestDashboard"), []edit{
			{web + "pages/pages.go", "\"html/template\"", "\"text/template\""},
		}},
		{"pages: old figures have no age", in(board, "TestPagesWithoutQuorum"), []edit{
			{web + "pages/visit.go", "v.outdated(at, err)", "_ = at"},
		}},
		{"jobs: no success ever, from a bounded window", readModel.saying("last good"), []edit{
			{"internal/console/view/standing.go", "(!newest.Rest.IsZero() || !newest.Trimmed.IsZero())", "!newest.Trimmed.IsZero()"},
		}},
		{"pages: percentiles are also of runs that failed", readModel.saying("runs behind the percentiles"), []edit{
			{"internal/console/view/figures.go", "if e.Outcome == ledger.Succeeded && e.Took >= 0 {", "if e.Outcome != ledger.Missed && e.Took >= 0 {"},
		}},
		{"pages: a survey does not look back a minute", readModel.saying("continued survey"), []edit{
			{"internal/console/view/survey.go", "k.until.Add(-settlingTime), since)", "k.until, since)"},
		}},
		{"pages: a streak is kept while a tick may run again", in("internal/console/view", "TestStandingOfATickThatRunsAgain"), []edit{
			{"internal/console/view/standing.go", "|| e.Outcome == ledger.Interrupted || e.Outcome == ledger.LeaseLost", ""},
		}},
		{"left: nodes remember no replica that left", in(quorumledger, "TestRosterConforms").saying("Left lists"), []edit{
			{quorumledger + "leave.lua", "redis.call('ZADD', left, nowtext, arg(2))", ""},
		}},
		{"left: nodes list one that left with live ones", in(quorumledger, "TestRosterConforms").saying("Replicas lists"), []edit{
			{quorumledger + "leave.lua", "redis.call('HDEL', KEYS[2], arg(1))", ""},
		}},
		{"left: a store remembers no replica that left", in(singleLedger, "TestRosterConforms").saying("Left lists"), []edit{
			{singleLedger + "roster.go", "Put: []kv.Write{records.Put(leftKey(last), last)}", "Put: []kv.Write{records.Put(leftKey(last), last)}[:0]"},
		}},
		{"left: a store lists one that left as lost, too", in(singleLedger, "TestRosterConforms").saying("Remembered lists"), []edit{
			{singleLedger + "roster.go", ", Delete: []kv.Key{replicaKey(self)}}", "}"},
		}},
		{"left: each process of a replica is listed", in(singleLedger, "TestRosterConforms").saying("Left lists"), []edit{
			{"scheduler/roster/roster.go", "if !known[r.ID] && len(left)", "if len(left)"},
		}},
		{"left: one that came back is listed", in("internal/console/view", "TestLeft"), []edit{
			{"internal/console/view/replica.go", "return r.ID == l.ID && r.Seen.After(l.Seen)", "return r.ID == l.ID && r.Seen.Before(l.Seen)"},
		}},
		{"top: text of others steers the terminal", in("cmd/internal/top", "TestTopPassesNothingOn"), []edit{
			{"cmd/internal/output/output.go", "unicode.IsPrint(r)", "unicode.IsPrint(r) || r > 0"},
		}},
	},
}

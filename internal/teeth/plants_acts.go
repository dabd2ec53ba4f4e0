package main

const (
	redisacts = "./scheduler/redisacts"
	actsDir   = "scheduler/redisacts/"
)

// actPlants are in what is asked of the whole cluster.
var actPlants = []plant{
	{
		name: "acts: overtaken request acknowledged", promise: "No acknowledged request is overtaken by a later one.",
		edits: []edit{{actsDir + "take.lua", "if kept and (kept.rest ~= arg(3) or now >= kept.til) then", "if false then"}},
		pkg:   redisacts, tests: []string{"TestLateTake"},
	},
	{
		name: "acts: instant taken that was not reserved", promise: "No acknowledged request is overtaken by a later one.",
		edits: []edit{{actsDir + "take.lua", "and new.at <= last(new.line) then", "and false then"}},
		pkg:   redisacts, tests: []string{"TestTakeUnreserved"},
	},
	{
		name: "acts: reader does not wait for a reserved instant", promise: "A request is not shown before an earlier one that is being made.",
		edits: []edit{{actsDir + "merge.go", "if val.state == reserved && val.until > v.now {", "if false {"}},
		pkg:   redisacts, tests: []string{"TestLateTake"},
	},
	{
		name: "acts: request shown that few nodes hold", promise: "A request is shown when a quorum holds it.",
		edits: []edit{{actsDir + "merge.go", "return n >= p.quorum", "return n >= 1"}},
		pkg:   redisacts, tests: []string{"TestConfirmed"},
	},
	{
		name: "acts: node that lost its memory counts", promise: "What a node may have forgotten is not taken for not there.",
		edits: []edit{{actsDir + "open.go", "if n := p.vouching(); n < a.set.Quorum() {", "if n := len(views); n < a.set.Quorum() {"}},
		pkg:   redisacts, tests: []string{"TestLostMinority"},
	},
	{
		name: "acts: nodes that lack something are not told", promise: "A node that was away learns what it missed.",
		edits: []edit{{actsDir + "open.go", "return len(m) > 0", "return len(m) < 0"}},
		pkg:   redisacts, tests: []string{"TestLostMinority"},
	},
	{
		name: "acts: closed request opened again", promise: "A request that was closed stays closed.",
		edits: []edit{{actsDir + "reserve.lua", "if kept and kept.state ~= 'R' then", "if kept and kept.state == 'O' then"}},
		pkg:   redisacts, tests: []string{"TestActsConform"},
	},
	{
		name: "acts: an id is for any act", promise: "An idempotency key that was used does nothing else.",
		edits: []edit{{actsDir + "reserve.lua", "if kept and kept.fp ~= arg(8) then", "if false then"}},
		pkg:   redisacts, tests: []string{"TestActsConform"},
	},
	{
		name: "acts: refusals are among the acts", promise: "Refused requests drive no act out of the audit log.",
		edits: []edit{{actsDir + "note.go", "if act.Refused() {", "if false {"}},
		pkg:   redisacts, tests: []string{"TestRefusalsEvictNoAct"},
	},
	{
		name: "acts: a resume reaches only nodes that answer", promise: "A resume that was acknowledged stays.",
		edits: []edit{{actsDir + "reserve.go", " || answers.ok < a.set.Len()", ""}},
		pkg:   redisacts, tests: []string{"TestResumeReachesAMissedPause"},
	},
	{
		name: "acts: any number of pauses", promise: "Pauses are bounded in number.",
		edits: []edit{{actsDir + "reserve.lua", "if pause and other.state == 'P'", "if false"}},
		pkg:   redisacts, tests: []string{"TestActsConform"},
	},
	{
		name: "acts: earlier pause wins", promise: "Of a pause and a resume the later one counts.",
		edits: []edit{{actsDir + "learn.lua", "new.at > kept.at or", "new.at < kept.at or"}},
		pkg:   redisacts, tests: []string{"TestActsConform"},
	},
	{
		name: "acts: ticks before the pauses are known", promise: "A pause outlives all replicas.",
		edits: []edit{{schedulerDir + "engine.go", "informed: s.cfg.Acts == nil", "informed: true"}},
		pkg:   scheduler, tests: []string{"TestPauseOutlivesReplicas"},
	},
	{
		name: "acts: a pause of a tag has no effect", promise: "A pause of a tag skips the ticks of its jobs.",
		edits: []edit{{schedulerDir + "pause.go", "slices.Contains(j.Tags, a.Tag)", "false"}},
		pkg:   scheduler, tests: []string{"TestPause"},
	},
	{
		name: "acts: a pause does not stop what waits", promise: "A tick that waits when its job is paused does not run.",
		edits: []edit{{schedulerDir + "pause.go", "a.stopWaiting(&pausedError{why})", ""}},
		pkg:   scheduler, tests: []string{"TestPauseStopsWhatWaits"},
	},
	{
		name: "acts: a claim is run though its job was paused", promise: "A claim that is granted after its job was paused is given back.",
		edits: []edit{{schedulerDir + "run.go", "v = a.pausedMeanwhile()", ""}},
		pkg:   scheduler, tests: []string{"TestPauseStopsWhatWaits"},
	},
	{
		name: "acts: a pause ends the watch over a run", promise: "A run that was interrupted while its job was paused runs again after the pause.",
		edits: []edit{{schedulerDir + "pause.go", "if before && j.paused(e.pauses).IsZero() {", "if false {"}},
		pkg:   scheduler, tests: []string{"TestRerunWaitsForTheEndOfAPause"},
	},
	{
		name: "acts: a long run is not watched after a pause", promise: "A run that goes on is watched, however long it takes.",
		edits: []edit{{schedulerDir + "rerun.go", "from = later(from, now)", "from = last.Tick"}},
		pkg:   scheduler, tests: []string{"TestRerunAfterAPauseThatEnded"},
	},
	{
		name: "acts: a pause hides a tick from the next one", promise: "After a pause the next tick looks back for one that was interrupted.",
		edits: []edit{{schedulerDir + "lookback.go", " && a.pausedMeanwhile().kind != settled", ""}},
		pkg:   scheduler, tests: []string{"TestNextTickLooksBackAfterAPause"},
	},
	{
		name: "acts: the past begins before pauses are known", promise: "Whoever starts knows what is paused before it runs ticks of the past.",
		edits: []edit{{schedulerDir + "scan.go", " || !e.informed", ""}},
		pkg:   scheduler, tests: []string{"TestStartsPausedBeforeItCatchesUp"},
	},
	{
		name: "acts: paused jobs cannot be triggered", promise: "What people ask for is done also while the job is paused.",
		edits: []edit{{schedulerDir + "pause.go", "if t.act != nil {", "if false {"}},
		pkg:   scheduler, tests: []string{"TestPause"},
	},
	{
		name: "acts: cancel ends another run", promise: "A cancel ends the run it names and no other.",
		edits: []edit{{schedulerDir + "requests.go", "if run.tick.entry(run.job, \"\").ID() != act.Run {", "if false {"}},
		pkg:   scheduler, tests: []string{"TestCancel"},
	},
	{
		name: "acts: withdrawn ticks run", promise: "What waits for a request that was withdrawn does not run.",
		edits: []edit{{schedulerDir + "requests.go", "l.queue = slices.DeleteFunc(l.queue, gone)", ""}},
		pkg:   scheduler, tests: []string{"TestWithdraw"},
	},
	{
		name: "acts: expired requests are not accounted for", promise: "A request that nobody could begin is recorded as missed.",
		edits: []edit{{schedulerDir + "requests.go", "e.desk.add(e.settlementOf(act))", ""}},
		pkg:   scheduler, tests: []string{"TestTriggerExpires"},
	},
	{
		name: "acts: params of requests reach commands", promise: "Who may ask for a run cannot choose the command.",
		edits: []edit{{replicaDir + "requests.go", "if slices.Contains(fixedParams, job.Func) {", "if false {"}},
		pkg:   replica, tests: []string{"TestParamsOfRequests"},
	},
}

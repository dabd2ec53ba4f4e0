package main

// reloadPlants are in how jobs change while replicas run.
var reloadPlants = []plant{
	{
		name: "reload: removal forgets ticks", promise: "A tick that was due when its job was removed is accounted for.",
		edits: []edit{{schedulerDir + "update.go", "e.decided(j.Job, t, skippedFor(CodeRemoved))", "_ = t"}},
		pkg:   scheduler, tests: []string{"TestRemovedJobsQueueIsAccountedFor"},
	},
	{
		name: "reload: a removed job claims on", promise: "No tick of a job is claimed after it was removed.",
		edits: []edit{{schedulerDir + "update.go", "l.claiming.stopWaiting(errRemoved)", "_ = errRemoved"}},
		pkg:   scheduler, tests: []string{"TestRemovedTicksAreAccountedFor"},
	},
	{
		name: "reload: a job comes back as another", promise: "A job that was removed and comes back waits for its last run.",
		edits: []edit{{schedulerDir + "update.go", "return j.Key == added.Key })", "return false && j.Key == added.Key })"}},
		pkg:   scheduler, tests: []string{"TestRemovedJobComesBack"},
	},
	{
		name: "reload: schedule kept", promise: "The next tick of a job that changed is computed anew.",
		edits: []edit{{schedulerDir + "update.go", "e.reschedule(j, r.next)", ""}},
		pkg:   scheduler, tests: []string{"TestUpdate"},
	},
	{
		name: "reload: each step looks up its pasts", promise: "An update of many jobs reads what is published once.",
		edits: []edit{{schedulerDir + "scan.go", "len(e.scans) == 0 || e.updating", "len(e.scans) == 0"}},
		pkg:   scheduler, tests: []string{"TestUpdateOfManyReadsOnce"}, says: "was read",
	},
	{
		name: "reload: all jobs in one answer", promise: "However many jobs there are, a node lists a few at once.",
		edits: []edit{{"scheduler/redisledger/published.lua", "'COUNT', arg(3))", "'COUNT', '1000000')"}},
		pkg:   "scheduler/redisledger", tests: []string{"TestJobsAreListedInPages"}, says: "jobs at once",
	},
	{
		name: "reload: pages or nothing", promise: "A user of the nodes whose rules are older goes on listing jobs.",
		edits: []edit{{"scheduler/redisledger/published.lua", "redis.pcall('HSCAN'", "redis.call('HSCAN'"}},
		pkg:   "scheduler/redisledger", tests: []string{"TestOlderRulesListJobs"}, says: "with the rules",
	},
	{
		name: "reload: the first page is all", promise: "However many jobs there are, all of them are listed.",
		edits: []edit{{"scheduler/redisledger/published.go", `from = reply.Arg(0); from == "0" || from == ""`, `from = reply.Arg(0); from != ""`}},
		pkg:   "scheduler/redisledger", tests: []string{"TestJobsAreListedInPages"}, says: "jobs are listed",
	},
	{
		name: "engine: logger of each run made", promise: "What an ordinary fire does not need is not made.",
		edits: []edit{{schedulerDir + "call.go", "slog.New(&c.log)", "slog.New(c.lineHandler())"}},
		pkg:   scheduler, tests: []string{"TestFireIsCheap"}, says: "bytes per fire, want at most",
	},
	{
		name: "engine: a goroutine for each function", promise: "What an ordinary fire does not need is not made.",
		edits: []edit{{schedulerDir + "call.go", "if c.job.Retry.Attempts > 1 {", "if c.job.Name != \"\" {"}},
		pkg:   scheduler, tests: []string{"TestFireIsCheap"}, says: "bytes per fire, want at most",
	},
	{
		name: "engine: Goexit ends the attempt", promise: "A run whose function ends its goroutine is finished like any other.",
		edits: []edit{
			{schedulerDir + "run.go", "\tdefer func() { a.finish(&end) }() ", "\texited := true\n\tdefer func() {\n\t\tif !exited {\n\t\t\ta.finish(&end)\n\t\t}\n\t\ta.keepNoMore()\n\t}() "},
			{schedulerDir + "run.go", "\t\ta.calls(&end)\n\t}\n", "\t\ta.calls(&end)\n\t}\n\texited = false\n"},
		},
		pkg: scheduler, tests: []string{"TestHowRunsEnd"},
	},
	{
		name: "engine: reports go round in front of questions", promise: "What a run has reported is known to whoever asks after it.",
		edits: []edit{{schedulerDir + "engine.go", "\te.heard = e.inbox.take(e.heard)\n", ""}},
		pkg:   scheduler, tests: []string{"TestRunsKnowOfThemselves"}, says: "unknown to the loop",
	},
	{
		name: "reload: rename removes", promise: "A job that is renamed goes on.",
		edits: []edit{{schedulerDir + "hash.go", "j.Key = j.key()", "j.Key = j.Name"}},
		pkg:   scheduler, tests: []string{"TestRename"},
	},
	{
		name: "reload: a failing source removes its jobs", promise: "No job is removed because its source cannot be read.",
		edits: []edit{{schedulerDir + "source.go", "if err != nil {\n\t\treturn fmt.Errorf(\"reading", "if false {\n\t\treturn fmt.Errorf(\"reading"}},
		pkg:   scheduler, tests: []string{"TestSource"},
	},
	{
		name: "reload: version unsaid", promise: "Each run says which version of its job it is.",
		edits: []edit{{schedulerDir + "note.go", "Hash: e.Hash, Poll: pollNote", "Poll: pollNote"}},
		pkg:   scheduler, tests: []string{"TestTwoVersions"},
	},
	{
		name: "reload: half a file is read", promise: "A file that is being written is not read.",
		edits: []edit{{replicaDir + "reload.go", "const settle = 300 * time.Millisecond", "const settle = time.Nanosecond"}},
		pkg:   replica, tests: []string{"TestReloadWaitsForTheWriter"},
	},
	{
		name: "reload: a new schedule has a past", promise: "The ticks of a version begin when a replica first serves it.",
		edits: []edit{{schedulerDir + "since.go", "if since.IsZero() ||", "if !since.IsZero() ||"}},
		pkg:   scheduler, tests: []string{"TestNewScheduleHasNoPast"},
	},
	{
		name: "reload: served since its last replica", promise: "A version is served since its first replica, not its last.",
		edits: []edit{{schedulerDir + "since.go", "return versions[i].Since\n", "return j.Since\n"}},
		pkg:   scheduler, tests: []string{"TestVersionServedBesideAnother"},
	},
	{
		name: "reload: no way back", promise: "A version that was replaced, and comes back, begins anew.",
		edits: []edit{{schedulerDir + "since.go", "versions[i].replaced(versions) || ", ""}},
		pkg:   scheduler, tests: []string{"TestWayBackHasNoPast"},
	},
	{
		name: "reload: what waits is compared with the last file", promise: "Settings wait for a restart in which the file differs from the start.",
		edits: []edit{{replicaDir + "reload.go", "needRestart(l.running, file)", "needRestart(l.file, file)"}},
		pkg:   replica, tests: []string{"TestReloadWhenAsked"},
	},
	{
		name: "reload: drift unseen", promise: "Versions that differ between live replicas are marked.",
		edits: []edit{{schedulerDir + "versions.go", "list[i].Drift = len(list) > 1", "list[i].Drift = len(list) > 2"}},
		pkg:   scheduler, tests: []string{"TestVersions"},
	},
}

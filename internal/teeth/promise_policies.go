package main

const schedule = "scheduler/schedule/"

var policies = promise{
	page: "policies.md",
	text: "Each setting of a job has the effect that is described.",
	plants: []plant{
		{"config: an unknown key is accepted", in(config, "TestReadReportsEveryMistakeWithItsPlace"), []edit{
			{config + "decode.go", `d.atKey(p, "%s", msg)`, ""},
		}},
		{"schedule: a tick runs twice in autumn", in(schedule, "TestChangesOfTheClocks"), []edit{
			{schedule + "zoned.go", "z.dst.Overlap == DSTOverlapFirst", "false"},
		}},
		{"schedule: replicas differ on @every", in(schedule, "TestEveryIsAlignedToTheEpoch"), []edit{
			{schedule + "every.go", "return time.UnixMilli(since - into + step + offset).UTC()", "return after.Add(e.Interval).UTC()"},
		}},
		{"jitter: none", in(engine, "TestJitterDelaysTheStart", "TestScheduledTicks"), []edit{
			{engine + "tick.go", "return at.Add(Jitter(j.key(), at, limit))", "_ = limit\n\treturn at"},
		}},
		{"timeout: none", in(engine, "TestHowRunsEnd"), []edit{
			{engine + "tries.go", "x.job.Timeout > 0", "x.job.Timeout < 0"},
		}},
		{"overlap: two runs on one replica", in(engine, "TestOverlapSkip", "TestOverdue", "TestDeafWithoutLease"), []edit{
			{engine + "overlap.go", "if run == nil || !ok {", "if run == nil || !ok || ok {"},
		}},
		{"overlap: a queued tick gives up", in(engine, "TestOverlapQueue", "TestQueuedBehindTheDead"), []edit{
			{engine + "overlap.go", "a.patient() && end", "false && end"},
		}},
		{"overlap: a replaced run continues", in(sim, "TestPolicies").with("-seeds=200").saying("next tick replaces it"), []edit{
			{engine + "overlap.go", "if run.tick.at.Before(t.at) {", "if false {"},
		}},
		{"C6: a live tick goes before those caught up", in(engine, "TestSixHoursDown"), []edit{
			{engine + "lane.go", "l.scans == 0 && ", ""},
			{engine + "scan.go", "\tspread(urgent)\n", "\tspread(urgent)\n\tsleep(ctx, time.Hour)\n"},
		}},
		{"C7: a dead replica's tick is not run again", in(engine, "TestRerun"), []edit{
			{engine + "rerun.go", "return ok && a.job.OnCrash == CrashRerun &&", "return ok && a.job.OnCrash == CrashSkip &&"},
		}},
		{"limits: priority is ignored", in(engine, "TestTurns", "TestMaxRunning", "TestGroupPriority"), []edit{
			{engine + "places.go", "cmp.Compare(b.job.Priority, a.job.Priority),", ""},
		}},
		{"limits: a group has no slots", in(engine, "TestGroup", "TestGroupIsFull", "TestSlotOfTheDead"), []edit{
			{engine + "slots.go", "if x.job.Group == \"\" {", "if true {"},
		}},
		{"paused: a claim is run all the same", in(engine, "TestPauseStopsWhatWaits"), []edit{
			{engine + "run.go", "v = x.pausedMeanwhile()", ""},
		}},
	},
}

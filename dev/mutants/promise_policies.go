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
			{schedule + "schedule.go", "return time.UnixMilli(since - into + step + offset).UTC()", "return after.Add(e.Interval).UTC()"},
		}},
		{"jitter: none", in(engine, "TestJitterDelaysTheStart"), []edit{
			{engine + "internal/job/tick.go", "return at.Add(Jitter(j.StoredAs(), at, limit))", "_ = limit\n\treturn at"},
		}},
		{"timeout: none", in(engine, "TestHowRunsEnd"), []edit{
			{engine + "internal/attempt/call.go", "j.Timeout > 0", "j.Timeout < 0"},
		}},
		{"timeout: a job of a Source has no defaults", in(replica, "TestDefaultsHoldForJobsInGo"), []edit{
			{replica + "serving.go", "whole, err := r.settingsShown.Load().Complete(list, registry)", "whole := list"},
		}},
		{"overlap: two runs on one replica", in(engine, "TestOverlapSkip", "TestOverdue", "TestDeafWithoutLease"), []edit{
			{engine + "internal/attempt/admit.go", "if run == nil {", "if run == nil || run != nil {"},
		}},
		{"overlap: a queued tick gives up", in(engine, "TestOverlapQueue", "TestQueuedBehindTheDead"), []edit{
			{engine + "internal/attempt/wait.go", "w.assignment.patient() && end", "false && end"},
		}},
		{"overlap: a replaced run continues", in(sim, "TestPolicies").with("-seeds=200").saying("next tick replaces it"), []edit{
			{engine + "dispatcher.go", "if run.Tick.At.Before(t.At) {", "if false {"},
		}},
		{"C6: a live tick goes before those caught up", in(engine, "TestSixHoursDown"), []edit{
			{engine + "queue.go", "q.scans == 0 && ", ""},
			{engine + "internal/catchup/scanner.go", "\tspread(urgent)\n", "\tspread(urgent)\n\tretry.Sleep(ctx, time.Hour)\n"},
		}},
		{"C7: a dead replica's tick is not run again", in(engine, "TestRerun"), []edit{
			{engine + "internal/attempt/look.go", "return ok && b.Job.OnCrash == jobs.CrashRerun &&", "return ok && b.Job.OnCrash == jobs.CrashSkip &&"},
		}},
		{"C7: a run without its lease hides a rerun", in(engine, "TestRerunBehindARunWithoutLease"), []edit{
			{engine + "queue.go", `q.stream == "" && j.OnCrash == jobs.CrashRerun {
		q.unsure`, `q.stream == "" && j.OnCrash == jobs.CrashRerun && len(j.running) == 0 {
		q.unsure`},
		}},
		{"C7: a pause behind a run hides a rerun", in(engine, "TestRerunBehindARunWithoutLease"), []edit{
			{engine + "pasts.go", "j.queueOf(\"\").unsure = true", "_ = now"},
		}},
		{"C7: a rerun waits for the next tick", in(engine, "TestRerunBehindARunWithoutLease"), []edit{
			{engine + "engine.go", "			e.lookBehind(t)\n", ""},
		}},
		{"limits: priority is ignored", in(engine, "TestMaxRunning", "TestGroupPriority"), []edit{
			{engine + "internal/attempt/limits.go", "cmp.Compare(b.Job.Priority, a.Job.Priority),", ""},
		}},
		{"limits: a group has no slots", in(engine, "TestGroup", "TestGroupIsFull", "TestSlotOfTheDead"), []edit{
			{engine + "internal/attempt/limits.go", "if b.Job.Group == \"\" {", "if true {"},
		}},
		{"paused: a claim is run all the same", in(engine, "TestPauseStopsWhatWaits"), []edit{
			{engine + "internal/attempt/run.go", "ok && paused.Kind == job.Settled", "false && paused.Kind == job.Settled"},
		}},
		{"paused: what is decided after the end runs", in(engine, "TestPauseEnds"), []edit{
			{engine + "commands/command.go", "!tick.Before(a.At) && tick.Before(a.Ends())", "false"},
		}},
		{"paused: the tick at the end goes before a rerun", in(engine, "TestRerunGoesBeforeTheTickAtTheEndOfAPause"), []edit{
			{engine + "engine.go", "!j.PausedFor(pauses, time.Time{}).IsZero() && ", "false && "},
		}},
		{"paused: resumes push a pause with an end out", in(quorumcommands, "TestEndedPauseLeavesAMark"), []edit{
			{quorumcommands + "sweep.lua", "not lasts(kept)", "til > 0"},
		}},
	},
}

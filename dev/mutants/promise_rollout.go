package main

var rollouts = promise{
	page: "rollout.md",
	text: "A deployment loses nothing that a crash keeps.",
	plants: []plant{
		{"drain: runs are cancelled at once", in(engine, "TestDrain"), []edit{
			{engine + "drain.go", "time.NewTimer(e.cfg.DrainTimeout)", "time.NewTimer(0)"},
		}},
		{"drain: nothing is handed over", in(engine, "TestDrainHandsOver", "TestHandedOverToTheNextStart"), []edit{
			{engine + "internal/attempt/finish.go", "if x.run.assignment.Job.OnCrash != jobs.CrashRerun || x.end.err == nil {", "if true {"},
		}},
		{"reload: half a file is read", in(replica, "TestReloadWaitsForTheWriter"), []edit{
			{config + "follow.go", "settle = 300 * time.Millisecond", "settle = time.Nanosecond"},
		}},
		{"reload: most jobs of a file are lost at once", in(replica, "TestReloadOfAHalfWrittenFile"), []edit{
			{replica + "reload.go", "err := scheduler.CheckLoss(ofFile(l.running), ofFile(next))", "var err error\n\t_ = scheduler.CheckLoss"},
		}},
		{"reload: a file that is cut off counts", in(replica, "TestReloadOfAHalfWrittenFile"), []edit{
			{replica + "reload.go", "err == nil && next.CutOff(l.running)", "false && next.CutOff(l.running)"},
		}},
		{"neighbours: another service serves the same names", in(replica, "TestTwoServicesInOneNamespace"), []edit{
			{"internal/served/replicas.go", "now.Sub(a.ConfigSince) >= Calm && now.Sub(b.ConfigSince) >= Calm", "false"},
		}},
		{"neighbours: two replicas with one id", in(replica, "TestTwoReplicasWithOneID"), []edit{
			{engine + "internal/presence/heartbeat.go", "r.ID == self.ID && r.Process() != self.Process()", "false"},
		}},
		{"reload: a removed job is claimed", in(engine, "TestRemovedTicksAreAccountedFor"), []edit{
			{engine + "update.go", "q.claiming.StopWaiting(attempt.ErrRemoved)", "_ = attempt.ErrRemoved"},
		}},
		{"reload: a version that returns has a past", in(engine, "TestWayBackHasNoPast"), []edit{
			{"internal/served/past.go", "replaced(versions[i], versions) || ", ""},
		}},
		{"forget: a job that is served", in(engine+"internal/presence/", "TestAbandoned"), []edit{
			{engine + "internal/presence/forget.go", "cmp.Compare(a.Age, b.Age)", "cmp.Compare(b.Age, a.Age)"},
		}},
	},
}

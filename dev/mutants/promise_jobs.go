package main

const schedtest = "scheduler/schedtest/"

var functions = promise{
	page: "jobs.md",
	text: "A function learns what it needs for its run, and its failure harms no other run.",
	plants: []plant{
		{"jobs: a panic is a success", in("jobs", "TestCallRecoversPanics"), []edit{
			{"jobs/run.go", "err = &PanicError{", "_ = &PanicError{"},
		}},
		{"jobs: a secret is logged", in("jobs", "TestSecretsAreMasked"), []edit{
			{"jobs/secrets.go", "run.Logger = m.Logger(run.Logger)", ""},
		}},
		{"exec: a secret is cut before it is masked", in("jobs/execjob", "TestSecretsAreMaskedBeforeTheOutputIsCut"), []edit{
			{"jobs/execjob/output.go", "masked := o.mask.Writer(lines)", "masked := (*mask.Mask)(nil).Writer(lines)"},
		}},
		{"jobs: Previous takes a failure for a success", in(schedtest, "TestPrevious"), []edit{
			{engine + "internal/attempt/call.go", "if last.Outcome != ledger.Succeeded {", "if false {"},
		}},
		{"exec: a command outlives its replica", in("jobs/execjob", "TestGuard", "TestGroupEndsWithTheReplica"), []edit{
			{"jobs/execjob/group.go", "kill -KILL 0`", "kill -KILL $$`"},
		}},
		{"schedtest: a killed replica reaches the nodes", in(schedtest, "TestKill"), []edit{
			{schedtest + "gate.go", "if g.dead.Load() {\n\t\treturn errors", "if false {\n\t\treturn errors"},
		}},
	},
}

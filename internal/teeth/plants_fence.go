package main

const (
	fence       = "./locking/fence"
	redisfence  = "./locking/fence/redisfence"
	httpfence   = "./locking/fence/httpfence"
	integration = "./internal/integration"
)

const (
	sqlDialect = "locking/fence/sqlfence/dialect.go"
	redisGuard = "locking/fence/redisfence/guard.lua"
)

// fencePlants are in what refuses stale writers, and in who hears of it.
var fencePlants = []plant{
	{
		name: "guard: smaller token admitted", promise: "A token smaller than one that was seen is refused.",
		edits: []edit{{"locking/fence/guard.go", "seen > token {", "seen > token+1 {"}},
		pkg:   fence, tests: []string{"TestMemory"},
	},
	{
		name: "gate: two at a time", promise: "Nobody is checked while another writes.",
		edits: []edit{{"locking/fence/gate.go", "make(chan struct{}, 1)", "make(chan struct{}, 2)"}},
		pkg:   fence, tests: []string{"TestGateLetsInOneAtATime"},
	},
	{
		name: "gate: checked before its turn", promise: "A writer that waited is checked when it may write, not before.",
		edits: []edit{
			{"locking/fence/gate.go", "defer g.leave(resource, t)\n", "defer g.leave(resource, t)\n\tif err := g.guard.Admit(ctx, b); err != nil {\n\t\treturn err\n\t}\n"},
			{"locking/fence/gate.go", "\tif err := g.guard.Admit(ctx, b); err != nil {\n\t\treturn err\n\t}\n\treturn write()", "\treturn write()"},
		},
		pkg: fence, tests: []string{"TestGateChecksInsideTheTurn"},
	},
	{
		name: "guard: observers hide each other", promise: "A refusal reaches the scheduler whoever else listens.",
		edits: []edit{{"locking/fence/stale.go", "\t\t\touter(e)\n", "\t\t\t_ = outer\n"}},
		pkg:   fence, tests: []string{"TestObservers"},
	},
	{
		name: "guard: any refusal believed", promise: "Only a refusal of this very token is one of this write.",
		edits: []edit{{"locking/fence/problem.go", " || p.Token != token ", " "}},
		pkg:   fence, tests: []string{"TestProblem"},
	},
	{
		name: "redis guard: smaller token admitted", promise: "The script refuses a token smaller than one it has seen.",
		edits: []edit{{redisGuard, "if seen > token then", "if seen > token + 1 then"}},
		pkg:   redisfence, tests: []string{"TestConformance"},
	},
	{
		name: "redis guard: write before the token", promise: "After a write that failed halfway no older one follows.",
		edits: []edit{
			{redisGuard, "if seen < token then redis.call('SET', KEYS[1], ARGV[1]) end\n", ""},
			{redisGuard, "return {1, write(keys, args)}", "local reply = {1, write(keys, args)}\nif seen < token then redis.call('SET', KEYS[1], ARGV[1]) end\nreturn reply"},
		},
		pkg: redisfence, tests: []string{"TestFailedScriptCountsAsSeen"},
	},
	{
		name: "redis guard: token expires", promise: "A guard that forgets lets everybody in; it keeps tokens for ever.",
		edits: []edit{{redisGuard, "redis.call('SET', KEYS[1], ARGV[1])", "redis.call('SET', KEYS[1], ARGV[1], 'EX', 60)"}},
		pkg:   redisfence, tests: []string{"TestSetAndDel"},
	},
	{
		name: "sql guard: any token raises the row", promise: "A transaction with a stale token changes nothing.",
		edits: []edit{{sqlDialect, " WHERE f.token <= EXCLUDED.token", ""}},
		pkg:   integration, tests: []string{"TestSQLGuards"},
	},
	{
		name: "sql guard: MariaDB takes any token", promise: "The same on MariaDB.",
		edits: []edit{
			{sqlDialect, "token = GREATEST(token, ?)", "token = VALUES(token)"},
			{sqlDialect, "\t\t\tagain: true,\n", ""},
		},
		pkg: integration, tests: []string{"TestSQLGuards"},
	},
	{
		name: "sql guard: MariaDB compares as text", promise: "Two resources are one only if their names are equal byte by byte.",
		edits: []edit{{"locking/fence/sqlfence/schema.go", `"VARBINARY(255)"`, `"VARCHAR(255)"`}},
		pkg:   integration, tests: []string{"TestSQLGuards"},
	},
	{
		name: "sql guard: check in another tx", promise: "Check and write are one transaction.",
		edits: []edit{{
			"locking/fence/sqlfence/guard.go", "\tif err := g.check(ctx, tx, b); err != nil {",
			"\tif err := func() error {\n\t\town, err := g.DB.BeginTx(ctx, g.Tx)\n\t\tif err != nil {\n\t\t\treturn err\n\t\t}\n" +
				"\t\tif err := g.check(ctx, own, b); err != nil {\n\t\t\treturn errors.Join(err, own.Rollback())\n\t\t}\n\t\treturn own.Commit()\n\t}(); err != nil {",
		}},
		pkg: integration, tests: []string{"TestSQLGuards"},
	},
	{
		name: "http guard: requests side by side", promise: "Within a process no request is checked while another writes.",
		edits: []edit{{"locking/fence/httpfence/middleware.go", "err = m.gate.Do(", "err = fence.NewGate(m.Guard).Do("}},
		pkg:   httpfence, tests: []string{"TestConformance"},
	},
	{
		name: "http guard: a gate per route", promise: "No request is checked while one of another route writes to its resource.",
		edits: []edit{{"locking/fence/httpfence/middleware.go", "\treturn http.HandlerFunc(", "\tgate := fence.NewGate(m.Guard)\n\treturn http.HandlerFunc("}, {"locking/fence/httpfence/middleware.go", "err = m.gate.Do(", "err = gate.Do("}},
		pkg:   httpfence, tests: []string{"TestRoutesShareTheGate"},
	},
	{
		name: "http guard: refusal not told", promise: "The writer's observer hears of a 412 of the sink.",
		edits: []edit{{"locking/fence/httpfence/transport.go", "_ = fence.Refused(req.Context(), stale)", "_ = stale"}},
		pkg:   httpfence, tests: []string{"TestRefusalOnTheWire"},
	},
	{
		name: "http: refusal not told", promise: "The ledger counts what a sink refused of an http job.",
		edits: []edit{{"jobs/httpjob/status.go", "fence.Refused(ctx, stale))", "stale)"}, {"jobs/httpjob/status.go", "func judge(ctx ", "func judge(_ "}},
		pkg:   httpjob, tests: []string{"TestRefusedToken"},
	},
	{
		name: "scheduler: refusals unheard", promise: "A refused write is logged and counted, whatever the function does with its error.",
		edits: []edit{{"scheduler/call.go", "fence.WithObserver(ctx, c.refuse)", "fence.WithObserver(ctx, func(*fence.StaleError) {})"}},
		pkg:   scheduler, tests: []string{"TestStaleWritesAreAccountedFor", "TestFrozenHolderIsRefused"},
	},
	{
		name: "scheduler: refusals not in reason", promise: "The ledger says in words what was refused, beside how the run ended.",
		edits: []edit{{"scheduler/refusals.go", "reason.And(Reason{Code: CodeStaleWrites,", "reason.And(Reason{Code: CodeOther,"}},
		pkg:   scheduler, tests: []string{"TestFrozenHolderIsRefused"},
	},
	{
		name: "scheduler: refusals not stored", promise: "The count of refused writes is kept with the run.",
		edits: []edit{{"scheduler/note.go", " Stale: e.StaleWrites,", ""}},
		pkg:   scheduler, tests: []string{"TestNoteKeepsAnEntry"},
	},
}

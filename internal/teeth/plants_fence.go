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
		name: "redis guard: smaller token admitted", promise: "The script refuses a token smaller than one it has seen.",
		edits: []edit{{redisGuard, "if seen > token then", "if seen > token + 1 then"}},
		pkg:   redisfence, tests: []string{"TestConformance"},
	},
	{
		name: "sql guard: any token raises the row", promise: "A transaction with a stale token changes nothing.",
		edits: []edit{{sqlDialect, " WHERE f.token <= EXCLUDED.token", ""}},
		pkg:   integration, tests: []string{"TestSQLGuards"},
	},
	{
		name: "http guard: requests side by side", promise: "Within a process no request is checked while another writes.",
		edits: []edit{{"locking/fence/httpfence/middleware.go", "err = m.gate.Do(", "err = fence.NewGate(m.Guard).Do("}},
		pkg:   httpfence, tests: []string{"TestConformance"},
	},
	{
		name: "scheduler: refusals unheard", promise: "A refused write is logged and counted, whatever the function does with its error.",
		edits: []edit{{"scheduler/call.go", "fence.WithObserver(ctx, c.refuse)", "fence.WithObserver(ctx, func(*fence.StaleError) {})"}},
		pkg:   scheduler, tests: []string{"TestStaleWritesAreAccountedFor", "TestFrozenHolderIsRefused"},
	},
}

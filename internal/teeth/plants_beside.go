package main

const (
	sharesLua = "locking/redlock/shares.lua"
	locktests = "./locking/locktest"
)

// besidePlants are in streams of ticks, and in what runs beside one another.
var besidePlants = []plant{
	{
		name: "streams: one for all", promise: "A tick of one stream does not close the same instant in another.",
		edits: []edit{{redlockDir + "attempt.go", "return req.InStream()", `return "schedule"`}},
		pkg:   redlockPkg, tests: []string{"TestConformanceOnMiniredis"},
	},
	{
		name: "streams: in time after another's claim", promise: "A release after a claim of another stream says that others may have worked.",
		edits: []edit{{finishLua, "if tonumber(fence) > tonumber(token) and not (beside and had) then", "if false then"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "streams: one line for two ticks", promise: "Ticks of different streams are listed each.",
		edits: []edit{{"scheduler/entries.go", "a.Stream == b.Stream && a.OrderKey()", "a.OrderKey()"}},
		pkg:   schedtest, tests: []string{"TestMemoryLedgerConforms"},
	},
	{
		name: "streams: one id for two runs", promise: "The id of a run names no other tick in any stream.",
		edits: []edit{{"scheduler/ledger.go", `id += "." + e.Stream`, `id += ""`}},
		pkg:   schedtest, tests: []string{"TestMemoryLedgerConforms"},
	},
	{
		name: "beside: the share of an old acquire", promise: "A superseded run does not get its share back by an old request.",
		edits: []edit{{claimLua, "s[1] == v and s[2] == token and", "s[1] == v and"}},
		pkg:   redlockPkg, tests: rules, says: "LOST b:6@10",
	},
	{
		name: "beside: the lock ignores shares", promise: "What does not run beside others waits for all that do.",
		edits: []edit{{standingLua, "(p == place or not beside)", "p == place"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "beside: two attempts of a tick", promise: "Attempts of one tick keep out of each other's way.",
		edits: []edit{{standingLua, "(p == place or not beside)", "not beside"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "beside: shares ignore the lock", promise: "What runs beside others waits for what does not.",
		edits: []edit{{standingLua, "if locker and locker ~= v then return locker end", "if locker and locker ~= v and not beside then return locker end"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "beside: taken up after another's run", promise: "A share that ran out does not come back once something was claimed since.",
		edits: []edit{{commitLua, "(has or accepted() <= token)", "true"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "beside: later ticks end it", promise: "A run is extended however many later ticks were claimed.",
		edits: []edit{{extendLua, "if has and not ended then", "if false then"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "beside: the older run ends the newer tick", promise: "A run finishes its own tick only.",
		edits: []edit{{finishLua, "if held and done ~= '1' and done ~= '2' then", "if (held or beside and had) and done ~= '1' then"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "beside: finish asked again", promise: "A release whose reply was lost says the same when it is asked again.",
		edits: []edit{{finishLua, "redis.call('HSET', shares, place .. 'done', '1')", "free()"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "beside: forgotten while it runs", promise: "A job is not forgotten while a run of it has a share of the lock.",
		edits: []edit{{forgetLua, "or #held > 0 then", "then"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "beside: released instead of another", promise: "A forced release takes the share of the holder it names and no other.",
		edits: []edit{{evictLua, "~= arg(1) then return {'NONE', nowtext} end\ndrop", "== '' then return {'NONE', nowtext} end\ndrop"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "beside: ended shares count", promise: "A share ends with its run.",
		edits: []edit{{sharesLua, "and s.done ~= '1'", ""}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "beside: its run is shown as interrupted", promise: "A run that has a share of the lock is listed as running.",
		edits: []edit{{ledgerDir + "read.lua", "if place and tonumber", "if false and tonumber"}},
		pkg:   redisledger, tests: []string{"TestLedgerConforms"},
	},
	{
		name: "beside: waits for the earlier run", promise: "With overlap: allow a tick starts beside earlier runs.",
		edits: []edit{{"scheduler/claim.go", "Beside: a.beside(), ", ""}},
		pkg:   "./scheduler", tests: []string{"TestOverlapAllow"},
	},
	{
		name: "beside: rerun is promised", promise: "overlap: allow and on_crash: rerun are refused together.",
		edits: []edit{{"scheduler/policy.go", "j.validateAllow(),", ""}},
		pkg:   "./scheduler", tests: []string{"TestAllowGoesNotWithRerun"},
	},
	{
		name: "beside: nobody warns", promise: "validate warns that a guard refuses the older of two runs.",
		edits: []edit{{"cmd/validate.go", "range config.Warnings()", "range config.Warnings()[:0]"}},
		pkg:   "./cmd", tests: []string{"TestUsage"},
	},
	{
		name: "beside: in memory, the lock ignores shares", promise: "The Locker in memory grants what one on the nodes does.",
		edits: []edit{{"locking/locktest/memory.go", "(same || !req.Beside)", "same"}},
		pkg:   locktests, tests: []string{"TestMemoryConforms"},
	},
}

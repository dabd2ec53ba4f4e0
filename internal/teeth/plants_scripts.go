package main

const (
	scriptsPkg = "./internal/redlock/scripts"
	scriptsDir = "internal/redlock/scripts/"
)

// fewer are enough for what most sequences show.
var fewer = []string{"-rapid.checks=400"}

// scriptPlants change a rule of a node, some of them so little that only a comparison with
// package rules finds it.
var scriptPlants = []plant{
	{
		name: "node: stale token accepted", promise: "Tokens only grow: a node refuses one that is not above its fence.",
		edits: []edit{{scriptsDir + "commit.lua", "(t <= (join and kept or largest) or", "(false or"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: equal token accepted", promise: "No two claims carry the same token.",
		edits: []edit{{scriptsDir + "commit.lua", "t <= (join", "t < (join"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: ticks are not looked at", promise: "A tick that was claimed, finished or passed is not granted again.",
		edits: []edit{{scriptsDir + "commit.lua", "local same = tick and tonumber(c_tick) == tick", "tick = nil\nlocal same = false"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: finished tick locked again", promise: "A tick that was finished is never run again.",
		edits: []edit{{scriptsDir + "lock.lua", "elseif same and string.find('ORL', state, 1, true) then", "elseif false then"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: done not checked by COMMIT", promise: "A tick that was finished between the rounds is not run again, in rerun mode either.",
		edits: []edit{{scriptsDir + "commit.lua", "string.find('ORL', state, 1, true)", "false"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: COMMIT over another's claim", promise: "COMMIT checks the claim by itself: the lock may have run out between the rounds.",
		edits: []edit{{scriptsDir + "commit.lua", "(c_mode == '0' and state ~= 'V' or c_mode == '1' and mode == '0')", "false"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: COMMIT over another's lock", promise: "Who lost the lock between the rounds does not commit.",
		edits: []edit{{scriptsDir + "commit.lua", "elseif rival then", "elseif false then"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: older tick accepted", promise: "Once a later tick was claimed, older ones are closed.",
		edits: []edit{{scriptsDir + "commit.lua", "code = 'LATER'", "code = nil"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: stored mode ignored", promise: "A roll-out that changes on_crash does not let a tick run twice.",
		edits: []edit{{scriptsDir + "commit.lua", "c_mode == '0' and state ~= 'V'", "mode == '0' and c_mode == '0' and state ~= 'V'"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: attempt number not checked", promise: "No two reruns of a tick carry the same attempt number.",
		edits: []edit{{scriptsDir + "commit.lua", "tonumber(attempt) <= tonumber(number)", "false"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: UNENDED between two runs of a tick", promise: "Runs of one tick never overlap.",
		edits: []edit{{scriptsDir + "commit.lua", " and place ~= here", ""}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: no fence for the floor", promise: "Tokens grow also after a node has lost its memory.",
		edits: []edit{{scriptsDir + "commit.lua", "local largest = math.max(kept, math.ceil(floor / 1000) * 2^20)", "local largest = kept"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: no floor for ticks", promise: "A node that lost its memory has no say in what it may have forgotten.",
		edits: []edit{{scriptsDir + "commit.lua", "<= floor and not join then return {'ABSTAIN'", "<= 0 then return {'ABSTAIN'"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: token ahead of its clock", promise: "A node accepts no token that lies beyond the floor of its next life.",
		edits: []edit{{scriptsDir + "commit.lua", "t - seconds * 2^20 > reach", "t - seconds * 2^20 > 2^20 + reach"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: COMMIT of the dead", promise: "A commit that arrives after its try has ended is refused.",
		edits: []edit{{scriptsDir + "commit.lua", "if dead then return", "if false then return"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "look: takes the lock", promise: "A look changes nothing.",
		edits: []edit{{scriptsDir + "lock.lua", "if v ~= '' and not mine", "if not mine"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: extends what only LOCK has set", promise: "An old LOCK that arrives late brings no lease back.",
		edits: []edit{{scriptsDir + "extend.lua", "elseif lock ~= v and open ~= v then", "elseif not mine and open ~= v then"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: finish frees anybody's lock", promise: "A late finish does not free the lock of the next run.",
		edits: []edit{{scriptsDir + "finish.lua", "if mine then redis.call('DEL'", "if lock then redis.call('DEL'"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: records without a bound", promise: "A node keeps a bounded number of records per job.",
		edits: []edit{{scriptsDir + "finish.lua", "trim(runs_key, num(-tonumber(keep) - 1))", ""}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: finish without a tombstone", promise: "A request that arrives after its run has ended takes no lock.",
		edits: []edit{{scriptsDir + "finish.lua", "if straggler == '1'", "if false"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "node: void marks a finished claim", promise: "A void that comes too late leaves the tick done.",
		edits: []edit{{scriptsDir + "void.lua", "if state == '-' then redis", "if true then redis"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "beside: later ticks end it", promise: "A run finishes in time however many later ticks were claimed.",
		edits: []edit{{scriptsDir + "finish.lua", "(open == v or overlaps)", "open == v"}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "forget: tick not remembered", promise: "A tick of a forgotten job never runs again.",
		edits: []edit{{scriptsDir + "forget.lua", "tick = math.max(tick, tonumber(at) or 0)", ""}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
	{
		name: "evict: without a tombstone", promise: "Whose lock was released by force does not get it back by extending.",
		edits: []edit{{scriptsDir + "evict.lua", "redis.call('SET', key(3), arg(2), 'PX', num(2 * gracems))", ""}},
		pkg:   scriptsPkg, tests: scriptAgreement, args: fewer, says: saysModel,
	},
}

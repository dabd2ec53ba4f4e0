package main

const (
	claimLua    = "locking/redlock/claim.lua"
	standingLua = "locking/redlock/standing.lua"
	commitLua   = "locking/redlock/commit.lua"
	extendLua   = "locking/redlock/extend.lua"
	finishLua   = "locking/redlock/finish.lua"
	abortLua    = "locking/redlock/abort.lua"
	voidLua     = "locking/redlock/void.lua"
	voteLua     = "locking/redlock/vote.lua"

	nodesDir = "locking/redlock/nodes/"

	redlockPkg = "./locking/redlock"
	nodesPkg   = "./locking/redlock/nodes"
)

var (
	rules       = []string{"TestRulesOnMiniredis"}
	rulesOnReal = []string{"TestRulesOnRedis"}
)

// nodePlants are in what one node decides.
var nodePlants = []plant{
	{
		name: "node: stale token accepted", promise: "Tokens only grow: a node refuses one that is not above its fence.",
		edits: []edit{{commitLua, "if token <= fence() then", "if false then"}},
		pkg:   redlockPkg, tests: rules, says: `want "STALE fence=`,
	},
	{
		name: "node: a handover is done", promise: "A tick that was handed over can be run again at once.",
		edits: []edit{{finishLua, "handover and '2' or '1'", "'1'"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: a handover without a tombstone", promise: "After a handover nothing that its owner has sent keeps the next attempt out.",
		edits: []edit{{finishLua, "if handover then redis.call('SET', dead", "if false then redis.call('SET', dead"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: equal token accepted", promise: "No two claims carry the same token.",
		edits: []edit{{commitLua, "if token <= fence() then", "if token < fence() then"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: claimed tick granted again", promise: "A tick that runs once is claimed by one attempt, also when the lock has run out.",
		edits: []edit{
			{voteLua, "if not mine and claimed(mode) then", "if false then"},
			{voteLua, "if not no and in_the_way() then", "if false then"},
			{commitLua, "if in_the_way() then return in_the_way_of", "if false then return"},
		},
		pkg: redlockPkg, tests: []string{"TestConformanceOnMiniredis"},
	},
	{
		name: "node: ticks are not looked at", promise: "A tick that was claimed, finished or passed is not granted again.",
		edits: []edit{{voteLua, "if not tick then return nil end", "if true then return nil end"}},
		pkg:   redlockPkg, tests: rules, says: `want "LATER a:5@20"`,
	},
	{
		name: "node: COMMIT over another's claim", promise: "COMMIT checks the claim by itself: the lock may have run out between the rounds.",
		edits: []edit{{commitLua, "closed(mode, mine)", "closed(mode, true)"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: COMMIT over another's lock", promise: "Who lost the lock between the rounds does not commit.",
		edits: []edit{{commitLua, "if in_the_way() then return in_the_way_of", "if false then return"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: finished tick granted again", promise: "A tick that was finished is never run again.",
		edits: []edit{
			{voteLua, "stored_done == '1'", "false"},
			{voteLua, "if not mine and claimed(mode) then", "if stored_done ~= '1' and not mine and claimed(mode) then"},
		},
		pkg: redlockPkg, tests: []string{"TestContention"},
	},
	{
		name: "node: done not checked by COMMIT", promise: "A tick that was finished between the rounds is not run again, in rerun mode either.",
		edits: []edit{{commitLua, "local no = closed(mode, mine)", "local no = stored_done ~= '1' and closed(mode, mine)"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: older tick accepted", promise: "Once a later tick was claimed, older ones are closed.",
		edits: []edit{{commitLua, "local no = closed(mode, mine)", "local no = tick and not overtaken() and closed(mode, mine)"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: stored mode ignored", promise: "A roll-out that changes on_crash does not let a tick run twice.",
		edits: []edit{{voteLua, "if stored_mode == '0' then", "if mode == '0' and stored_mode == '0' then"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: attempt number not checked", promise: "No two reruns of a tick carry the same attempt number.",
		edits: []edit{{commitLua, "attempt <= tonumber(stored_attempt)", "false"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: no floor for the fence", promise: "Tokens grow also after a node has lost its memory.",
		edits: []edit{{voteLua, "math.max(kept, math.ceil(floor / 1000) * 2^20)", "kept"}},
		pkg:   redlockPkg, tests: []string{"TestClockSetBackAcrossALoss"},
	},
	{
		name: "node: no floor for ticks", promise: "A node that lost its memory has no say in what it may have forgotten.",
		edits: []edit{{voteLua, "if (tick or now) <= floor then", "if false then"}},
		pkg:   redlockPkg, tests: []string{"TestRestartedNodes"},
	},
	{
		name: "node: restart goes unnoticed", promise: "A node that restarted abstains for one grace.",
		edits: []edit{{nodesDir + "prelude.lua", "if ARGV[6] ~= '1' then since = now end", ""}},
		pkg:   nodesPkg, tests: []string{"TestRestartMovesTheFloor"}, says: "the floor is",
	},
	{
		name: "node: tick ahead of its clock", promise: "A node accepts no tick that lies beyond the floor of its next life.",
		edits: []edit{{voteLua, "(now <= floor or tick > now + gracems / 2)", "now <= floor"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: token ahead of its clock", promise: "A node accepts no token that lies far ahead of its clock.",
		edits: []edit{{commitLua, "token > (now + gracems / 2) / 1000 * 2^20 or token", "token"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: token a second ahead of that", promise: "A node accepts no token that lies beyond the floor of its next life.",
		edits: []edit{{commitLua, "(now + gracems / 2) / 1000 * 2^20", "((now + gracems / 2) / 1000 + 1) * 2^20"}},
		pkg:   redlockPkg, tests: []string{"TestClockSetBackAcrossALoss"},
	},
	{
		name: "node: votes within its own grace", promise: "A replica whose clock is ahead gets no vote while a forgotten lease may last.",
		edits: []edit{{voteLua, "(now <= floor or tick > now + gracems / 2)", "tick > now + gracems / 2"}},
		pkg:   redlockPkg, tests: []string{"TestForgottenLeaseOutlastsFastClock"},
	},
	{
		name: "node: extends past a larger token", promise: "A lease that was superseded cannot be extended, though a late request brought its lock back.",
		edits: []edit{{extendLua, "if accepted() > tonumber(token) then", "if false then"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: set is called renewed", promise: "A node tells whether it had the lock, or set it again.",
		edits: []edit{{extendLua, "return reply('SET')", "return reply('RENEWED')"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: extends anybody's lease", promise: "Only the owner of the claim sets its lock again.",
		edits: []edit{{extendLua, "stored_owner == v and stored_token", "stored_token"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: extends what is done or void", promise: "A claim that was given back is not taken again by a late extension.",
		edits: []edit{{extendLua, "stored_done == '0' and stored_void ~= '1'", "true"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: abort without a tombstone", promise: "A request that arrives after its attempt gave up takes no lock.",
		edits: []edit{{abortLua, "if arg(6) == '1' then", "if false then"}},
		pkg:   redlockPkg, tests: []string{"TestThawedNodeIsCleanedUp"},
	},
	{
		name: "node: void without a tombstone", promise: "A commit that arrives after its attempt was voided is refused.",
		edits: []edit{{voidLua, "redis.call('SET', dead, '1', 'PX', num(2 * tonumber(ttl)))", ""}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: abort frees anybody's lock", promise: "Whoever gives up leaves the locks of others alone.",
		edits: []edit{{claimLua, "if redis.call('GET', lock) == v then", "if true then"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: finish frees anybody's lock", promise: "A late finish does not free the lock of the next run.",
		edits: []edit{{finishLua, "if had then redis.call('DEL', lock) end", "redis.call('DEL', lock)"}},
		pkg:   redlockPkg, tests: rules, says: `lock: "free", want "b"`,
	},
	{
		name: "node: void marks a finished claim", promise: "A void that comes too late leaves the tick done.",
		edits: []edit{{voidLua, "if stored_owner == v and stored_done ~= '1' then", "if stored_owner == v then"}},
		pkg:   redlockPkg, tests: rules, says: "void=1",
	},
	{
		name: "node: finish of another's claim", promise: "A run that was superseded does not finish the tick of its successor.",
		edits: []edit{{finishLua, "owner == v and claimed == token", "true"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: records without a bound", promise: "A node keeps a bounded number of records per job.",
		edits: []edit{{finishLua, "trim(runs, num(-tonumber(keep) - 1))", ""}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: starts without a bound", promise: "A node keeps a bounded number of records also of a job whose runs never finish.",
		edits: []edit{{commitLua, "if stored_owner and stored_done ~= '1' then", "if false then"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: a tombstone beside a lock", promise: "Who gave up gets no vote, whoever has the lock.",
		edits: []edit{{standingLua, "given_up = there > 0 and redis.call", "given_up = not locker and redis.call"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "node: numbers in scientific form", promise: "Tokens keep all their digits on real Redis.",
		edits: []edit{{nodesDir + "head.lua", "return string.format('%.0f', n)", "return tostring(n)"}},
		pkg:   redlockPkg, tests: rulesOnReal,
	},
	{
		name: "node: another list is served", promise: "A node serves replicas of one list of nodes only.",
		edits: []edit{{nodesDir + "members.lua", "if node[3] ~= ARGV[2] then", "if false then"}},
		pkg:   nodesPkg, tests: []string{"TestStrangersAreRefused"},
	},
	{
		name: "node: sealed, and goes on", promise: "A node that is sealed for a change of the list grants nothing.",
		edits: []edit{{nodesDir + "members.lua", "if node[9] and ARGV[8] ~= '1' then", "if false then"}},
		pkg:   nodesPkg, tests: []string{"TestStrangersAreRefused", "TestSealedNodeTakesFinishes"},
	},
	{
		name: "node: lease as long as the grace", promise: "A lease ends before a node that forgot it votes again.",
		edits: []edit{{nodesDir + "members.lua", "if tonumber(ARGV[9]) >= gracems then", "if false then"}},
		pkg:   nodesPkg, tests: []string{"TestLeaseAsLongAsTheGraceIsRefused"},
	},
	{
		name: "node: declared new after serving", promise: "Nobody can declare a node as new that has accepted a claim.",
		edits: []edit{{nodesDir + "init.lua", "if node[11] then return {'SERVED', nowtext} end", ""}},
		pkg:   nodesPkg, tests: []string{"TestInitSeesAClaimAtTheLastMoment"},
	},
	{
		name: "node: denied INFO taken as embedded", promise: "A server that denies INFO is refused: its restarts would go unnoticed.",
		edits: []edit{{
			nodesDir + "head.lua", "if embedded and string.find(why, 'section (server) is not supported', 1, true) then", "if true then",
		}},
		pkg: nodesPkg, tests: []string{"TestNodeThatDeniesInfoIsRefused", "TestJoinRefusesEmbeddedNodesUnlessAllowed"},
	},
}

package main

// saysModel is how the differential tests say that a server answers or stores
// what the plain model of a node does not.
const saysModel = "the model"

var (
	agreement       = []string{"TestScriptsAgreeWithTheModel"}
	memberAgreement = []string{"TestMembershipAgreesWithTheModel"}

	// What only one sequence in fifty shows must not be missed by chance.
	atLength = []string{"-rapid.checks=1000"}
)

// differentialPlants change one rule of a node each, some of them so little that
// only a comparison with the plain model finds it.
var differentialPlants = []plant{
	{
		name: "model: token as large as the fence", promise: "No two claims carry the same token.",
		edits: []edit{{commitLua, "if token <= fence() then", "if token < fence() then"}},
		pkg:   redlockPkg, tests: agreement, args: atLength, says: saysModel,
	},
	{
		name: "model: forgotten tick granted", promise: "What was forgotten stays closed, the last tick too.",
		edits: []edit{{voteLua, "return tick <= gc_tick", "return tick < gc_tick"}},
		pkg:   redlockPkg, tests: agreement, args: atLength, says: saysModel,
	},
	{
		name: "model: forgets the older fence", promise: "Tokens of a job that comes back exceed those of all that were forgotten.",
		edits: []edit{{"locking/redlock/forget.lua", "fence = math.max(fence, value)", "fence = value"}},
		pkg:   redlockPkg, tests: agreement, args: atLength, says: saysModel,
	},
	{
		name: "model: floor of the extension", promise: "A node sets no lock again for a tick that it may have forgotten.",
		edits: []edit{{extendLua, "if held and (tick or now) > floor then", "if held then"}},
		pkg:   redlockPkg, tests: agreement, args: atLength, says: saysModel,
	},
	{
		name: "model: serving is not noted", promise: "Nobody can declare a node as new that has accepted a claim.",
		edits: []edit{{commitLua, "serve()\n", "\n"}},
		pkg:   redlockPkg, tests: agreement, args: atLength, says: saysModel,
	},
	{
		name: "model: tombstone of one ttl", promise: "A tombstone outlasts what may still arrive.",
		edits: []edit{{abortLua, "num(2 * tonumber(ttl))", "num(1 * tonumber(ttl))"}},
		pkg:   redlockPkg, tests: agreement, args: atLength, says: saysModel,
	},
	{
		name: "model: clock set back goes unnoticed", promise: "A node whose clock was set back abstains for a grace, not for years.",
		edits: []edit{{nodesDir + "prelude.lua", "if since > now + gracems then", "if since > now + 3 * gracems then"}},
		pkg:   nodesPkg, tests: memberAgreement, args: atLength, says: saysModel,
	},
	{
		name: "model: seal after a clock set back", promise: "A seal tells how far the clock has ever been.",
		edits: []edit{{nodesDir + "seal.lua", "num(math.max(now, since))", "num(now)"}},
		pkg:   nodesPkg, tests: memberAgreement, args: atLength, says: saysModel,
	},
	{
		name: "model: announced for twice as long", promise: "An announcement counts for its window.",
		edits: []edit{{ledgerDir + "announce.lua", "tonumber(at) + tonumber(arg(1)) <= now", "tonumber(at) + 2 * tonumber(arg(1)) <= now"}},
		pkg:   redisledger, tests: agreement, args: atLength, says: saysModel,
	},
	{
		name: "model: reads one record too many", promise: "A page of the ledger ends before the tick it is to end before.",
		edits: []edit{{ledgerDir + "read.lua", "redis.call('ZRANGE', key(set + 1), latest,", "redis.call('ZRANGE', key(set + 1), (string.gsub(latest, '%(', '')),"}},
		pkg:   redisledger, tests: agreement, args: atLength, says: saysModel,
	},
}

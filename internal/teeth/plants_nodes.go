package main

const (
	nodesDir = "internal/redlock/members/"
	wireDir  = "internal/redlock/wire/"

	redlockPkg = "./locking/redlock"
	wirePkg    = "./internal/redlock/wire"
	nodesPkg   = "./internal/redlock/members"
)

// nodePlants are in what a node knows of itself.
var nodePlants = []plant{
	{
		name: "node: restart goes unnoticed", promise: "A node that restarted abstains for one grace.",
		edits: []edit{{nodesDir + "prelude.lua", "if not string.find(ARGV[3], 'd', 1, true) then since = now end", ""}},
		pkg:   nodesPkg, tests: []string{"TestRestartMovesTheFloor"}, says: "the floor is",
	},
	{
		name: "node: another list is served", promise: "A node serves replicas of one list of nodes only.",
		edits: []edit{{nodesDir + "members.lua", "if members ~= our_members then", "if false then"}},
		pkg:   nodesPkg, tests: []string{"TestStrangersAreRefused"},
	},
	{
		name: "node: declared new after serving", promise: "Nobody can declare a node as new that has accepted a claim.",
		edits: []edit{{nodesDir + "init.lua", "if node[4] then return {'SERVED', nowtext} end", ""}},
		pkg:   nodesPkg, tests: []string{"TestInitSeesAClaimAtTheLastMoment"},
	},
}

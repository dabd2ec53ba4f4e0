package main

// saysModel is how the differential tests say that a server answers or stores
// what the plain model of a node does not.
const saysModel = "the model"

var (
	agreement       = []string{"TestScriptsAgreeWithTheModel"}
	scriptAgreement = []string{"TestScriptsAgreeWithTheRules"}

	// What only one sequence in fifty shows must not be missed by chance.
	atLength = []string{"-rapid.checks=1000"}
)

// differentialPlants change what a node does beside the rules of claims, some of them so
// little that only a comparison with the plain model finds it.
var differentialPlants = []plant{
	{
		name: "model: reads one record too many", promise: "A page of the ledger ends before the tick it is to end before.",
		edits: []edit{{redisledgerDir + "read.lua", "redis.call('ZRANGE', key(set + 1), latest,", "redis.call('ZRANGE', key(set + 1), (string.gsub(latest, '%(', '')),"}},
		pkg:   redisledger, tests: agreement, args: atLength, says: saysModel,
	},
}

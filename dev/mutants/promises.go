package main

// Folders with several plants.
const (
	config  = "internal/config/"
	engine  = "scheduler/"
	fence   = "locking/fence/"
	locking = "locking/"
	members = "internal/store/quorum/membership/"
	redlock = "locking/redlock/"
	replica = "replica/"
	scripts = "internal/store/quorum/scripts/"
	sim     = "dev/sim/"
)

// theModel is in the message of a test that compares Lua with its model in Go.
const theModel = "the model"

// rules compares the Lua of the nodes' rules with package protocol. 400 sequences show most
// differences.
var rules = in(scripts, "TestScriptsAgreeWithTheRules").with("-rapid.checks=400").saying(theModel)

// promises are those with a page of docs/guarantees, and others.
func promises() []promise {
	return []promise{
		oncePerTick, growingTokens, guards, leases, competition, minority, outcomes,
		nodeChanges, policies, rollouts, functions, access, display, oneStore, oneRedis, postgres, sqlDatabases, mysql, etcd, zookeeper,
	}
}

// plants are those of all promises.
func plants() []plant {
	var list []plant
	for _, p := range promises() {
		list = append(list, p.plants...)
	}
	return list
}

package main

const (
	replica    = "./scheduler/replica"
	replicaDir = "scheduler/replica/"
	configDir  = "internal/config/"
	config     = "./internal/config"
)

// replicaPlants are in the configuration, in how a replica joins its nodes, and
// in what the command says.
var replicaPlants = []plant{
	{
		name: "config: unknown key accepted", promise: "A key that does not exist is an error.",
		edits: []edit{{configDir + "decode.go", `d.atKey(p, "%s", msg)`, ""}},
		pkg:   config, tests: []string{"TestReadReportsEveryMistakeWithItsPlace"},
	},
	{
		name: "config: lease as long as the grace", promise: "A configuration in which a node could forget a lease that lasts is refused.",
		edits: []edit{{configDir + "check.go", "if c.Lock.TTL >= c.Redis.RestartGrace {", "if false {"}},
		pkg:   config, tests: []string{"TestReadReportsEveryMistakeWithItsPlace"},
	},
	{
		name: "replica: health depends on Redis", promise: "No outage of the nodes makes Kubernetes restart the replicas.",
		edits: []edit{{
			replicaDir + "probes.go", `respond(w, http.StatusOK, "ok") })`, "respond(w, 200+min(300, 300*len(reasons())), \"ok\") })",
		}},
		pkg: replica, tests: []string{"TestProbes"},
	},
	{
		name: "cmd: no quorum is a plain failure", promise: "Listings exit with 4 where no quorum answers.",
		edits: []edit{{"cmd/exec.go", "return exitNoQuorum", "return exitFailed"}},
		pkg:   "./cmd", tests: []string{"TestCampaignNoQuorum"},
	},
}

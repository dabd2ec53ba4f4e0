package main

const (
	replica    = "./scheduler/replica"
	replicaDir = "scheduler/replica/"
)

// replicaPlants are in the configuration, in how a replica joins its nodes, and
// in what the command says.
var replicaPlants = []plant{
	{
		name: "config: calendar of a job passed over", promise: "A job does not tick on the days of its calendars.",
		edits: []edit{{replicaDir + "schedules.go", "excluded = append(excluded, c)", "_ = append(excluded, c)"}},
		pkg:   replica, tests: []string{"TestSchedulesArePutTogether"},
	},
	{
		name: "config: jitter as long as the gap", promise: "A tick starts before the next one comes.",
		edits: []edit{{replicaDir + "schedules.go", "ok && jitter >= gap {", "ok && jitter > gap {"}},
		pkg:   replica, tests: []string{"TestReadReportsEveryMistakeWithItsPlace"},
	},
	{
		name: "config: hash without the calendars", promise: "Replicas whose calendars differ serve versions of a job that differ.",
		edits: []edit{{replicaDir + "differences.go", "made[\"calendars.\"+name] = calendars[name]", "_ = name"}},
		pkg:   replica, tests: []string{"TestHashFollowsCalendars"},
	},
	{
		name: "config: unknown key accepted", promise: "A key that does not exist is an error.",
		edits: []edit{{replicaDir + "decode.go", `d.atKey(p.with(key), "%s", unknownKey(key, fields))`, ""}},
		pkg:   replica, tests: []string{"TestReadReportsEveryMistakeWithItsPlace"},
	},
	{
		name: "config: second job of a name wins", promise: "A job that stands twice is an error.",
		edits: []edit{{replicaDir + "document.go", "ps.duplicate(p.with(key.Value), key, before)\n", "\n"}},
		pkg:   replica, tests: []string{"TestReadReportsEveryMistakeWithItsPlace"},
	},
	{
		name: "config: lease as long as the grace", promise: "A configuration in which a node could forget a lease that lasts is refused.",
		edits: []edit{{replicaDir + "check.go", "if c.Lock.TTL >= c.Redis.RestartGrace {", "if false {"}},
		pkg:   replica, tests: []string{"TestReadReportsEveryMistakeWithItsPlace"},
	},
	{
		name: "config: kill_grace above the margin", promise: "A command is gone before its lease ends.",
		edits: []edit{{"jobs/execjob/params.go", "if limits.SafetyMargin > 0 && p.KillGrace", "if limits.SafetyMargin < 0 && p.KillGrace"}},
		pkg:   replica, tests: []string{"TestReadReportsEveryMistakeWithItsPlace"},
	},
	{
		name: "config: even number of nodes", promise: "The nodes are 1, 3, 5 or 7.",
		edits: []edit{{replicaDir + "check_nodes.go", "case n%2 == 0:", "case false:"}},
		pkg:   replica, tests: []string{"TestReadReportsEveryMistakeWithItsPlace"},
	},
	{
		name: "config: every QUORATE_* overrides", promise: "Variables that Kubernetes injects change nothing.",
		edits: []edit{{replicaDir + "overrides.go", `const envPrefix = "QUORATE__"`, `const envPrefix = "QUORATE_"`}},
		pkg:   replica, tests: []string{"TestOverrides", "TestOverrideMistakesNameTheirSource"},
	},
	{
		name: "replica: refusal ends it in silence", promise: "A replica that the nodes refuse ends and says why.",
		edits: []edit{{replicaDir + "run.go", "stop(refused[i])", "refused[i] = nil; stop(nil)"}},
		pkg:   replica, tests: []string{"TestRunEndsWhereItIsRefused"},
	},
	{
		name: "replica: ready before the grace", promise: "A replica says that it waits for the grace of its nodes.",
		edits: []edit{{replicaDir + "cell.go", "\tcase !at.IsZero():\n\t\treturn", "\tcase false:\n\t\treturn"}},
		pkg:   replica, tests: []string{"TestRunOnBlankNodesWaitsOneGraceAndSaysSo"},
	},
	{
		name: "replica: health depends on Redis", promise: "No outage of the nodes makes Kubernetes restart the replicas.",
		edits: []edit{{
			replicaDir + "probes.go", `respond(w, http.StatusOK, "ok") })`, "respond(w, 200+min(300, 300*len(reasons())), \"ok\") })",
		}},
		pkg: replica, tests: []string{"TestProbes"},
	},
	{
		name: "cluster: ticks are not remembered", promise: "Three replicas run each tick once.",
		edits: []edit{{"locking/redlock/vote.lua", "return tick and tonumber(stored_tick) == tick", "return false"}},
		pkg:   "./cmd", tests: []string{"TestCampaignEveryTickOnce"},
	},
	{
		name: "cluster: orphans go on", promise: "What a killed replica was running writes nothing more.",
		edits: []edit{{"jobs/execjob/group.go", "read -r line\nkill -KILL 0`", "read -r line\nkill -KILL $$`"}},
		pkg:   "./cmd", tests: []string{"TestCampaignKills"},
	},
	{
		name: "cmd: no quorum is a plain failure", promise: "Listings exit with 4 where no quorum answers.",
		edits: []edit{{"cmd/exec.go", "return exitNoQuorum", "return exitFailed"}},
		pkg:   "./cmd", tests: []string{"TestCampaignNoQuorum"},
	},
}

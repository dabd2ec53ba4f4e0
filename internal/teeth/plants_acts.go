package main

const (
	redisacts = "./internal/redisacts"
	actsDir   = "internal/redisacts/"
)

// actPlants are in what is asked of the whole cluster.
var actPlants = []plant{
	{
		name: "acts: request shown that few nodes hold", promise: "A request is shown when a quorum holds it.",
		edits: []edit{{actsDir + "merge.go", "return n >= p.quorum", "return n >= 1"}},
		pkg:   redisacts, tests: []string{"TestConfirmed"},
	},
	{
		name: "acts: closed request opened again", promise: "A request that was closed stays closed.",
		edits: []edit{{actsDir + "reserve.lua", "if kept and kept.state ~= 'R' then", "if kept and kept.state == 'O' then"}},
		pkg:   redisacts, tests: []string{"TestActsConform"},
	},
	{
		name: "acts: a claim is run though its job was paused", promise: "A claim that is granted after its job was paused is given back.",
		edits: []edit{{schedulerDir + "run.go", "v = x.pausedMeanwhile()", ""}},
		pkg:   scheduler, tests: []string{"TestPauseStopsWhatWaits"},
	},
	{
		name: "acts: cancel ends another run", promise: "A cancel ends the run it names and no other.",
		edits: []edit{{schedulerDir + "requests.go", "if run.tick.entry(run.job, \"\").ID() != act.Run {", "if false {"}},
		pkg:   scheduler, tests: []string{"TestCancel"},
	},
	{
		name: "acts: params of requests reach commands", promise: "Who may ask for a run cannot choose the command.",
		edits: []edit{{configDir + "requests.go", "if slices.Contains(fixedParams, job.Func) {", "if false {"}},
		pkg:   config, tests: []string{"TestParamsOfRequests"},
	},
}

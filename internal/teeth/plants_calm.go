package main

// calmPlants are in what keeps nodes that are asked much from being asked more.
var calmPlants = []plant{
	{
		name: "past: read by all", promise: "The past of a job is read by one replica, however many start.",
		edits: []edit{{schedulerDir + "scan_later.go", "fitting(peers, s.job.Labels)) > 0 {", "fitting(peers, s.job.Labels)) > 99 {"}},
		pkg:   scheduler, tests: []string{"TestPastIsReadByOne"},
	},
	{
		name: "past: read at once", promise: "All replicas together read the past slowly.",
		edits: []edit{{schedulerDir + "scan_later.go", "laterPace*time.Duration(max(1, len(peers)))", "0*laterPace"}},
		pkg:   scheduler, tests: []string{"TestPastIsReadByOne"},
	},
	{
		name: "past: left to the dead", promise: "What a replica that died has not accounted for, another one does.",
		edits: []edit{{schedulerDir + "scan_later.go", "time.Now().After(enough)", "!enough.IsZero()"}},
		pkg:   scheduler, tests: []string{"TestPastOfTheDead"},
	},
}

package main

// configPlants are in how people compare what replicas serve.
var configPlants = []plant{
	{
		name: "config: a diff that does not fit", promise: "A diff turns the one text into the other.",
		edits: []edit{{listingDir + "hunks.go", "\tcase \"+\":\n\t\th.From++", "\tcase \"+\":\n\t\th.From += 0"}},
		pkg:   listingPkg, tests: []string{"TestDiffTurnsOneIntoTheOther"},
	},
	{
		name: "config: more differs than must", promise: "A diff takes out and puts in as little as can be.",
		edits: []edit{{listingDir + "line_diff.go", "longest[i+1][j] >= longest[i][j+1]", "longest[i+1][j] >= 0"}},
		pkg:   listingPkg, tests: []string{"TestDiffTurnsOneIntoTheOther"},
	},
	{
		name: "config: a diff of any size", promise: "The work of a comparison is bounded.",
		edits: []edit{{listingDir + "line_diff.go", "len(from)*len(to) > mostCells", "len(from)*len(to) < 0"}},
		pkg:   listingPkg, tests: []string{"TestDiffIsBounded"},
	},
	{
		name: "config: a page of any length", promise: "The lines of a diff are bounded.",
		edits: []edit{{listingDir + "hunks.go", "case total >= mostLines:", "case total < 0:"}},
		pkg:   listingPkg, tests: []string{"TestDiffIsBounded"},
	},
	{
		name: "config: params that differ are the same", promise: "The page says which param changed from what to what.",
		edits: []edit{{listingDir + "compare.go", "if had == has && x == y {", "if had == has {"}},
		pkg:   listingPkg, tests: []string{"TestCompare"},
	},
	{
		name: "config: a set of any size", promise: "What is kept of a set of jobs is bounded.",
		edits: []edit{{schedulerDir + "jobset.go", "w.left -= len(b); w.left < 0", "w.left -= len(b); w.left < -1<<40"}},
		pkg:   scheduler, tests: []string{"TestLargeSetsAreNotKept"},
	},
	{
		name: "config: each replica writes the set down", promise: "One replica writes down what all of them serve.",
		edits: []edit{{schedulerDir + "publish_set.go", "err == nil && !kept", "err == nil && (!kept || p.sets != nil)"}},
		pkg:   scheduler, tests: []string{"TestOneReplicaKeepsASet"},
	},
	{
		name: "config: what was not told is forgotten", promise: "A set that could not be told is told soon again.",
		edits: []edit{{schedulerDir + "publish_set.go", "\tif err != nil {\n\t\tp.mu.Lock()\n\t\tp.untold = true", "\tif err != nil {\n\t\tp.mu.Lock()\n\t\tp.untold = false"}},
		pkg:   scheduler, tests: []string{"TestOneReplicaKeepsASet"},
	},
	{
		name: "config: sets are kept for good", promise: "What nobody serves any more is forgotten.",
		edits: []edit{{ledgerDir + "keep_set.lua", "arg(2), 'PX', arg(1))", "arg(2))"}},
		pkg:   redisledger, tests: []string{"TestJobSetsOnNodes"},
	},
	{
		name: "config: a node that forgot a set is believed", promise: "A set that a node has lost is told it again.",
		edits: []edit{{"scheduler/redisledger/jobset.go", "if r.Int(0) == 0 {", "if r.Int(0) < 0 {"}},
		pkg:   redisledger, tests: []string{"TestJobSetsOnNodes"},
	},
	{
		name: "config: secrets on the nodes", promise: "What the nodes keep of a set has no secrets.",
		edits: []edit{{replicaDir + "shown.go", "&& secretEntry(name, key)", "&& secretEntry(\"\", \"\")"}},
		pkg:   replica, tests: []string{"TestShownHasNoSecrets"},
	},
	{
		name: "config: a job hides what is in effect", promise: "A set shows all settings that are in effect.",
		edits: []edit{{replicaDir + "shown_job.go", "!off(v) || !reflect.DeepEqual(v, usual)", "!reflect.DeepEqual(v, usual)"}},
		pkg:   replica, tests: []string{"TestShownJob"},
	},
	{
		name: "config: an older release shows nothing", promise: "That a set is not known is said on the page.",
		edits: []edit{{webDir + "page_configuration.go", "shown.From, shown.To, shown.Why = from, to, err.Error()", "shown.From, shown.To = from, to"}},
		pkg:   webPkg, tests: []string{"TestConfigurationDiff"},
	},
	{
		name: "config: the diff looks back", promise: "The page shows what the newest set changes.",
		edits: []edit{{webDir + "page_configuration.go", "to = cmp.Or(to, sets[0].ConfigHash)\n\t\tfrom = cmp.Or(from, sets[1].ConfigHash)", "to = cmp.Or(to, sets[1].ConfigHash)\n\t\tfrom = cmp.Or(from, sets[0].ConfigHash)"}},
		pkg:   webPkg, tests: []string{"TestConfigurationDiff"},
	},
}

package main

const (
	listingPkg = "./scheduler/listing"
	listingDir = "scheduler/listing/"
)

// listingPlants are in what people see of a cluster, and in who may see and ask.
var listingPlants = []plant{
	{
		name: "listing: an entry between two pages", promise: "Every entry is on one page.",
		edits: []edit{{listingDir + "cursor.go", "return c.at.Add(time.Millisecond)", "return c.at"}},
		pkg:   listingPkg, tests: []string{"TestRecentIsEverythingSorted"},
	},
	{
		name: "listing: a busy job is read once", promise: "The latest runs of all are the latest, whichever jobs they are of.",
		edits: []edit{{listingDir + "recent.go", "if !s.complete && (n == 0", "if s.limit == 0 && (n == 0"}},
		pkg:   listingPkg, tests: []string{"TestRecentIsEverythingSorted"},
	},
	{
		name: "listing: all of each job is read", promise: "A page costs as much, however long the history is.",
		edits: []edit{{listingDir + "recent.go", "const factor = 8", "const factor = 1000"}},
		pkg:   listingPkg, tests: []string{"TestRecentReadsABoundedPart"},
	},
	{
		name: "listing: the schedule walked from the beginning", promise: "What nobody could record is found without walking through years.",
		edits: []edit{{listingDir + "unattended.go", "span := time.Hour;", "span := 1e6 * time.Hour;"}},
		pkg:   listingPkg, tests: []string{"TestMissedSince"},
	},
}

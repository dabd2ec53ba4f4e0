package main

// tablePlants are in how listings are laid out, and in what they count.
var tablePlants = []plant{
	{
		name: "tables: wider than the terminal", promise: "A table fits its terminal.",
		edits: []edit{{"cmd/table.go", "return fit(widths, l.places(l.drop), l.places(l.cut), width), below", "return widths, below"}},
		pkg:   cmdPkg, tests: []string{"TestTablesFit"},
	},
	{
		name: "tables: no word of why", promise: "On a narrow terminal what explains a row stands below it.",
		edits: []edit{{"cmd/table.go", `if cells[i] != "" && cells[i] != "-" {`, `if cells[i] == "nosuch" {`}},
		pkg:   cmdPkg, tests: []string{"TestTablesFit"},
	},
	{
		name: "tables: cut where nobody looks", promise: "A table that no terminal shows has everything.",
		edits: []edit{{"cmd/table.go", "if width == 0 || across", "if width = max(width, 80); across"}},
		pkg:   cmdPkg, tests: []string{"TestTablesFit"},
	},
	{
		name: "tables: columns without their names", promise: "Rows that are followed stand under the names of their columns.",
		edits: []edit{{"cmd/table.go", "!slices.Equal(heading, s.heading)", "s.heading == nil"}},
		pkg:   cmdPkg, tests: []string{"TestFollowedTableFits"},
	},
	{
		name: "audit: a flag narrows nothing", promise: "The audit log is narrowed alike from the nodes and from a server.",
		edits: []edit{{"cmd/audit.go", `query.Add("act", string(kind))`, "_ = kind"}},
		pkg:   cmdPkg, tests: []string{"TestServer"},
	},
	{
		name: "top: counts without saying of what", promise: "The live view says which ticks it counts.",
		edits: []edit{{topDir + "words.go", "	if d.cut {", "	if false {"}},
		pkg:   cmdPkg, tests: []string{"TestTopFrames"},
	},
	{
		name: "pages: counts without saying of what", promise: "The overview says which ticks it counts.",
		edits: []edit{{webDir + "page_lines.go", "	if all.cut {", "	if false {"}},
		pkg:   webPkg, tests: []string{"TestOverviewSaysWhatItCounts"},
	},
	{
		name: "pages: earlier trouble is nowhere", promise: "The overview leads to what went wrong before the ticks that it counts.",
		edits: []edit{{webDir + "page_lines.go", `"cursor": {all.earlier.String()}`, `"cursor": {""}`}},
		pkg:   webPkg, tests: []string{"TestOverviewSaysWhatItCounts"},
	},
	{
		name: "pages: nobody wins", promise: "The lane of a replica counts the ticks that it has won.",
		edits: []edit{{webDir + "page_timeline.go", "len(l.Bars), listing.Count(ran(", "0, listing.Count(ran("}},
		pkg:   webPkg, tests: []string{"TestLaneCountsWins"},
	},
	{
		name: "listing: jitter hides a tick", promise: "A tick that has not started yet is still to come.",
		edits: []edit{{"scheduler/schedule_preview.go", "early := from.Add(-max(j.Jitter, 0))", "early := from"}},
		pkg:   listingPkg, tests: []string{"TestNextHasWhatJitterDelays"},
	},
	{
		name: "ledger: stale writes of attempt 1 are forgotten", promise: "Of a tick the stale writes of all its attempts are counted.",
		edits: []edit{{"scheduler/entries.go", "kept[last].StaleWrites += e.StaleWrites", "kept[last].StaleWrites += 0"}},
		pkg:   "./scheduler", tests: []string{"TestOnePerTickCountsStaleWrites"},
	},
	{
		name: "metrics: one is in no panel", promise: "Every metric is in a panel of the dashboard for Grafana.",
		edits: []edit{{"docs/monitoring/grafana.json", `max by (instance) (quorate_users_file_failed{`, `max by (instance) (quorate_update_failed{`}},
		pkg:   "./scheduler/metrics", tests: []string{"TestMetricsAreNamedAsTheyAre"},
	},
}

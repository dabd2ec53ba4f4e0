package main

// pagePlants are in the pages of the dashboard.
var pagePlants = []plant{
	{
		name: "pages: a script in a page runs", promise: "Pages allow no script but their own.",
		edits: []edit{{webDir + "internal/pages/pages.go", "script-src 'self'; img-src", "script-src 'self' 'unsafe-inline'; img-src"}},
		pkg:   webPkg, tests: []string{"TestDashboard"},
	},
	{
		name: "pages: text of others is HTML", promise: "What others wrote is shown as text.",
		edits: []edit{{webDir + "internal/pages/pages.go", "\"html/template\"", "\"text/template\""}},
		pkg:   webPkg, tests: []string{"TestDashboard"},
	},
	{
		name: "pages: old without saying so", promise: "What could not be read now is shown with its age.",
		edits: []edit{{webDir + "internal/pages/pages.go", "	v.outdated(at, err)\n", "	_ = at\n"}},
		pkg:   webPkg, tests: []string{"TestPagesWithoutQuorum"},
	},
}

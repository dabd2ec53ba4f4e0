package main

// pagePlants are in the pages of the dashboard.
var pagePlants = []plant{
	{
		name: "pages: a script in a page runs", promise: "Pages allow no script but their own.",
		edits: []edit{{webDir + "pages.go", "script-src 'self'; img-src", "script-src 'self' 'unsafe-inline'; img-src"}},
		pkg:   webPkg, tests: []string{"TestDashboard"},
	},
	{
		name: "pages: text of others is HTML", promise: "What others wrote is shown as text.",
		edits: []edit{{webDir + "pages.go", "\"html/template\"", "\"text/template\""}},
		pkg:   webPkg, tests: []string{"TestDashboard"},
	},
	{
		name: "pages: a form without a role", promise: "A form does what the role allows, and no more.",
		edits: []edit{{webDir + "page_acts.go", "id, wrong := p.admit(asked, rt)", "id, wrong := p.admit(asked, route{role: Viewer, kind: rt.kind})"}},
		pkg:   webPkg, tests: []string{"TestForms"},
	},
	{
		name: "pages: a form asks twice", promise: "A form that is sent twice asks once.",
		edits: []edit{{webDir + "page_acts.go", `asked.Header.Set("Idempotency-Key", filled.Get("key"))`, `asked.Header.Del("Idempotency-Key")`}},
		pkg:   webPkg, tests: []string{"TestForms"},
	},
	{
		name: "pages: back to anywhere", promise: "The switch for dark and light leads nowhere else.",
		edits: []edit{{webDir + "page_files.go", `!ok || strings.HasPrefix(rest, "/")`, `!ok || rest == "?"`}},
		pkg:   webPkg, tests: []string{"TestTheme"},
	},
	{
		name: "pages: old without saying so", promise: "What could not be read now is shown with its age.",
		edits: []edit{{webDir + "pages.go", "	v.outdated(at, err)\n", "	_ = at\n"}},
		pkg:   webPkg, tests: []string{"TestPagesWithoutQuorum"},
	},
	{
		name: "pages: one loss too few", promise: "The overview says how many more nodes may fail.",
		edits: []edit{{listingDir + "margin.go", "needed := len(nodes)/2 + 1", "needed := len(nodes) / 2"}},
		pkg:   webPkg, tests: []string{"TestOverviewInWords"},
	},
}

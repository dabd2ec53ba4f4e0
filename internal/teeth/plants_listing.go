package main

const (
	listingPkg = "./internal/listing"
	listingDir = "internal/listing/"
)

// listingPlants are in what people see of a cluster, and in who may see and ask.
var listingPlants = []plant{
	{
		name: "listing: an entry between two pages", promise: "Every entry is on one page.",
		edits: []edit{{listingDir + "cursor.go", "job < c.job }", "job <= c.job }"}},
		pkg:   listingPkg, tests: []string{"TestRecentIsEverythingSorted"},
	},
}

const (
	webPkg = "./scheduler/web"
	webDir = "scheduler/web/"
)

// webPlants are in who may see and ask over HTTP.
var webPlants = []plant{
	{
		name: "web: every role may act", promise: "Nobody acts without the role for it.",
		edits: []edit{{webDir + "identity/role.go", ">= slices.Index(Roles(), needed)", ">= 0"}},
		pkg:   webPkg, tests: []string{"TestRoles"},
	},
	{
		name: "web: this machine may act", promise: "Nobody acts without a role, also not from localhost.",
		edits: []edit{{webDir + "identity/identity.go", "id.Role = Viewer\n", "id.Role = Admin\n"}},
		pkg:   webPkg, tests: []string{"TestNobodyActsFromLocalhost"},
	},
	{
		name: "web: guesses without end", promise: "Who guesses secrets must wait.",
		edits: []edit{{webDir + "identity/identity.go", "g.failures.add(id.Address, name, now)", ""}},
		pkg:   webPkg, tests: []string{"TestFailedLogins"},
	},
	{
		name: "web: pages of other origins act", promise: "A page of another origin cannot make a browser act.",
		edits: []edit{{webDir + "identity/gate.go", "err := g.origins.Check(r); err != nil", "err := g.origins.Check(r); err != nil && false"}},
		pkg:   webPkg, tests: []string{"TestOtherOrigins"},
	},
	{
		name: "web: refused acts leave no trace", promise: "Every refused act is audited.",
		edits: []edit{{webDir + "identity/gate.go", `wrong != nil && kind != ""`, `wrong != nil && kind == "nosuch"`}},
		pkg:   webPkg, tests: []string{"TestEveryActIsAudited"},
	},
}

// servedPlants are in what a replica serves.
var servedPlants = []plant{
	{
		name: "web: secrets in the configuration that is shown", promise: "What is shown of a configuration has no secrets.",
		edits: []edit{{configDir + "shown.go", "return marked.hidden(marked.text)", "return text"}},
		pkg:   config, tests: []string{"TestShownHasNoSecrets"},
	},
}
